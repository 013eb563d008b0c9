//! Rules about manifests: every crate inherits the lints, and versions live in the root alone.

use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

/// Checks the manifest of every package.
pub(super) fn findings(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for package in workspace::packages(root)? {
        let manifest = package.directory.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest)
            .with_context(|| format!("failed to read `{}`", manifest.display()))?;
        findings.extend(judge(&package.name, &text));
        let folder = package
            .directory
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        if folder != package.name {
            findings.push(format!(
                "{}: lies in `{folder}`; folder name and crate name are the same",
                package.name
            ));
        }
    }
    Ok(findings)
}

fn judge(name: &str, manifest: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut section = "";
    let mut inherits = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if section == "lints" {
            inherits |= line.replace(' ', "") == "workspace=true";
        } else if section.ends_with("dependencies")
            && line.contains('=')
            && !line.contains("workspace = true")
        {
            findings.push(format!(
                "{name}: `{line}` has its own version; put it into the root manifest"
            ));
        }
    }
    if !inherits {
        findings.push(format!(
            "{name}: does not inherit the lints; add `[lints]` with `workspace = true`"
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    //! A manifest that steps out of line is found.

    use super::judge;

    #[test]
    fn own_versions_and_missing_lints_are_found() {
        let good = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n[dependencies]\nserde.workspace = true\nx = { workspace = true }\n";
        assert_eq!(judge("a", good), Vec::<String>::new());
        let bad = "[package]\nname = \"a\"\n[dev-dependencies]\nserde = \"1\"\n";
        assert_eq!(judge("a", bad).len(), 2);
    }
}

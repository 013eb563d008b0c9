//! `docs/features.md` names the test behind every feature; a test that does not exist is a promise nobody keeps.

use std::path::Path;

use anyhow::{Context, Result};

const TABLE: &str = "docs/features.md";

/// Checks every row of the table.
pub(super) fn findings(root: &Path) -> Result<Vec<String>> {
    let text =
        std::fs::read_to_string(root.join(TABLE)).with_context(|| format!("failed to read `{TABLE}`"))?;
    let mut findings = Vec::new();
    let mut rows = 0;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| is_row(line)) {
        rows += 1;
        let named: Vec<&str> = line
            .split('`')
            .filter(|span| span.contains("::") && span.contains(".rs"))
            .collect();
        if named.is_empty() {
            findings.push(format!(
                "{TABLE}:{}: names no test as `path/to/file.rs::name_of_test`",
                number + 1
            ));
        }
        for test in named {
            findings.extend(missing(root, test).map(|words| format!("{TABLE}:{}: {words}", number + 1)));
        }
    }
    if rows == 0 {
        findings.push(format!("{TABLE}: has no row"));
    }
    Ok(findings)
}

fn is_row(line: &str) -> bool {
    line.starts_with("| ") && !line.starts_with("| Feature") && !line.starts_with("| ---")
}

fn missing(root: &Path, test: &str) -> Option<String> {
    let (path, name) = test.split_once("::")?;
    let Ok(source) = std::fs::read_to_string(root.join(path)) else {
        return Some(format!("`{path}` does not exist"));
    };
    if is_test(&source, name) {
        None
    } else {
        Some(format!("`{path}` has no test `{name}`"))
    }
}

/// A function of that name with a test attribute in the few lines above it.
fn is_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    lines.iter().enumerate().any(|(index, line)| {
        let declares = line
            .trim_start_matches("async ")
            .strip_prefix("fn ")
            .is_some_and(|rest| {
                rest.strip_prefix(name)
                    .is_some_and(|after| after.starts_with('(') || after.starts_with('<'))
            });
        declares
            && lines[index.saturating_sub(4)..index]
                .iter()
                .any(|above| above.starts_with("#[test]") || above.starts_with("#[tokio::test"))
    })
}

#[cfg(test)]
mod tests {
    //! A named test counts only when it is one.

    use super::is_test;

    #[test]
    fn only_real_tests_count() {
        assert!(is_test("#[test]\nfn a_b() {", "a_b"));
        assert!(is_test(
            "#[tokio::test(flavor = \"multi_thread\")]\nasync fn a_b() {",
            "a_b"
        ));
        assert!(!is_test("fn a_b() {", "a_b"));
        assert!(!is_test("#[test]\nfn a_bc() {", "a_b"));
        assert!(!is_test("// fn a_b()\n#[test]\nfn c() {", "a_b"));
    }
}

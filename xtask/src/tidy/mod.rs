//! House rules that no compiler knows: file length, names, documents that must stay true. One rule a function; each
//! finding names the file and the fix.

mod features;
mod manifests;
mod sources;

use std::path::Path;

use anyhow::{Result, bail};

use crate::workspace;

/// Nothing larger than this belongs into a repository that people clone.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Runs every rule and reports all findings at once.
pub(crate) fn run(root: &Path) -> Result<()> {
    let files = workspace::files(root)?;
    let mut findings = Vec::new();
    for path in &files {
        let size = std::fs::metadata(root.join(path))?.len();
        if size > MAX_FILE_BYTES {
            findings.push(format!(
                "{}: {size} bytes; nothing over 1 MiB is kept here",
                path.display()
            ));
        }
    }
    findings.extend(sources::findings(root, &files)?);
    findings.extend(manifests::findings(root)?);
    findings.extend(features::findings(root)?);
    if !findings.is_empty() {
        bail!("{} findings\n{}", findings.len(), findings.join("\n"));
    }
    Ok(())
}

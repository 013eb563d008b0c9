//! After the last test nothing may be left: no process, namespace, mount, control group or directory of a test bed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace;

/// Removes what beds without an owner left, and returns what it was: at the end of a run that is a failure.
pub(super) fn sweep(root: &Path) -> Result<Option<String>> {
    let testbed = workspace::target(root).join("debug/testbed-up");
    if !testbed.is_file() {
        return Ok(None);
    }
    let swept = Command::new(&testbed).arg("sweep").output();
    let swept = swept.with_context(|| format!("failed to start `{}`", testbed.display()))?;
    let words = String::from_utf8_lossy(&swept.stderr).trim().to_owned();
    Ok((!swept.status.success()).then_some(words))
}

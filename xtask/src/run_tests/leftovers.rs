//! After the last test nothing may be left: no process, namespace, mount, control group or directory of a test bed.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::program;
use crate::shell;

/// Asks the test bed's warden what is still there; the answer is a failure of the run.
pub(super) fn check(root: &Path) -> Result<Option<String>> {
    let warden = program(root, "testbed-warden");
    if !warden.is_file() {
        return Ok(None);
    }
    let found = shell::read(Command::new(warden).arg("leftovers"))?;
    let found = found.trim();
    Ok((!found.is_empty()).then(|| format!("left behind by the test beds:\n{found}")))
}

//! Servers that come as Python packages, in a virtual environment of the cache.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{build_once, set_directory};
use crate::cache_layout::ProgramSet;
use crate::shell;

/// Installs `testbed/tools/python/requirements.txt`.
pub(super) fn install(root: &Path, cache: &Path) -> Result<()> {
    let requirements = root.join("testbed/tools/python/requirements.txt");
    let target = set_directory(cache, ProgramSet::Moto)?;
    build_once(
        "installing moto into a virtual environment",
        &target,
        |directory| make_environment(directory, &requirements),
    )
}

fn make_environment(environment: &Path, requirements: &Path) -> Result<()> {
    shell::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(environment),
    )?;
    shell::run(
        Command::new(environment.join("bin/pip"))
            .args([
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(requirements),
    )
}

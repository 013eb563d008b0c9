//! Servers that come as Python packages, in a virtual environment of the cache.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::build_once;
use crate::shell;

/// Installs `testbed/tools/python/requirements.txt`; the first pinned package names the set.
pub(super) fn install(root: &Path, cache: &Path) -> Result<()> {
    let requirements = root.join("testbed/tools/python/requirements.txt");
    let text = std::fs::read_to_string(&requirements)
        .with_context(|| format!("failed to read `{}`", requirements.display()))?;
    let Some((name, version)) = first_pin(&text) else {
        bail!("`{}` pins no package as `name==version`", requirements.display());
    };
    let target = cache.join(format!("{name}-{version}"));
    build_once(
        &format!("installing {name} {version} into a virtual environment"),
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

fn first_pin(requirements: &str) -> Option<(&str, &str)> {
    requirements
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .find_map(|line| line.split_once("=="))
        .map(|(name, version)| (name.split('[').next().unwrap_or(name).trim(), version.trim()))
}

//! The fast inner loop: format, lints, unit tests, purity, licences, tidiness. Nothing here starts a real program.

mod purity;

use std::process::Command;

use anyhow::Result;

use crate::{prepare, shell, tidy, workspace};

/// Runs every check; the first that fails ends the run and is named.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    shell::step("format", || {
        shell::run(shell::cargo(&root).args(["fmt", "--all", "--check"]))
    })?;
    shell::step("tidy", || tidy::run(&root))?;
    shell::step("lints", || {
        shell::run(shell::cargo(&root).args([
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]))
    })?;
    shell::step("purity", || purity::run(&root))?;
    shell::step("licences, bans and sources", || {
        let deny = prepare::cargo_deny()?;
        // The checker reads the manifest of every package in the lock file, those of other systems too.
        shell::run(shell::cargo(&root).args(["fetch", "--quiet", "--locked"]))?;
        shell::run(Command::new(deny).current_dir(&root).args([
            "--offline",
            "--log-level",
            "error",
            "check",
            "--hide-inclusion-graph",
            "bans",
            "licenses",
            "sources",
        ]))
    })?;
    shell::step("unit tests", || {
        shell::run(shell::cargo(&root).args([
            "test",
            "--quiet",
            "--workspace",
            "--lib",
            "--bins",
            "--locked",
        ]))
    })
}

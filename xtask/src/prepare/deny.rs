//! cargo-deny, which judges licences, bans and sources of what we depend on; built once into the cache.

use std::path::PathBuf;

use anyhow::Result;

use super::{build_once, cache_directory};
use crate::{shell, workspace};

const VERSION: &str = "0.20.2";

/// The path of the program, building it first where the machine has none.
pub(crate) fn cargo_deny() -> Result<PathBuf> {
    if let Some(found) = shell::find_program("cargo-deny", &[]) {
        return Ok(found);
    }
    let target = cache_directory()?.join(format!("cargo-deny-{VERSION}"));
    build_once(
        &format!("building cargo-deny {VERSION} (once)"),
        &target,
        |directory| {
            shell::run(
                shell::cargo(&workspace::root())
                    .args([
                        "install",
                        "--quiet",
                        "--locked",
                        "--no-default-features",
                        "--version",
                        VERSION,
                        "--root",
                    ])
                    .arg(directory)
                    .arg("cargo-deny"),
            )
        },
    )?;
    Ok(target.join("bin/cargo-deny"))
}

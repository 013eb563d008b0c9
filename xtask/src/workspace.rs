//! What the workspace consists of: its root, its packages, the files git knows.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell;

/// A package of the workspace, as cargo describes it.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
}

/// The root of the repository: the parent of this package.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workshop is a member of the workspace, so it has a parent directory")
        .to_path_buf()
}

/// Where cargo builds.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The packages of the workspace, by name.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>> {
    let text = shell::read(shell::cargo(root).args(["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text).context("failed to read cargo's metadata")?;
    let mut packages: Vec<Package> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str()?);
            Some(Package {
                name: package["name"].as_str()?.to_owned(),
                directory: manifest.parent()?.to_path_buf(),
            })
        })
        .collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// Every file that git tracks or would track, relative to the root.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let listed = shell::read(Command::new("git").current_dir(root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let mut files: Vec<PathBuf> = listed
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .filter(|path| root.join(path).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

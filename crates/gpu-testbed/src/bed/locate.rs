//! Finds the warden's program: named by the environment, beside the running test, or built now.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::BedError;

/// Names the warden's file, for a test that runs outside a target directory.
pub(super) const WARDEN_VARIABLE: &str = "GPU_TESTBED_WARDEN";

const NAME: &str = "testbed-warden";

/// Where the running test lies in cargo's target directory.
struct Target {
    directory: PathBuf,
    profile: String,
}

/// The warden's program as it is found without building anything.
pub(super) fn present() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(WARDEN_VARIABLE) {
        return Some(named.into());
    }
    let target = target()?;
    let file = target.directory.join(&target.profile).join(NAME);
    file.is_file().then_some(file)
}

/// Builds the warden's program into the target directory of the running test.
pub(super) fn build() -> Result<PathBuf, BedError> {
    let missing = |why: String| BedError::WardenMissing { why };
    let target =
        target().ok_or_else(|| missing("the running test lies in no target directory".to_owned()))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let profile = if target.profile == "debug" {
        "dev"
    } else {
        &target.profile
    };
    let output = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--package",
            "gpu-testbed",
            "--bin",
            NAME,
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(&target.directory)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .map_err(|error| missing(format!("cargo did not start: {error}")))?;
    if !output.status.success() {
        return Err(missing(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(target.directory.join(&target.profile).join(NAME))
}

/// A test runs from `<target>/<profile>/deps`, an example from `examples`, a program from `<profile>` itself.
fn target() -> Option<Target> {
    let file = std::env::current_exe().ok()?;
    let mut directory = file.parent()?;
    if matches!(directory.file_name()?.to_str()?, "deps" | "examples") {
        directory = directory.parent()?;
    }
    let profile = directory.file_name()?.to_str()?.to_owned();
    Some(Target {
        directory: directory.parent().map(Path::to_owned)?,
        profile,
    })
}

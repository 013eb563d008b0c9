//! Finds programs of this workspace beside the running test, and builds them when they are missing or old.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, bail};

/// The program `name` of `package`, built with the profile of the running test. A variable of the program's name,
/// as in `GPU_AUTOSCALER_BIN`, names another file.
pub fn workspace_program(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let variable = format!("{}_BIN", name.to_uppercase().replace('-', "_"));
    if let Some(file) = std::env::var_os(variable) {
        return Ok(file.into());
    }
    let directory = profile_directory().context("the running test lies in no target directory")?;
    let file = directory.join(name);
    if !is_fresh(&file) {
        build(package, name, &directory)?;
    }
    Ok(file)
}

/// Whether the program is newer than every source that cargo noted for it.
fn is_fresh(program: &Path) -> bool {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let Ok(notes) = std::fs::read_to_string(program.with_extension("d")) else {
        return false;
    };
    let (Some(built), Some((_, sources))) = (changed(program), notes.trim_end().split_once(": ")) else {
        return false;
    };
    // Blanks in a path are escaped; the mark cannot occur in a path.
    let sources = sources.replace("\\ ", "\0");
    let newest: Option<Vec<SystemTime>> = sources
        .split(' ')
        .map(|source| changed(Path::new(&source.replace('\0', " "))))
        .collect();
    newest.is_some_and(|times| times.into_iter().all(|time| time <= built))
}

fn build(package: &str, name: &str, profile_directory: &Path) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let profile = match profile_directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let target = profile_directory
        .parent()
        .context("a profile's directory has a parent")?;
    let output = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--package",
            package,
            "--bin",
            name,
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .context("cargo did not start")?;
    if !output.status.success() {
        bail!(
            "failed to build `{name}`: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// A test runs from `<target>/<profile>/deps`, a program from `<profile>` itself.
fn profile_directory() -> Option<PathBuf> {
    let file = std::env::current_exe().ok()?;
    let directory = file.parent()?;
    match directory.file_name()?.to_str()? {
        "deps" | "examples" => directory.parent().map(Path::to_owned),
        _ => Some(directory.to_owned()),
    }
}

#[cfg(test)]
mod tests;

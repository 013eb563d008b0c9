//! Running other programs: what is run is shown, how long it took is shown, and what failed is named.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Runs one named step and tells its duration.
pub(crate) fn step<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("==> {title}");
    let started = Instant::now();
    let outcome = work().with_context(|| format!("step failed: {title}"))?;
    eprintln!("    done in {:.1} s", started.elapsed().as_secs_f64());
    Ok(outcome)
}

/// Runs a command with its output shown; a status other than success is an error that names the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = display(command);
    let status = command
        .status()
        .with_context(|| format!("failed to start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Runs a command and returns what it wrote to standard output; its standard error stays visible.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let shown = display(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` did not print UTF-8"))
}

/// The cargo that runs us, so that the pinned toolchain is kept.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Where a program is found on the search path or in the given further directories.
pub(crate) fn find_program(name: &str, further: &[&str]) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(further.iter().map(std::path::PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

fn display(command: &Command) -> String {
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .map(std::borrow::Cow::into_owned)
        .collect();
    words.join(" ")
}

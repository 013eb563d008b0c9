//! Getting what the tests need: system packages, Go programs, a Python server, a licence checker. Everything is kept in a
//! cache directory outside the repository, keyed by version, so that a second run finds it there.

mod apt;
mod deny;
mod go;
mod python;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell;
use crate::workspace;

pub(crate) use deny::cargo_deny;

/// Gets everything. A part that cannot be had is told, not fatal: its tests report themselves as skipped, or fail under
/// `TESTBED_REQUIRE=all`.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let cache = cache_directory()?;
    eprintln!("test programs are kept in {}", cache.display());
    let _lock = CacheLock::take(&cache)?;
    let mut missing = Vec::new();
    let mut attempt = |what: &str, outcome: Result<()>| {
        if let Err(error) = outcome {
            eprintln!("    cannot have {what}: {error:#}");
            missing.push(what.to_owned());
        }
    };
    attempt("the system packages", apt::install());
    for set in go::sets(&root)? {
        attempt(&set.label(), set.build(&cache));
    }
    attempt("the Python servers", python::install(&root, &cache));
    if !missing.is_empty() {
        eprintln!(
            "going on without {}: the tests that need it will say so",
            missing.join(", ")
        );
    }
    Ok(())
}

/// `GPU_TESTBED_CACHE`, or a directory of ours below the user's cache directory.
pub(crate) fn cache_directory() -> Result<PathBuf> {
    let named = std::env::var_os("GPU_TESTBED_CACHE").map(PathBuf::from);
    let directory = match named {
        Some(directory) => directory,
        None => user_cache()?.join("gpu-autoscaler-testbed"),
    };
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("failed to create the cache directory `{}`", directory.display()))?;
    Ok(directory)
}

fn user_cache() -> Result<PathBuf> {
    if let Some(directory) = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(directory));
    }
    let home =
        std::env::var_os("HOME").context("neither GPU_TESTBED_CACHE, XDG_CACHE_HOME nor HOME is set")?;
    Ok(Path::new(&home).join(".cache"))
}

/// Builds a set in place and marks it as finished at the end, so that an interrupted build is done again. In place,
/// because a virtual environment of Python cannot be moved.
fn build_once(title: &str, target: &Path, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let finished = target.join(".finished");
    if finished.is_file() {
        return Ok(());
    }
    shell::step(title, || {
        if target.exists() {
            std::fs::remove_dir_all(target)
                .with_context(|| format!("failed to remove `{}`", target.display()))?;
        }
        std::fs::create_dir_all(target)
            .with_context(|| format!("failed to create `{}`", target.display()))?;
        build(target)?;
        std::fs::write(&finished, "").with_context(|| format!("failed to write `{}`", finished.display()))
    })
}

/// Held while the cache is filled: two test runs at once must not build over each other.
struct CacheLock {
    _file: std::fs::File,
}

impl CacheLock {
    fn take(cache: &Path) -> Result<Self> {
        let path = cache.join(".lock");
        let file = std::fs::File::create(&path)
            .with_context(|| format!("failed to open the lock `{}`", path.display()))?;
        if file.try_lock().is_err() {
            eprintln!("    another run is filling the cache; waiting for it");
            file.lock()
                .with_context(|| format!("failed to lock `{}`", path.display()))?;
        }
        Ok(Self { _file: file })
    }
}

//! Getting what the tests need: system packages, Go programs, a Python server, a licence checker. Everything is kept in a
//! cache directory outside the repository, keyed by version, so that a second run finds it there.

mod apt;
mod crds;
mod deny;
mod go;
mod python;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cache_layout::{self, ProgramSet};
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
    for set in ProgramSet::ALL {
        let outcome = match set {
            ProgramSet::Kubernetes | ProgramSet::Helm => go::build(&root, &cache, set),
            ProgramSet::Moto => python::install(&root, &cache),
            ProgramSet::Crds => crds::install(&root, &cache),
        };
        attempt(set.name(), outcome);
    }
    if !missing.is_empty() {
        eprintln!(
            "going on without {}: the tests that need it will say so",
            missing.join(", ")
        );
    }
    Ok(())
}

/// The directory in which test programs are kept, made where it is missing.
pub(crate) fn cache_directory() -> Result<PathBuf> {
    let directory = cache_layout::cache_directory()
        .context("neither GPU_TESTBED_CACHE, XDG_CACHE_HOME nor HOME is set")?;
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("failed to create the cache directory `{}`", directory.display()))?;
    Ok(directory)
}

/// Where a set lies: above its `bin`.
fn set_directory(cache: &Path, set: ProgramSet) -> Result<PathBuf> {
    let programs = set
        .programs_in(cache)
        .with_context(|| format!("{} has no pinned version", set.name()))?;
    Ok(programs.parent().unwrap_or(cache).to_path_buf())
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

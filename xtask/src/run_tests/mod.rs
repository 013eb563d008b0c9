//! `cargo xtask test`: get what is needed, build every test, run each test program by itself with a time limit, and close
//! with one line that counts. A test that could not run because a part is missing counts as skipped, never as passed.

mod binary;
mod leftovers;
mod report;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::{prepare, shell, workspace};
use report::Report;

#[derive(Args)]
pub(crate) struct Options {
    /// Run only tests whose name contains this
    filter: Option<String>,
    /// Test only this package (may be repeated)
    #[arg(short, long)]
    package: Vec<String>,
    /// Take the test programs as they are, without looking for missing ones
    #[arg(long)]
    no_prepare: bool,
}

/// Prepares, builds, runs, and closes with the counts.
pub(crate) fn run(options: &Options) -> Result<()> {
    let started = Instant::now();
    let root = workspace::root();
    if !options.no_prepare {
        prepare::run()?;
    }
    let skipped = SkipList::create()?;
    let binaries = shell::step("building the tests", || binary::build(&root, &options.package))?;
    if let Some(found) = leftovers::sweep(&root)? {
        eprintln!("    an earlier run was killed: {found}");
    }
    let mut report = Report::default();
    for (position, binary) in binaries.iter().enumerate() {
        eprintln!("==> [{}/{}] {}", position + 1, binaries.len(), binary.title());
        report.add(binary.run(&root, options.filter.as_deref(), &skipped.path)?);
    }
    if options.package.is_empty() && options.filter.is_none() {
        eprintln!("==> examples in the documentation");
        report.add(binary::documentation(&root)?);
    }
    report.skipped = skipped.read()?;
    report.add_failure_if(leftovers::sweep(&root)?);
    eprintln!("    the whole run took {:.0} s", started.elapsed().as_secs_f64());
    report.print();
    if report.failed() > 0 {
        bail!("{} tests failed", report.failed());
    }
    if report.passed() == 0 {
        bail!("no test ran; the filter or the package name fits none");
    }
    Ok(())
}

/// Runs the tests with golden files written instead of compared.
pub(crate) fn bless() -> Result<()> {
    let root = workspace::root();
    shell::run(
        shell::cargo(&root)
            .env("INSTA_UPDATE", "always")
            .env("UPDATE_GOLDEN", "1")
            .args(["test", "--quiet", "--workspace", "--no-fail-fast"]),
    )
}

/// The file into which tests write that they were skipped, and for want of what.
struct SkipList {
    path: PathBuf,
}

impl SkipList {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("gpu-autoscaler-skipped-{}", std::process::id()));
        std::fs::write(&path, "").with_context(|| format!("failed to write `{}`", path.display()))?;
        Ok(Self { path })
    }

    fn read(&self) -> Result<Vec<String>> {
        let text = std::fs::read_to_string(&self.path)
            .with_context(|| format!("failed to read `{}`", self.path.display()))?;
        Ok(text.lines().map(|line| line.replace('\t', ": no ")).collect())
    }
}

impl Drop for SkipList {
    fn drop(&mut self) {
        // A file of a few bytes in the temporary directory; failing over it would hide the result of the run.
        let _ = std::fs::remove_file(&self.path);
    }
}

//! One test program: found by asking cargo, run by itself, its lines shown as they come, its end bounded.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::report::Outcome;
use crate::shell;

/// Longer than the slowest test program needs on two cores; a test bed that hangs is ended and counted as failed.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// A built test program.
pub(super) struct TestBinary {
    package: String,
    target: String,
    directory: PathBuf,
    executable: PathBuf,
}

/// Tests that need a feature of their package: the package, the feature, the test program. All other tests run what ships,
/// which has the feature not.
const WITH_FEATURE: &[(&str, &str, &str)] = &[
    ("gpu-exporter", "kubernetes-labels", "labels"),
    ("gpu-autoscaler", "failpoints", "fence"),
    ("gpu-price-feeds", "aws", "aws"),
    ("gpu-price-feeds", "kube", "cluster"),
];

/// Builds all test programs and returns them, those without real programs first: quick answers come first.
pub(super) fn build(root: &Path, packages: &[String]) -> Result<Vec<TestBinary>> {
    let mut binaries = Vec::new();
    for (package, feature, target) in WITH_FEATURE {
        if packages.is_empty() || packages.iter().any(|chosen| chosen == package) {
            let feature = format!("{package}/{feature}");
            binaries.extend(built(
                root,
                packages,
                &["--features", &feature, "--test", target],
            )?);
        }
    }
    // At the end, so that the programs which tests start, and which cargo puts in one place, are those that ship.
    binaries.extend(built(root, packages, &[])?);
    binaries.sort_by_key(|binary| {
        (
            binary.package == "gpu-testbed",
            binary.package.clone(),
            binary.target.clone(),
        )
    });
    Ok(binaries)
}

/// The same packages every time, so that cargo chooses the same features for what they share and builds it once.
fn built(root: &Path, packages: &[String], further: &[&str]) -> Result<Vec<TestBinary>> {
    let mut command = shell::cargo(root);
    command.args([
        "test",
        "--no-run",
        "--locked",
        "--message-format=json-render-diagnostics",
    ]);
    if packages.is_empty() {
        command.arg("--workspace");
    }
    for package in packages {
        command.args(["--package", package]);
    }
    command.args(further);
    let messages = shell::read(&mut command)?;
    Ok(messages.lines().filter_map(test_binary).collect())
}

fn test_binary(line: &str) -> Option<TestBinary> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let directory = Path::new(message["manifest_path"].as_str()?)
        .parent()?
        .to_path_buf();
    Some(TestBinary {
        package: directory.file_name()?.to_str()?.to_owned(),
        target: message["target"]["name"].as_str()?.to_owned(),
        executable: message["executable"].as_str()?.into(),
        directory,
    })
}

/// The examples in the documentation, which only cargo can run.
pub(super) fn documentation(root: &Path) -> Result<Outcome> {
    let mut command = shell::cargo(root);
    command.args(["test", "--workspace", "--doc", "--locked", "--quiet"]);
    watch("documentation", &mut command)
}

impl TestBinary {
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.package, self.target)
    }

    /// Runs the program and counts what it says.
    pub(super) fn run(&self, root: &Path, filter: Option<&str>, skip_list: &Path) -> Result<Outcome> {
        let mut command = Command::new(&self.executable);
        command
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .env("INSTA_WORKSPACE_ROOT", root)
            .env("GPU_TESTBED_SKIPPED", skip_list)
            .env("RUST_BACKTRACE", "1");
        if std::env::var_os("CARGO").is_none() {
            command.env("CARGO", "cargo");
        }
        command.args(filter);
        watch(&self.title(), &mut command)
    }
}

/// Shows the lines of a test program as they come and counts its results; ends it when it takes too long.
fn watch(title: &str, command: &mut Command) -> Result<Outcome> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start the tests of {title}"))?;
    let output = child
        .stdout
        .take()
        .context("a child with a piped output has one")?;
    let (sender, lines) = mpsc::sync_channel(1024);
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let deadline = Instant::now() + LIMIT;
    let mut outcome = Outcome::new(title);
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                eprintln!("{line}");
                outcome.read(&line);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                end(&mut child)?;
                outcome.fail(&format!(
                    "ended after {} minutes without a result",
                    LIMIT.as_secs() / 60
                ));
                return Ok(outcome);
            }
        }
    }
    let status = child
        .wait()
        .with_context(|| format!("failed to wait for the tests of {title}"))?;
    if reader.join().is_err() {
        outcome.fail("its output could not be read");
    }
    if !status.success() && outcome.failed() == 0 {
        outcome.fail(&format!("ended with {status} without naming a failed test"));
    }
    Ok(outcome)
}

fn end(child: &mut Child) -> Result<()> {
    child.kill().context("failed to end a test program that hangs")?;
    child
        .wait()
        .context("failed to wait for a test program that was ended")?;
    Ok(())
}

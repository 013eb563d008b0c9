//! Programs built with Go from the pinned modules below `testbed/tools`: one directory, one `go.mod`, one set of programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::build_once;
use crate::shell;

/// A pinned module whose `tool` lines are the programs to build.
pub(super) struct GoSet {
    name: String,
    version: String,
    module: PathBuf,
}

/// The sets of `testbed/tools`, smallest names first so that the order is the same in every run.
pub(super) fn sets(root: &Path) -> Result<Vec<GoSet>> {
    let tools = root.join("testbed/tools");
    let mut sets = Vec::new();
    for entry in std::fs::read_dir(&tools).with_context(|| format!("failed to list `{}`", tools.display()))? {
        let module = entry?.path();
        let manifest = module.join("go.mod");
        if !manifest.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&manifest)
            .with_context(|| format!("failed to read `{}`", manifest.display()))?;
        let name = module
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let version = pinned_version(&text).with_context(|| {
            format!(
                "`{}` has no line `require MODULE VERSION` of its own",
                manifest.display()
            )
        })?;
        sets.push(GoSet {
            name,
            version,
            module,
        });
    }
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sets)
}

/// The version of the one module that is required on a line of its own; the block of indirect ones follows it.
fn pinned_version(manifest: &str) -> Option<String> {
    manifest
        .lines()
        .filter_map(|line| line.strip_prefix("require "))
        .filter_map(|rest| rest.split_whitespace().nth(1))
        .find(|version| version.starts_with('v'))
        .map(str::to_owned)
}

impl GoSet {
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Builds all programs of the set into the cache, once.
    pub(super) fn build(&self, cache: &Path) -> Result<()> {
        let target = cache.join(format!("{}-{}", self.name, self.version));
        let title = format!("building {} (once; minutes on two cores)", self.label());
        build_once(&title, &target, |directory| {
            if shell::find_program("go", &["/usr/local/go/bin"]).is_none() {
                bail!(
                    "`go` is not installed; install Go 1.26 or later, or put the programs into a directory and set KUBEBUILDER_ASSETS"
                );
            }
            let output = directory.join("bin");
            std::fs::create_dir_all(&output)
                .with_context(|| format!("failed to create `{}`", output.display()))?;
            shell::run(
                Command::new("go")
                    .current_dir(&self.module)
                    .env("CGO_ENABLED", "0")
                    .args([
                        "build",
                        "-trimpath",
                        "-mod=readonly",
                        "-ldflags",
                        &self.link_flags(),
                        "-o",
                    ])
                    .arg(format!("{}/", output.display()))
                    .arg("tool"),
            )
        })
    }

    /// Kubernetes learns its own version from the linker; without it the API server calls itself v0.0.0 and clients
    /// refuse features.
    fn link_flags(&self) -> String {
        let version = &self.version;
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
        let mut flags = vec!["-s".to_owned(), "-w".to_owned()];
        if self.name == "kubernetes" {
            for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
                flags.push(format!("-X {package}.gitVersion={version}"));
                flags.push(format!("-X {package}.gitMajor={major}"));
                flags.push(format!("-X {package}.gitMinor={minor}"));
            }
        }
        flags.join(" ")
    }
}

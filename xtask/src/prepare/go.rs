//! Programs built with Go from the pinned modules below `testbed/tools`: one directory, one `go.mod`, one set of programs.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{build_once, set_directory};
use crate::cache_layout::ProgramSet;
use crate::shell;

/// Builds all programs of a set into the cache, once: the `tool` lines of the set's module.
pub(super) fn build(root: &Path, cache: &Path, set: ProgramSet) -> Result<()> {
    let module = root.join("testbed/tools").join(set.name());
    let version = set
        .version()
        .with_context(|| format!("`{}/go.mod` does not require what it is for", module.display()))?;
    let title = format!("building {} {version} (once; minutes on two cores)", set.name());
    build_once(&title, &set_directory(cache, set)?, |directory| {
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
                .current_dir(&module)
                .env("CGO_ENABLED", "0")
                .args([
                    "build",
                    "-trimpath",
                    "-mod=readonly",
                    "-ldflags",
                    &link_flags(set, version),
                    "-o",
                ])
                .arg(format!("{}/", output.display()))
                .arg("tool"),
        )
    })
}

/// Kubernetes learns its own version from the linker; without it the API server calls itself v0.0.0 and clients refuse
/// features.
fn link_flags(set: ProgramSet, version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    let mut flags = vec!["-s".to_owned(), "-w".to_owned()];
    if set == ProgramSet::Kubernetes {
        for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
            flags.push(format!("-X {package}.gitVersion={version}"));
            flags.push(format!("-X {package}.gitMajor={major}"));
            flags.push(format!("-X {package}.gitMinor={minor}"));
        }
    }
    flags.join(" ")
}

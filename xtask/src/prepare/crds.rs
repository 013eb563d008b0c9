//! Object kinds of other projects, taken out of their published Go modules: only YAML, nothing is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{build_once, set_directory};
use crate::cache_layout::ProgramSet;
use crate::shell;

/// One line of `testbed/tools/crds/modules.txt`.
struct Module<'a> {
    name: &'a str,
    path: &'a str,
    version: &'a str,
    checksum: &'a str,
    directory: &'a str,
}

/// Downloads every module once and keeps its object kinds in the cache, a directory a project.
pub(super) fn install(root: &Path, cache: &Path) -> Result<()> {
    let list = root.join("testbed/tools/crds/modules.txt");
    let text =
        std::fs::read_to_string(&list).with_context(|| format!("failed to read `{}`", list.display()))?;
    build_once(
        "getting object kinds of other projects",
        &set_directory(cache, ProgramSet::Crds)?,
        |target| {
            if shell::find_program("go", &["/usr/local/go/bin"]).is_none() {
                bail!("`go` is not installed; install Go 1.26 or later");
            }
            modules(&text).try_for_each(|module| take(&module, &target.join("bin").join(module.name)))
        },
    )
}

fn modules(text: &str) -> impl Iterator<Item = Module<'_>> {
    text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [name, path, version, checksum, directory] if name != "#" => Some(Module {
                name,
                path,
                version,
                checksum,
                directory,
            }),
            _ => None,
        }
    })
}

fn take(module: &Module<'_>, target: &Path) -> Result<()> {
    let asked = format!("{}@{}", module.path, module.version);
    let told = shell::read(
        Command::new("go")
            .current_dir(std::env::temp_dir())
            .args(["mod", "download", "-json", &asked]),
    )?;
    let told: Value =
        serde_json::from_str(&told).with_context(|| format!("failed to read what go says of {asked}"))?;
    ensure!(
        told["Sum"] == module.checksum,
        "{asked} has the checksum {}, not {}",
        told["Sum"],
        module.checksum
    );
    let source = Path::new(told["Dir"].as_str().unwrap_or_default()).join(module.directory);
    std::fs::create_dir_all(target).with_context(|| format!("failed to create `{}`", target.display()))?;
    for path in files(&source)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".yaml") && name != "kustomization.yaml" {
            std::fs::copy(&path, target.join(&name))
                .with_context(|| format!("failed to copy `{}`", path.display()))?;
        }
    }
    Ok(())
}

/// The files of a directory, or the one file.
fn files(source: &Path) -> Result<Vec<PathBuf>> {
    if source.is_file() {
        return Ok(vec![source.to_owned()]);
    }
    let entries =
        std::fs::read_dir(source).with_context(|| format!("failed to list `{}`", source.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

//! Finds the shared libraries of a program by asking the very loader that will load them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::ImageError;

/// The files that `program` needs at run time: its loader and every library, each under the path the loader uses.
pub(crate) fn closure(loader: &Path, program: &Path) -> Result<Vec<PathBuf>, ImageError> {
    let output = Command::new(loader)
        .arg("--list")
        .arg(program)
        .env_clear()
        .output()
        .map_err(|source| ImageError::Loader {
            loader: loader.to_path_buf(),
            program: program.to_path_buf(),
            source,
        })?;
    let unresolved = |why: &str| ImageError::Unresolved {
        program: program.to_path_buf(),
        why: why.to_owned(),
    };
    if !output.status.success() {
        return Err(unresolved(String::from_utf8_lossy(&output.stderr).trim()));
    }
    let mut files = parse(&String::from_utf8_lossy(&output.stdout)).map_err(|line| unresolved(&line))?;
    files.push(loader.to_path_buf());
    files.sort();
    files.dedup();
    Ok(files)
}

/// Reads the loader's list; the error is the line of a library that was not found.
fn parse(list: &str) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for line in list.lines().map(str::trim) {
        let found = line.split_once("=>").map_or(line, |(_, found)| found).trim();
        if found.starts_with("not found") {
            return Err(line.to_owned());
        }
        // The kernel's own library has a name and no file.
        if let Some(path) = found.split(" (").next().filter(|path| path.starts_with('/')) {
            files.push(PathBuf::from(path));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests;

//! Finds the shared library that cargo built beside the tests, and puts it where a program will load it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Tally;
use crate::scenario::Scenario;

/// The name every program asks the dynamic linker for.
const NAME: &str = "libnvidia-ml.so.1";
const BUILT: &str = "libgpu_nvml_double";

/// Why the double could not be put in place.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    #[error("found no `{BUILT}*.so` in {looked:?}: depend on gpu-nvml-double, then cargo builds it")]
    NotBuilt { looked: Vec<PathBuf> },
    #[error("failed to write `{path}`")]
    Write { path: PathBuf, source: io::Error },
}

/// The library cargo built for this test or program: a crate that depends on this one has it in `target/<profile>/deps`.
pub fn shared_library() -> Result<PathBuf, LocateError> {
    let exe = env::current_exe().unwrap_or_default();
    let looked: Vec<PathBuf> = exe
        .ancestors()
        .skip(1)
        .take(3)
        .flat_map(|directory| [directory.to_owned(), directory.join("deps")])
        .collect();
    let newest = looked
        .iter()
        .filter_map(|directory| fs::read_dir(directory).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(BUILT) && name.ends_with(".so")
        })
        .max_by_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok());
    newest.ok_or(LocateError::NotBuilt { looked })
}

/// A copy of the double in a directory of its own, with its scenario beside it.
///
/// A copy and not a link: the dynamic linker knows a library by its inode, so that several copies in one process are
/// several drivers.
#[derive(Debug, Clone)]
pub struct Installed {
    directory: PathBuf,
}

impl Installed {
    pub fn into(directory: &Path, scenario: &Scenario) -> Result<Installed, LocateError> {
        let installed = Installed {
            directory: directory.to_owned(),
        };
        let library = installed.library();
        fs::copy(shared_library()?, &library).map_err(|source| LocateError::Write {
            path: library,
            source,
        })?;
        installed.change(scenario)?;
        Ok(installed)
    }

    /// What a program gets by `LD_LIBRARY_PATH`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn library(&self) -> PathBuf {
        self.directory.join(NAME)
    }

    pub fn scenario(&self) -> PathBuf {
        self.directory.join("scenario.json")
    }

    /// Replaces the scenario as a whole; the library sees the change on a call within 20 ms.
    pub fn change(&self, scenario: &Scenario) -> Result<(), LocateError> {
        let beside = self.directory.join("scenario.new");
        fs::write(&beside, scenario.to_json())
            .and_then(|()| fs::rename(&beside, self.scenario()))
            .map_err(|source| LocateError::Write { path: beside, source })
    }

    /// The calls so far, as of at most 50 ms before the last one.
    pub fn tally(&self) -> io::Result<Tally> {
        Tally::read(&self.directory.join("calls.json"))
    }
}

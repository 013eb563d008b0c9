//! Finding the driver's library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::raw::Library;

const NAME: &str = "libnvidia-ml.so.1";

/// Where containers find the library when the dynamic linker does not: distributions, WSL, the driver container of the GPU
/// operator, and the host paths that GKE mounts.
const USUAL_PLACES: &[&str] = &[
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/run/nvidia/driver/usr/lib64",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
    "/home/kubernetes/bin/nvidia/lib64",
];

/// Why the driver cannot be asked, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error(
        "found no `{NAME}` (looked at {looked}): install NVIDIA's driver, or give the container its libraries with the NVIDIA runtime and NVIDIA_DRIVER_CAPABILITIES=utility",
        looked = shown(.looked)
    )]
    NotFound { looked: Vec<PathBuf> },
    #[error("failed to load `{path}`: {words}; install a driver for this architecture and C library")]
    Unloadable { path: PathBuf, words: String },
    #[error(
        "NVIDIA's kernel driver is not loaded: load the `nvidia` module, or run on a node that has a GPU"
    )]
    DriverNotLoaded,
    #[error(
        "NVIDIA's library and kernel module differ in version: restart the container so that it gets the new library"
    )]
    VersionMismatch,
    #[error("NVIDIA's driver refused access: give the program /dev/nvidiactl and the GPU's device files")]
    NoPermission,
    #[error("NVIDIA's driver failed to start: {0}")]
    Other(Fault),
}

impl LoadError {
    /// The value of an `error` label: a closed set.
    pub fn class(&self) -> &'static str {
        match self {
            LoadError::NotFound { .. } => "library_not_found",
            LoadError::Unloadable { .. } => "library_unloadable",
            LoadError::DriverNotLoaded => "driver_not_loaded",
            LoadError::VersionMismatch => "version_mismatch",
            LoadError::NoPermission => "no_permission",
            LoadError::Other(_) => "other",
        }
    }

    pub(crate) fn from_start(fault: Fault) -> LoadError {
        match fault {
            Fault::Uninitialized => LoadError::DriverNotLoaded,
            Fault::VersionMismatch => LoadError::VersionMismatch,
            Fault::NoPermission => LoadError::NoPermission,
            Fault::Unsupported
            | Fault::Lost
            | Fault::NotFound
            | Fault::Timeout
            | Fault::ResetRequired
            | Fault::NoData
            | Fault::Implausible
            | Fault::Other(_) => LoadError::Other(fault),
        }
    }
}

fn shown(paths: &[PathBuf]) -> String {
    let texts: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    texts.join(", ")
}

/// The library at `path`, or wherever the dynamic linker or a container has it. The name goes first: it finds what the
/// administrator meant.
pub(crate) fn find(path: Option<&Path>) -> Result<Library, LoadError> {
    let candidates: Vec<PathBuf> = match path {
        Some(path) => vec![path.to_owned()],
        None => std::iter::once(PathBuf::from(NAME))
            .chain(USUAL_PLACES.iter().map(|place| Path::new(place).join(NAME)))
            .collect(),
    };
    let mut unloadable = None;
    for candidate in &candidates {
        match Library::open(&OsString::from(candidate)) {
            Ok(library) => return Ok(library),
            // A library that is there and does not load is the better explanation than one that is not there.
            Err(words) if candidate.is_file() => {
                unloadable.get_or_insert(LoadError::Unloadable {
                    path: candidate.clone(),
                    words,
                });
            }
            Err(_) => {}
        }
    }
    Err(unloadable.unwrap_or(LoadError::NotFound { looked: candidates }))
}

//! Exactly one process holds a file. The kernel keeps the lock and lets it go with the process, however that ends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::error::StoreError;

/// A held lock.
#[derive(Debug)]
pub(super) struct Lock {
    _file: Flock<File>,
}

impl Lock {
    /// Takes the lock beside the file, or says who has it.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let beside = beside(path, ".lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&beside)
            .map_err(|error| {
                StoreError::failed(
                    "open the lock of the store; its directory must exist and be writable",
                    error,
                )
            })?;
        let mut holder = String::new();
        // Whatever stands there is a hint for people, and may be missing.
        let _ = Read::by_ref(&mut file).take(200).read_to_string(&mut holder);
        let mut held =
            Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, _)| StoreError::InUse {
                path: path.to_owned(),
                holder: if holder.is_empty() {
                    "another process".to_owned()
                } else {
                    holder.trim().to_owned()
                },
            })?;
        let name = format!("process {}\n", std::process::id());
        let written = held
            .rewind()
            .and_then(|()| held.set_len(0))
            .and_then(|()| held.write_all(name.as_bytes()));
        written.map_err(|error| StoreError::failed("write the lock of the store", error))?;
        Ok(Self { _file: held })
    }
}

/// A file whose name is that of the store and an ending.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

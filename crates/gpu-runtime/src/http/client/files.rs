//! Noticing that a file has changed, and reading one within a bound.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::SettingsError;

/// Hundreds of certificates in PEM, and every token there is, are smaller than this.
const FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The state of some files at a moment; a missing file is a state as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamps(Vec<Option<Stamp>>);

/// Changes when the file is written, replaced, or the link to it is turned elsewhere, as kubelets do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamps {
    pub(super) fn of<'a>(files: impl IntoIterator<Item = &'a Path>) -> Self {
        Self(files.into_iter().map(stamp).collect())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(path).ok()?;
    Some(Stamp {
        device: found.dev(),
        inode: found.ino(),
        bytes: found.len(),
        seconds: found.mtime(),
        nanoseconds: found.mtime_nsec(),
    })
}

/// The whole file, which is small.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, SettingsError> {
    let mut content = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut content));
    let read = read.and_then(|bytes| match u64::try_from(bytes) {
        Ok(bytes) if bytes <= FILE_BYTES => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 4 MiB")),
    });
    read.map_err(|source| SettingsError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    Ok(content)
}

//! Files that somebody else wrote, opened with care: no link is followed, no path leaves the directory, and nothing but a
//! regular file is ever opened, because merely opening a pipe waits and opening a device acts.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;

use jiff::Timestamp;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};

use super::super::content::{MOST_BYTES, Refusal};

/// Why a file is left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    #[error("it is no regular file: links, pipes and devices are not read")]
    NotRegular,
    #[error("it cannot be read")]
    Unreadable,
    #[error("it was written too long ago, or its time lies in the future; see --textfile-max-age")]
    Stale,
    #[error("its owner has too many files, or too large ones")]
    TooMany,
    #[error(transparent)]
    Refused(Refusal),
}

impl FileProblem {
    /// Its class in metrics.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::NotRegular => "not_regular",
            Self::Unreadable => "unreadable",
            Self::Stale => "stale",
            Self::TooMany => "too_many",
            Self::Refused(refusal) => refusal.class(),
        }
    }
}

/// An open directory; what is in it is reached by name alone.
pub(super) struct Directory(Dir);

impl Directory {
    /// Opens what the settings name, through links if there are some.
    pub(super) fn open(path: &Path) -> nix::Result<Self> {
        let how = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Dir::open(path, how, Mode::empty()).map(Self)
    }

    /// Opens a directory in this one.
    pub(super) fn directory(&self, name: &str) -> nix::Result<Self> {
        let how = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Dir::openat(self.0.as_fd(), name, how, Mode::empty()).map(Self)
    }

    /// The names in it that are text, in order. Of more than `most` entries the rest is not looked at.
    pub(super) fn names(&mut self, most: usize) -> nix::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.0.iter().take(most) {
            if let Ok(name) = entry?.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Finds a regular file without opening it.
    pub(super) fn file(&self, name: &str) -> Result<Opened, FileProblem> {
        let how = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let found = openat(self.0.as_fd(), name, how, Mode::empty()).map_err(problem)?;
        let state = fstat(&found).map_err(problem)?;
        if SFlag::from_bits_truncate(state.st_mode & SFlag::S_IFMT.bits()) != SFlag::S_IFREG {
            return Err(FileProblem::NotRegular);
        }
        Ok(Opened { found, state })
    }
}

/// A regular file that was found.
pub(super) struct Opened {
    found: OwnedFd,
    state: FileStat,
}

impl Opened {
    pub(super) fn print(&self) -> Print {
        print(&self.state)
    }

    /// Reads it. What changed meanwhile was being written.
    pub(super) fn read(self) -> Result<Vec<u8>, FileProblem> {
        if self.state.st_size > i64::try_from(MOST_BYTES).unwrap_or(i64::MAX) {
            return Err(FileProblem::Refused(Refusal::TooLarge));
        }
        // The same file that was looked at, whatever its name means by now.
        let path = format!("/proc/self/fd/{}", self.found.as_raw_fd());
        let unreadable = |_| FileProblem::Unreadable;
        let mut file = File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        let most = MOST_BYTES as u64 + 1;
        file.by_ref()
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        let after = fstat(&file).map_err(problem)?;
        if print(&after) != self.print() {
            return Err(FileProblem::Refused(Refusal::Torn));
        }
        Ok(bytes)
    }
}

/// What tells one content of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Print {
    device: u64,
    inode: u64,
    size: i64,
    pub(super) written_at: Timestamp,
    changed_at: (i64, i64),
}

impl Default for Print {
    fn default() -> Self {
        Self {
            device: 0,
            inode: 0,
            size: 0,
            written_at: Timestamp::UNIX_EPOCH,
            changed_at: (0, 0),
        }
    }
}

fn print(state: &FileStat) -> Print {
    let nanoseconds = i32::try_from(state.st_mtime_nsec).unwrap_or(0);
    Print {
        device: state.st_dev,
        inode: state.st_ino,
        size: state.st_size,
        // A time beyond the calendar is as stale as one at its beginning.
        written_at: Timestamp::new(state.st_mtime, nanoseconds).unwrap_or(Timestamp::UNIX_EPOCH),
        changed_at: (state.st_ctime, state.st_ctime_nsec),
    }
}

fn problem(error: Errno) -> FileProblem {
    match error {
        Errno::ELOOP | Errno::ENXIO => FileProblem::NotRegular,
        _ => FileProblem::Unreadable,
    }
}

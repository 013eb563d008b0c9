//! Which file may be run. The exporter is privileged, so what it runs must be something that only root, or whoever runs the
//! exporter, can have put there: an absolute path, a plain file, and no writable step on the way to it.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Where a tool is looked for.
#[derive(Debug, Clone)]
pub struct Places {
    pub usual: &'static [&'static str],
    /// Named by a setting: then there and nowhere else.
    pub given: Option<PathBuf>,
}

/// Why a tool is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("it is not installed, or not mounted into the container")]
    Missing,
    #[error("{0}")]
    Untrusted(&'static str),
}

const RELATIVE: &str = "its path is not absolute";
const NO_FILE: &str = "its path is not that of a plain file that can be executed";
const FOREIGN: &str = "it belongs neither to root nor to the user of the exporter: change its owner";
const WRITABLE: &str = "others than its owner may write it: take the permission away (chmod go-w)";
const WRITABLE_STEP: &str = "a directory on the way to it belongs to somebody else or may be written by everybody: mend its owner and mode";

const EXECUTABLE: u32 = 0o111;
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Of directories only this: distributions give `/usr/local` to a group of their own.
const WRITABLE_BY_ALL: u32 = 0o002;
/// In such a directory (`/tmp`) nobody can replace what belongs to others.
const STICKY: u32 = 0o1000;

impl Places {
    /// The first fit file, with all links followed, so that what was looked at is what is run.
    pub fn find(&self) -> Result<PathBuf, Unfit> {
        if let Some(given) = &self.given {
            return examine(given);
        }
        let mut worst = Unfit::Missing;
        for place in self.usual {
            match examine(Path::new(place)) {
                Err(Unfit::Missing) => {}
                Err(unfit) => worst = unfit,
                found => return found,
            }
        }
        Err(worst)
    }
}

fn examine(path: &Path) -> Result<PathBuf, Unfit> {
    if !path.is_absolute() {
        return Err(Unfit::Untrusted(RELATIVE));
    }
    let path = path.canonicalize().map_err(|_| Unfit::Missing)?;
    let file = path.metadata().map_err(|_| Unfit::Missing)?;
    let own = nix::unistd::geteuid().as_raw();
    let is_ours = |owner: u32| owner == 0 || owner == own;
    if !file.is_file() || file.mode() & EXECUTABLE == 0 {
        return Err(Unfit::Untrusted(NO_FILE));
    }
    if !is_ours(file.uid()) {
        return Err(Unfit::Untrusted(FOREIGN));
    }
    if file.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(Unfit::Untrusted(WRITABLE));
    }
    for step in path.ancestors().skip(1) {
        let directory = step.metadata().map_err(|_| Unfit::Missing)?;
        let is_open = directory.mode() & WRITABLE_BY_ALL != 0 && directory.mode() & STICKY == 0;
        if is_open || !is_ours(directory.uid()) {
            return Err(Unfit::Untrusted(WRITABLE_STEP));
        }
    }
    Ok(path)
}

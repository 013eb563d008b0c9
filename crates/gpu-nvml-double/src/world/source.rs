//! Where the scenario comes from, and whether it has changed.

use std::env;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::scenario::Scenario;

/// A test sees its change soon, and a call costs no look at the file system.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(super) struct Source {
    path: Option<PathBuf>,
    tally: Option<PathBuf>,
    looked: Option<Instant>,
    /// Inode, length and time of the file last read.
    stamp: Option<(u64, u64, i64, i64)>,
}

impl Source {
    pub(super) fn find() -> Source {
        let beside = own_directory();
        let path = env::var_os("NVML_DOUBLE_SCENARIO")
            .map(PathBuf::from)
            .or_else(|| beside.as_ref().map(|directory| directory.join("scenario.json")));
        let tally = env::var_os("NVML_DOUBLE_CALLS")
            .map(PathBuf::from)
            .or_else(|| path.as_ref().map(|path| path.with_file_name("calls.json")));
        Source {
            path,
            tally,
            looked: None,
            stamp: None,
        }
    }

    pub(super) fn tally_path(&self) -> Option<PathBuf> {
        self.tally.clone()
    }

    /// The new scenario, if the file is another one than before.
    pub(super) fn changed(&mut self) -> Option<Scenario> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return None;
        }
        self.looked = Some(Instant::now());
        let path = self.path.as_ref()?;
        let data = fs::metadata(path).ok()?;
        let stamp = (data.ino(), data.len(), data.mtime(), data.mtime_nsec());
        if self.stamp == Some(stamp) {
            return None;
        }
        let text = fs::read_to_string(path).ok()?;
        self.stamp = Some(stamp);
        match Scenario::parse(&text) {
            Ok(scenario) => Some(scenario),
            Err(error) => {
                // The library has no other way to tell the author of a test.
                eprintln!("gpu-nvml-double: `{}`: {error}", path.display());
                None
            }
        }
    }
}

/// The directory this very library was loaded from.
#[expect(
    unsafe_code,
    reason = "the dynamic linker knows where a library came from, and only C asks it"
)]
fn own_directory() -> Option<PathBuf> {
    // SAFETY: an all-zero `Dl_info` is valid, the address is that of a function in this library, and the name that
    // `dladdr` gives lives as long as the library is loaded, which it is while its code runs.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let here = own_directory as fn() -> Option<PathBuf>;
        if libc::dladdr(here as *const libc::c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
        .parent()
        .map(PathBuf::from)
}

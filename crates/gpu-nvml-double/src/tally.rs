//! How often each function was called, for tests that bound what a program asks of the driver.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Often enough for a test that polls, seldom enough not to slow the calls down.
const WRITE_EVERY: Duration = Duration::from_millis(50);

/// The calls since the library was loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Since the first call.
    pub seconds: f64,
    pub calls: BTreeMap<String, u64>,
}

impl Tally {
    /// Reads the file the library writes; it is replaced as a whole, never seen half.
    pub fn read(path: &Path) -> io::Result<Tally> {
        serde_json::from_slice(&fs::read(path)?).map_err(io::Error::from)
    }

    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    pub fn of(&self, function: &str) -> u64 {
        self.calls.get(function).copied().unwrap_or(0)
    }
}

/// Counts, and writes the file now and then.
#[derive(Debug)]
pub(crate) struct Counter {
    path: Option<PathBuf>,
    started: Instant,
    written: Option<Instant>,
    calls: BTreeMap<&'static str, u64>,
}

impl Counter {
    pub(crate) fn new(path: Option<PathBuf>) -> Counter {
        Counter {
            path,
            started: Instant::now(),
            written: None,
            calls: BTreeMap::new(),
        }
    }

    pub(crate) fn count(&mut self, function: &'static str) {
        *self.calls.entry(function).or_default() += 1;
        if self
            .written
            .is_none_or(|written| written.elapsed() >= WRITE_EVERY)
        {
            self.write();
        }
    }

    /// A test that cannot read the tally fails by itself, so a failed write is not reported.
    pub(crate) fn write(&mut self) {
        self.written = Some(Instant::now());
        let Some(path) = &self.path else { return };
        let tally = Tally {
            seconds: self.started.elapsed().as_secs_f64(),
            calls: self
                .calls
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
        };
        let beside = path.with_extension("new");
        let text = serde_json::to_vec(&tally).unwrap_or_default();
        let _ = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    }
}

//! How the sources of prices fare, for health pages and metrics.

use std::time::Duration;

use jiff::Timestamp;

/// One source of prices, or one list of it where it has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// From a closed set, for labels: `bundled`, `document`, `aws-offer`, `aws-spot`, `gcp-catalog`, `azure-retail`.
    pub source: &'static str,
    /// The region of the list, where lists are by region.
    pub region: Option<String>,
    /// When it was last read, or found unchanged, without a fault. Absent before the first time.
    pub confirmed_at: Option<Timestamp>,
    /// How long ago that was.
    pub age: Option<Duration>,
    /// Why the last attempt failed; absent when it did not.
    pub last_error: Option<Problem>,
    /// Attempts that failed since the last one that did not.
    pub failures: u32,
    /// Prices and rules of it that are in the book.
    pub versions: usize,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From a closed set, for labels.
    pub class: &'static str,
    /// For people. It holds no secret.
    pub message: String,
    /// When it happened.
    pub at: Timestamp,
}

impl SourceStatus {
    pub(crate) fn new(source: &'static str, region: Option<String>) -> Self {
        Self {
            source,
            region,
            confirmed_at: None,
            age: None,
            last_error: None,
            failures: 0,
            versions: 0,
        }
    }

    /// The status with its age at `now`; a clock that stepped back makes nothing younger than new.
    pub(crate) fn at(mut self, now: Timestamp) -> Self {
        self.age = self
            .confirmed_at
            .map(|at| Duration::try_from(now.duration_since(at)).unwrap_or_default());
        self
    }
}

//! Where the time of all GPUs goes, in thousandths of a GPU: the parts always sum to the whole.

use std::collections::BTreeMap;

use crate::Cause;

/// What a piece of a GPU is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bucket {
    Waste(Cause),
    /// Put to use.
    Used,
    /// Held ready on purpose, as its owner declared.
    StandBy,
    /// Idle for less than `waste-after`, or warming up: not judged yet.
    TooEarly,
    /// Found, and left alone because its owner asked for it.
    Exempt,
    /// Not read, or readings that contradict each other.
    Unknown,
}

impl Bucket {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waste(cause) => cause.as_str(),
            Self::Used => "used",
            Self::StandBy => "standby",
            Self::TooEarly => "too-early",
            Self::Exempt => "exempt",
            Self::Unknown => "unknown",
        }
    }
}

/// How much of all GPUs is in one bucket. Empty buckets are left out; all totals together are every GPU that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseTotal {
    pub bucket: Bucket,
    /// Thousandths of a GPU.
    pub milligpus: u64,
    /// The same over the time that the window covers.
    pub milligpu_seconds: u64,
}

/// Sums up.
#[derive(Debug, Default)]
pub(crate) struct Tally(BTreeMap<Bucket, u64>);

impl Tally {
    pub(crate) fn add(&mut self, bucket: Bucket, milligpus: u64) {
        if milligpus > 0 {
            *self.0.entry(bucket).or_default() += milligpus;
        }
    }

    pub(crate) fn finish(self, seconds: u64) -> Vec<CauseTotal> {
        let totals = self.0.into_iter().map(|(bucket, milligpus)| CauseTotal {
            bucket,
            milligpus,
            milligpu_seconds: milligpus.saturating_mul(seconds),
        });
        totals.collect()
    }
}

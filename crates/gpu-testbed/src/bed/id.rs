//! The name of a bed, from which anyone can tell whether its owner still lives.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// Begins the name of every temporary directory, control group and network namespace of a bed.
pub(crate) const PREFIX: &str = "gpu-testbed-";

/// The random part's length in hexadecimal digits; the owner's start time stands before it.
const RANDOM_DIGITS: usize = 8;

/// Names a bed: the owner's process id and start time (process ids are used again), and a random number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BedId {
    owner: u32,
    started: u64,
    random: u32,
}

impl BedId {
    pub(super) fn for_this_process() -> Self {
        let owner = std::process::id();
        let noise = RandomState::new().hash_one(owner);
        let random = u32::try_from(noise & u64::from(u32::MAX)).expect("32 bits remain after the mask");
        Self {
            owner,
            started: start_of(owner).unwrap_or_default(),
            random,
        }
    }

    /// The id in a name that [`Self::directory_name`] made.
    pub fn from_directory_name(name: &str) -> Option<Self> {
        Self::parse(name.strip_prefix(PREFIX)?)
    }

    /// The id in the text that its display made.
    pub fn parse(text: &str) -> Option<Self> {
        let (owner, rest) = text.split_once('-')?;
        let (started, random) = rest.split_at_checked(rest.len().checked_sub(RANDOM_DIGITS)?)?;
        Some(Self {
            owner: owner.parse().ok()?,
            started: u64::from_str_radix(started, 16).ok()?,
            random: u32::from_str_radix(random, 16).ok()?,
        })
    }

    /// The name of the bed's directory, and of whatever else must be found again by its name.
    pub fn directory_name(&self) -> String {
        format!("{PREFIX}{self}")
    }

    /// Whether the process that made the bed still lives.
    pub fn owner_lives(&self) -> bool {
        start_of(self.owner) == Some(self.started)
    }
}

impl fmt::Display for BedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:x}{:08x}", self.owner, self.started, self.random)
    }
}

/// When a process started, in clock ticks since boot; none when it is gone or only its exit status remains.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    // The start time is field 22 of the line, and the state is field 3.
    fields.nth(18)?.parse().ok()
}

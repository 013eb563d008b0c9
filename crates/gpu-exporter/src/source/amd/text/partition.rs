//! How a GPU is cut: `current_compute_partition`, `available_compute_partition`, `current_memory_partition`.

use super::trimmed;

/// How the compute dies are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComputePartition {
    /// One partition: the GPU as it comes.
    Spx,
    Dpx,
    Tpx,
    Qpx,
    /// A partition for every compute die.
    Cpx,
}

impl ComputePartition {
    pub const ALL: [Self; 5] = [Self::Spx, Self::Dpx, Self::Tpx, Self::Qpx, Self::Cpx];

    /// None for a word that is not known, and on GPUs that cannot be cut.
    pub fn from_text(text: &str) -> Option<Self> {
        let word = trimmed(text);
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str().eq_ignore_ascii_case(word))
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spx => "SPX",
            Self::Dpx => "DPX",
            Self::Tpx => "TPX",
            Self::Qpx => "QPX",
            Self::Cpx => "CPX",
        }
    }

    /// How many partitions that makes of a GPU with so many compute dies.
    pub const fn partitions(self, dies: u32) -> u32 {
        match self {
            Self::Spx => 1,
            Self::Dpx => 2,
            Self::Tpx => 3,
            Self::Qpx => 4,
            Self::Cpx => dies,
        }
    }
}

/// The list of `available_compute_partition`: `SPX, DPX, CPX`.
pub fn compute_partitions(text: &str) -> impl Iterator<Item = ComputePartition> {
    text.split(',').filter_map(ComputePartition::from_text)
}

/// Into how many ranges the memory is cut: `NPS1`, `NPS4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryPartition {
    pub ranges: u8,
}

impl MemoryPartition {
    pub fn from_text(text: &str) -> Option<Self> {
        let ranges = trimmed(text).strip_prefix("NPS")?;
        // More than eight compute dies has no GPU, and so no more ranges.
        let ranges = ranges.parse().ok().filter(|ranges| (1..=8).contains(ranges))?;
        Some(Self { ranges })
    }
}

impl std::fmt::Display for MemoryPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NPS{}", self.ranges)
    }
}

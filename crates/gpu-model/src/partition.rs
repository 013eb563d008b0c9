//! What part of a GPU a container can be given.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::MigProfileName;

/// How one schedulable part relates to its GPU.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Partition {
    /// The GPU is one part.
    Whole,
    /// A hardware slice with its own memory and its own compute units: a GPU instance and a compute instance in it.
    MigSlice { profile: MigProfileName, gi: u8, ci: u8 },
    /// One of several names for the same GPU: nothing is kept apart but time.
    TimeShared { replica: u16, of: u16 },
    /// One of several clients of a CUDA MPS daemon, each with an equal share of memory and threads.
    Mps { replica: u16, of: u16 },
    /// One of the devices an AMD GPU shows in a compute partition mode.
    AmdPartition { mode: AmdComputeMode, index: u8 },
}

/// The value of the `partition` label; a whole GPU has none.
impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Partition::Whole => f.write_str("whole"),
            Partition::MigSlice { profile, gi, ci } => write!(f, "{profile}/{gi}/{ci}"),
            Partition::TimeShared { replica, of } => write!(f, "time-{replica}/{of}"),
            Partition::Mps { replica, of } => write!(f, "mps-{replica}/{of}"),
            Partition::AmdPartition { mode, index } => write!(f, "{mode}-{index}"),
        }
    }
}

/// AMD's compute partition modes, as `current_compute_partition` in sysfs names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AmdComputeMode {
    Spx,
    Dpx,
    Tpx,
    Qpx,
    Cpx,
}

impl fmt::Display for AmdComputeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            AmdComputeMode::Spx => "SPX",
            AmdComputeMode::Dpx => "DPX",
            AmdComputeMode::Tpx => "TPX",
            AmdComputeMode::Qpx => "QPX",
            AmdComputeMode::Cpx => "CPX",
        })
    }
}

//! One part of one GPU as the rules see it, and what a rule may say.

use std::time::Duration;

use gpu_model::Permille;
use jiff::Timestamp;

use crate::evidence::Votes;
use crate::facts::Facts;
use crate::holders::Holder;
use crate::rooms::Room;
use crate::windows::{GpuTrack, PartTrack, since};
use crate::{Cause, Settings, Surroundings};

pub(crate) struct Case<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) surroundings: &'a Surroundings<'a>,
    pub(crate) interval: Duration,
    pub(crate) now: Timestamp,
    pub(crate) gpu: &'a GpuTrack,
    pub(crate) part: &'a PartTrack,
    pub(crate) facts: &'a Facts,
    /// Absent when nobody holds it.
    pub(crate) holder: Option<&'a Holder<'a>>,
    /// What is left of its node for pods that want its GPUs.
    pub(crate) room: Option<&'a Room>,
    /// Where it stands among the free parts of its resource on the node.
    pub(crate) free: Option<Free>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Free {
    pub(crate) rank: u32,
    pub(crate) count: u32,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) cause: Cause,
    /// Of the part: what would be there for others.
    pub(crate) wasted: Permille,
    /// Of the part, for the score; see `score.rs`.
    pub(crate) affected: Permille,
    pub(crate) since: Timestamp,
    pub(crate) votes: Votes,
    pub(crate) detail: Detail,
}

/// What the explanation and the fix depend on besides the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    Plain,
    /// Memory without a process.
    Abandoned,
    /// The kubelet does not get its containers to run.
    DoesNotRun,
    /// Memory or processes on a GPU that nobody holds.
    Leaked,
    /// Waits for its input most of the time.
    InputBound,
    /// Kernels fill the time and almost none of the chip.
    Spinning,
    /// A smaller part of the same GPU would do.
    TooLarge {
        memory_mib: u32,
        effort: u16,
    },
    NoProcessor,
    NoHostMemory,
    Fragment,
    ClosedNode,
    Clash(crate::facts::Clash),
    Above,
    Below,
}

impl Case<'_> {
    /// How long every look has found it idle, if the newest did.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        self.part.tenancy.idle_since.map(|since_| since(self.now, since_))
    }

    /// Idle for at least `waste-after`, by enough looks.
    pub(crate) fn is_idle(&self) -> bool {
        self.facts.active == 0
            && self.facts.idle * 5 >= self.facts.expected * 3
            && self.idle_for().is_some_and(|idle| idle >= self.settings.after)
    }

    /// Whether its holder may still be on the way to its first use.
    pub(crate) fn is_warming_up(&self) -> bool {
        if self.part.tenancy.first_activity.is_some() {
            return false;
        }
        let Some(holder) = self.holder else { return false };
        // A pod whose start nobody told is as old as we know it.
        let started = holder.pod.started_at.unwrap_or(self.part.tenancy.since);
        since(self.now, started) < self.settings.warm_up
    }

    /// Data comes in or memory grows: a model is loaded, or input read.
    pub(crate) fn is_loading(&self) -> bool {
        let grows = self
            .part
            .tenancy
            .last_growth
            .is_some_and(|growth| since(self.now, growth) < self.settings.after);
        let reads = self.gpu.is_sole()
            && self
                .facts
                .recent_traffic
                .mean()
                .is_some_and(|traffic| traffic >= LOADING_MIB);
        grows || reads
    }

    pub(crate) fn memory_share(&self, memory_mib: u32) -> Option<u16> {
        let total = self.part.memory_total_mib.filter(|total| *total > 0)?;
        u16::try_from(u64::from(memory_mib) * 1000 / u64::from(total)).ok()
    }

    /// A part with a piece of the chip of its own, whose unused rest nobody else can use.
    pub(crate) fn is_exclusive(&self) -> bool {
        use gpu_model::Partition;
        match self.part.partition {
            Partition::Whole | Partition::MigSlice { .. } | Partition::AmdPartition { .. } => {
                self.gpu.is_sole() || self.part.partition != Partition::Whole
            }
            Partition::TimeShared { .. } | Partition::Mps { .. } => false,
        }
    }

    pub(crate) fn whole_loss(&self, cause: Cause, since: Timestamp, votes: Votes, detail: Detail) -> Verdict {
        Verdict {
            cause,
            wasted: Permille::ONE,
            affected: Permille::ONE,
            since,
            votes,
            detail,
        }
    }
}

/// So much a second over the bus is input, not housekeeping.
const LOADING_MIB: u32 = 50;

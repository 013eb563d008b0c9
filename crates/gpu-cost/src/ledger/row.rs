//! One row of the ledger: a piece of a node's time, who carries it, and what it costs.

use std::sync::Arc;

use gpu_model::{ClusterId, GpuUuid, NanoUsd, Partition};
use serde::{Deserialize, Serialize};

use super::{Digest, Holder, PriceNote, RowKey, Subject};
use crate::Span;

/// A row. It is written once; what turns out to be wrong is taken back by a reversal and written anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    pub key: RowKey,
    pub entry: Entry,
    /// 0 for the first settlement of a window, and one more for every correction of it.
    pub revision: u32,
    pub cluster: ClusterId,
    pub subject: Subject,
    /// Never longer than the grain of settlement, and never across two of its buckets.
    pub span: Span,
    pub part: Part,
    pub slot: Slot,
    /// Who held it: on `Pod` and `System`, where it is known.
    pub holder: Option<Arc<Holder>>,
    pub phase: Phase,
    pub basis: ShareBasis,
    pub time: GpuTime,
    /// Absent where the node has no price; `price` says why.
    pub amounts: Option<Amounts>,
    pub price: PriceNote,
}

/// Whether a row says or unsays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    Charge,
    /// Takes back one charge: the same row with every amount and every time negated.
    Reversal {
        of: RowKey,
    },
}

/// What a piece of a node's time was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A pod held it.
    Pod,
    /// Nobody held it, and somebody could have.
    Idle,
    /// The cluster's own: a system pod held it, or the GPU was withheld from scheduling.
    System,
    /// From launch until the node was ready.
    Boot,
    /// From the node's notice until its end, where no pod held it.
    Drain,
    /// Nobody looked, or the GPU never appeared.
    Unknown,
    /// A commitment that is paid and covers no node.
    UnusedCommitment,
}

impl Part {
    pub const ALL: [Self; 7] = [
        Self::Pod,
        Self::Idle,
        Self::System,
        Self::Boot,
        Self::Drain,
        Self::Unknown,
        Self::UnusedCommitment,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Part::Pod => "pod",
            Part::Idle => "idle",
            Part::System => "system",
            Part::Boot => "boot",
            Part::Drain => "drain",
            Part::Unknown => "unknown",
            Part::UnusedCommitment => "unused-commitment",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.as_str() == text)
    }

    /// The name of the gap between what was paid for and what was used. For a pod it is in two: what it held and left
    /// idle, and what nobody measured.
    pub const fn gap(self) -> &'static str {
        match self {
            Part::Pod => "held-unused",
            Part::Idle => "unallocated",
            Part::System => "system",
            Part::Boot => "booting",
            Part::Drain => "draining",
            Part::Unknown => "unknown",
            Part::UnusedCommitment => "unused-commitment",
        }
    }
}

/// Which piece of the machine a row is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
pub enum Slot {
    /// A GPU, or a part of it. The partition is absent on what is left of a GPU.
    Gpu {
        gpu: GpuUuid,
        partition: Option<Partition>,
    },
    /// GPUs that are paid for and were not seen.
    UnseenGpus { count: u16 },
    /// Processors and memory, where the price of a node is split between them and its GPUs.
    Host,
    /// The node as one, while it boots; or a commitment.
    Whole,
}

/// How far a holder was on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Bound to the node and not yet running: the image is being pulled, the volume attached.
    Starting,
    Running,
    /// The row has no holder.
    None,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Starting, Self::Running, Self::None];

    pub const fn as_str(self) -> &'static str {
        match self {
            Phase::Starting => "starting",
            Phase::Running => "running",
            Phase::None => "none",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }
}

/// By what rule the share of a row was found. The names are the ids of the allocation methods in exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareBasis {
    /// The whole GPU, or what was left of it.
    Exclusive,
    /// A hardware slice, by its size.
    MigSlice,
    /// A hardware slice of a GPU whose table of sizes we do not have: by the name of its profile.
    MigSliceEstimate,
    /// One of the equal devices of an AMD GPU.
    AmdPartition,
    /// Shared in time, by measured use first and reserved replicas next.
    TimeShareMeasured,
    /// Shared in time and not measured: by reserved replicas.
    TimeShareEstimate,
    /// Shared by MPS, by measured use first and reserved replicas next.
    MpsMeasured,
    /// Shared by MPS and not measured: by reserved replicas.
    MpsEstimate,
    /// More was claimed than there is, as when an end is learnt late: all claims were scaled down.
    ContestedEstimate,
    /// Processors and memory, by what was requested.
    HostRequests,
    /// Processors and memory of a holder whose requests are not known: by its GPUs.
    HostByGpu,
    /// The node, or the commitment, as one.
    WholeNode,
}

impl ShareBasis {
    pub const ALL: [Self; 12] = [
        Self::Exclusive,
        Self::MigSlice,
        Self::MigSliceEstimate,
        Self::AmdPartition,
        Self::TimeShareMeasured,
        Self::TimeShareEstimate,
        Self::MpsMeasured,
        Self::MpsEstimate,
        Self::ContestedEstimate,
        Self::HostRequests,
        Self::HostByGpu,
        Self::WholeNode,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            ShareBasis::Exclusive => "gpu-exclusive",
            ShareBasis::MigSlice => "gpu-mig-slice",
            ShareBasis::MigSliceEstimate => "gpu-mig-slice-estimate",
            ShareBasis::AmdPartition => "gpu-amd-partition",
            ShareBasis::TimeShareMeasured => "gpu-timeslice-measured",
            ShareBasis::TimeShareEstimate => "gpu-timeslice-equal",
            ShareBasis::MpsMeasured => "gpu-mps-measured",
            ShareBasis::MpsEstimate => "gpu-mps-equal",
            ShareBasis::ContestedEstimate => "gpu-contested",
            ShareBasis::HostRequests => "host-requests",
            ShareBasis::HostByGpu => "host-by-gpu",
            ShareBasis::WholeNode => "whole-node",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|basis| basis.as_str() == text)
    }

    /// Whether the share was assumed and not known.
    pub const fn is_estimate(self) -> bool {
        match self {
            ShareBasis::MigSliceEstimate
            | ShareBasis::TimeShareEstimate
            | ShareBasis::MpsEstimate
            | ShareBasis::ContestedEstimate
            | ShareBasis::HostByGpu => true,
            ShareBasis::Exclusive
            | ShareBasis::MigSlice
            | ShareBasis::AmdPartition
            | ShareBasis::TimeShareMeasured
            | ShareBasis::MpsMeasured
            | ShareBasis::HostRequests
            | ShareBasis::WholeNode => false,
        }
    }
}

/// GPU time in milliseconds of a whole GPU; negative on a reversal. The held time of all rows of one GPU sums to the
/// time that passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuTime {
    pub held_ms: i64,
    pub used_ms: i64,
    /// Held by somebody whose use nobody measured.
    pub unmeasured_ms: i64,
}

impl GpuTime {
    #[must_use]
    pub const fn negated(self) -> Self {
        Self {
            held_ms: -self.held_ms,
            used_ms: -self.used_ms,
            unmeasured_ms: -self.unmeasured_ms,
        }
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            held_ms: self.held_ms.saturating_add(other.held_ms),
            used_ms: self.used_ms.saturating_add(other.used_ms),
            unmeasured_ms: self.unmeasured_ms.saturating_add(other.unmeasured_ms),
        }
    }
}

/// What a row costs: `allocated = used + unused + unmeasured`, to the last unit. Negative on a reversal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amounts {
    /// What it would cost at the list price.
    pub list: NanoUsd,
    pub allocated: NanoUsd,
    /// The part of `allocated` in which the GPU worked.
    pub used: NanoUsd,
    /// The part in which it is known not to have worked. [`Part::gap`] names it.
    pub unused: NanoUsd,
    /// The part in which nobody measured.
    pub unmeasured: NanoUsd,
}

impl Amounts {
    #[must_use]
    pub const fn negated(self) -> Self {
        Self {
            list: NanoUsd(-self.list.0),
            allocated: NanoUsd(-self.allocated.0),
            used: NanoUsd(-self.used.0),
            unused: NanoUsd(-self.unused.0),
            unmeasured: NanoUsd(-self.unmeasured.0),
        }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let add = |a: NanoUsd, b: NanoUsd| NanoUsd(a.0.saturating_add(b.0));
        Self {
            list: add(self.list, other.list),
            allocated: add(self.allocated, other.allocated),
            used: add(self.used, other.used),
            unused: add(self.unused, other.unused),
            unmeasured: add(self.unmeasured, other.unmeasured),
        }
    }
}

impl LedgerRow {
    /// Whether both say the same, whatever their revision.
    pub fn same_content(&self, other: &Self) -> bool {
        self.content() == other.content()
    }

    /// The row that takes this one back.
    #[must_use]
    pub fn reversed(&self, revision: u32) -> Self {
        let mut row = self.clone();
        row.entry = Entry::Reversal { of: self.key };
        row.revision = revision;
        row.time = self.time.negated();
        row.amounts = self.amounts.map(Amounts::negated);
        row.sealed()
    }

    /// The same row with the key that follows from its content.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        let digest = Digest::new("row")
            .bytes(&self.content())
            .number(i64::from(self.revision));
        self.key = RowKey(match self.entry {
            Entry::Charge => digest.finish(),
            Entry::Reversal { of } => digest.bytes(&of.0).finish(),
        });
        self
    }

    /// A digest of all that the row says, without its key, entry and revision.
    pub(crate) fn content(&self) -> [u8; 16] {
        let amounts = self.amounts.unwrap_or_default();
        let mut digest = Digest::new("content")
            .text(self.cluster.as_str())
            .text(self.subject.id())
            .maybe(self.subject.machine().map(|machine| machine.node.as_str()))
            .number(self.span.start.0)
            .number(self.span.end.0)
            .text(self.part.as_str())
            .text(self.phase.as_str())
            .text(self.basis.as_str())
            .number(self.time.held_ms)
            .number(self.time.used_ms)
            .number(self.time.unmeasured_ms)
            .number(i64::from(self.amounts.is_some()))
            .number(amounts.list.0)
            .number(amounts.allocated.0)
            .number(amounts.used.0)
            .number(amounts.unused.0)
            .number(amounts.unmeasured.0);
        digest = match &self.slot {
            Slot::Gpu { gpu, partition } => {
                let name = partition.as_ref().map(ToString::to_string);
                digest.text("gpu").text(gpu.as_str()).maybe(name.as_deref())
            }
            Slot::UnseenGpus { count } => digest.text("unseen").number(i64::from(*count)),
            Slot::Host => digest.text("host"),
            Slot::Whole => digest.text("whole"),
        };
        digest = match &self.price {
            PriceNote::Priced {
                rate,
                list,
                source,
                as_of,
                capacity,
                estimate,
                commitment,
            } => digest
                .number(rate.0)
                .number(list.0)
                .text(source.as_str())
                .number(as_of.0)
                .text(capacity.as_str())
                .number(i64::from(*estimate))
                .maybe(commitment.as_deref()),
            PriceNote::Unpriced { reason } => digest.text(reason.as_str()),
        };
        match &self.holder {
            Some(holder) => digest.bytes(&holder.key().0).finish(),
            None => digest.finish(),
        }
    }
}

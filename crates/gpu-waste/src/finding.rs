//! What a rule says: who holds which GPUs to no use, since when, how sure that is, what it costs and what to do.

use std::fmt;

use gpu_model::{DeviceId, GpuUuid, NanoUsd, NodeName, Permille, PodKey, PodUid, Workload};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One finding. It keeps its id for as long as it lasts, over restarts and from replica to replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub id: FindingId,
    pub cause: Cause,
    pub subject: Subject,
    pub node: Option<NodeName>,
    /// The GPUs, or parts of them, that it is about, ordered.
    pub gpus: Vec<HeldPart>,
    /// The first instant of which the evidence speaks.
    pub since: Timestamp,
    /// The newest measurement it rests on. It may be older than the finding is read: say so.
    pub seen_at: Timestamp,
    /// 0 to 100, by the formula of `score.rs`.
    pub score: u8,
    /// How far the signals agree.
    pub confidence: Permille,
    /// Wasted share of all its GPUs together, in thousandths of a GPU: 2500 is two and a half GPUs.
    pub wasted_milligpus: u64,
    /// What was wasted since `since`, in thousandths of a GPU-hour.
    pub wasted_milligpu_hours: u64,
    /// What it wastes in a month of 730 hours if nothing changes. Absent where no price is known.
    pub monthly: Option<NanoUsd>,
    /// Which price `monthly` rests on, or why there is none.
    pub price_note: String,
    pub evidence: Vec<Evidence>,
    /// Two sentences for the owner.
    pub explanation: String,
    pub fix: Option<Fix>,
}

/// Cause and subject in one word, such as `held-idle/pod/ml/trainer-0/9c1d…`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FindingId(pub String);

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Why GPU time is lost. A GPU-second is counted under one cause alone, so that causes add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nobody asked for it.
    Unallocated,
    /// Free, but nothing fits beside what runs: no processor, memory or whole slice is left for it.
    Stranded,
    /// Given to a pod that has not touched it.
    NeverUsed,
    /// Used before, still held, idle now.
    HeldIdle,
    /// The work is over or dead, and the memory is still held.
    Zombie,
    /// Some GPUs of a pod work, this one does not.
    IdleGpuOfMany,
    /// Used, far below what it can do.
    UnderUsed,
    /// Busy enough, but a fraction of its memory would do.
    OversizedMemory,
    /// Busy, but a smaller model of GPU would do.
    OversizedModel,
    /// Faults, lost rows or a lost device.
    Unhealthy,
    /// Held down by heat or a power cap.
    Throttled,
    /// Not waste: signals that cannot all be true.
    Contradiction,
    /// Not waste: far from what this workload usually does.
    Deviation,
}

impl Cause {
    pub const ALL: [Self; 13] = [
        Self::Unallocated,
        Self::Stranded,
        Self::NeverUsed,
        Self::HeldIdle,
        Self::Zombie,
        Self::IdleGpuOfMany,
        Self::UnderUsed,
        Self::OversizedMemory,
        Self::OversizedModel,
        Self::Unhealthy,
        Self::Throttled,
        Self::Contradiction,
        Self::Deviation,
    ];

    /// The value of the `cause` label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unallocated => "unallocated",
            Self::Stranded => "stranded",
            Self::NeverUsed => "never-used",
            Self::HeldIdle => "held-idle",
            Self::Zombie => "zombie",
            Self::IdleGpuOfMany => "idle-gpu-of-many",
            Self::UnderUsed => "under-used",
            Self::OversizedMemory => "oversized-memory",
            Self::OversizedModel => "oversized-model",
            Self::Unhealthy => "unhealthy",
            Self::Throttled => "throttled",
            Self::Contradiction => "contradiction",
            Self::Deviation => "deviation",
        }
    }

    /// Whether its GPU-seconds count as wasted.
    pub fn is_waste(self) -> bool {
        !matches!(self, Self::Contradiction | Self::Deviation)
    }
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Pod {
        pod: PodKey,
        uid: Option<PodUid>,
        /// The object that made it; a bare pod has none.
        workload: Option<Workload>,
    },
    /// One GPU that nobody holds, or whose fault is its own.
    Gpu {
        node: NodeName,
        uuid: GpuUuid,
    },
    Node {
        name: NodeName,
    },
}

/// A part of a GPU that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldPart {
    pub uuid: GpuUuid,
    pub device_id: DeviceId,
    /// The driver's product name.
    pub model: String,
    /// Of its GPU; the whole is one.
    pub share: Permille,
}

/// One signal of the window, in words and as a series for a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub signal: Signal,
    /// What it says, such as `never above 0.4 % in 10 minutes`.
    pub words: String,
    pub speaks: Speaks,
    /// In the unit of the signal; instants without a reading are not there.
    pub series: Vec<(Timestamp, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Speaks {
    For,
    Against,
    /// Not read, or of no help.
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// Thousandths.
    Utilization,
    /// Thousandths.
    SmActive,
    /// Thousandths.
    TensorActive,
    /// Thousandths.
    DramActive,
    /// Mebibytes.
    MemoryUsed,
    /// Milliwatts.
    Power,
    /// A count.
    Processes,
    /// Bytes over the bus in a second.
    PcieTraffic,
    /// Driver faults in the window.
    Faults,
    /// Seconds held down in the window.
    Throttling,
}

/// What to do, as a sentence, as commands and as a change that can be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    pub kind: FixKind,
    pub text: String,
    /// Ready to be run by somebody who may.
    pub commands: Vec<String>,
    /// YAML, where the change is to a manifest.
    pub manifest: Option<String>,
    /// What a month would cost less.
    pub saves: Option<NanoUsd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FixKind {
    ScaleToZero,
    Delete,
    FewerGpus,
    MigSlice,
    Share,
    SmallerModel,
    FixInput,
    MoveWork,
    RemoveNode,
    Repair,
    /// For a step of a workflow: what to ask for in the next run.
    NextRun,
    Look,
}

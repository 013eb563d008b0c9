//! What happened, as the edge tells it. An event says when it happened, not when it was heard of: told twice, late or in
//! another order, it leads to the same books.

use std::sync::Arc;

use gpu_model::{GpuUuid, MachineId, Partition, Permille, PodUid};
use serde::{Deserialize, Serialize};

use crate::{Holder, Machine, Moment, Span};

/// Something that changes who carries what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A machine began to cost money.
    Launched { machine: Arc<Machine>, at: Moment },
    /// The node takes pods.
    Ready { machine: MachineId, at: Moment },
    /// A GPU of the node can be handed out.
    GpuSeen {
        machine: MachineId,
        gpu: Gpu,
        at: Moment,
    },
    /// A GPU may not be handed out for a while: unhealthy, reset, taken out by hand.
    GpuWithheld {
        machine: MachineId,
        gpu: GpuUuid,
        span: Span,
    },
    /// The node was told to end: a notice, a cordon for scale-down.
    Draining { machine: MachineId, at: Moment },
    /// The node took no new pods for a while: a cordon, or a taint that announces its end. Unlike a notice, it can be taken back.
    Cordoned { machine: MachineId, span: Span },
    /// The machine stopped costing money.
    Gone { machine: MachineId, end: End },
    /// A pod got a part of a GPU.
    Bound {
        machine: MachineId,
        claim: Claim,
        at: Moment,
    },
    /// The pod's containers started.
    Running {
        machine: MachineId,
        pod: PodUid,
        at: Moment,
    },
    /// The pod gave back all that it held.
    Ended {
        machine: MachineId,
        pod: PodUid,
        end: End,
    },
    /// How much a claim used over a span.
    Used {
        machine: MachineId,
        pod: PodUid,
        gpu: GpuUuid,
        partition: Partition,
        span: Span,
        /// Of the slice's own time on a slice, of the GPU's time where time is shared.
        utilization: Permille,
    },
    /// Nobody watched the machine: who held what then is not known unless another event says it.
    Blind { machine: MachineId, span: Span },
}

impl Event {
    pub fn machine(&self) -> &MachineId {
        match self {
            Event::Launched { machine, .. } => &machine.id,
            Event::Ready { machine, .. }
            | Event::GpuSeen { machine, .. }
            | Event::GpuWithheld { machine, .. }
            | Event::Draining { machine, .. }
            | Event::Cordoned { machine, .. }
            | Event::Gone { machine, .. }
            | Event::Bound { machine, .. }
            | Event::Running { machine, .. }
            | Event::Ended { machine, .. }
            | Event::Used { machine, .. }
            | Event::Blind { machine, .. } => machine,
        }
    }
}

/// An end, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct End {
    pub at: Moment,
    pub certainty: Certainty,
}

/// How an instant came to us. What was reported beats what was assumed; of two alike the earlier holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// We noticed that it was no longer there.
    Assumed,
    /// The object, or the cloud, said when.
    Reported,
}

/// A GPU as far as its price is concerned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    pub uuid: GpuUuid,
    /// The driver's product name, which knows the sizes of slices.
    pub model: Option<String>,
    /// How many equal devices it shows in AMD's CPX mode; 8 on an MI300X, 6 on an MI300A.
    pub compute_dies: Option<u8>,
}

/// A part of a GPU in the hands of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    pub gpu: GpuUuid,
    pub partition: Partition,
    pub holder: Arc<Holder>,
    pub class: HolderClass,
    /// The share of the node's processors and memory that the pod asked for.
    pub host: Option<Permille>,
}

/// Whose work it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HolderClass {
    Workload,
    /// The cluster's own, such as a health check that holds a GPU.
    System,
}

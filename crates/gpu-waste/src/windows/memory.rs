//! The facts that outlast a window, as values a store can keep.

use std::collections::BTreeMap;

use gpu_model::{DeviceId, GpuUuid, Namespace, NodeName, PodName, PodRef, PodUid};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{GpuTrack, PartTrack};

/// Node, GPU and part.
pub(crate) type Place = (NodeName, GpuUuid, DeviceId);

/// What a control plane has to know after its restart. About 200 bytes a part as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub parts: Vec<PartMemory>,
}

/// One part of a GPU with its holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartMemory {
    pub node: NodeName,
    pub gpu: GpuUuid,
    pub device_id: DeviceId,
    /// Absent while nobody holds it.
    pub pod: Option<PodMemory>,
    pub since: Timestamp,
    pub seen_at: Timestamp,
    pub first_activity: Option<Timestamp>,
    pub last_activity: Option<Timestamp>,
    pub idle_since: Option<Timestamp>,
    pub peak_memory_mib: Option<u32>,
    /// Thousandths of the part.
    pub peak_effort: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodMemory {
    pub namespace: Namespace,
    pub name: PodName,
    pub uid: Option<PodUid>,
}

impl PodMemory {
    fn of(pod: &PodRef) -> Self {
        Self {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        }
    }
}

pub(crate) fn remember(gpus: &BTreeMap<(NodeName, GpuUuid), Box<GpuTrack>>) -> Memory {
    let parts = gpus.values().flat_map(|gpu| {
        gpu.parts.iter().map(|part| PartMemory {
            node: gpu.node.name.clone(),
            gpu: gpu.device.uuid.clone(),
            device_id: part.device_id.clone(),
            pod: part
                .owner
                .as_ref()
                .map(|owner| PodMemory::of(&owner.pod.reference)),
            since: part.tenancy.since,
            seen_at: part.last_seen,
            first_activity: part.tenancy.first_activity,
            last_activity: part.tenancy.last_activity,
            idle_since: part.tenancy.idle_since,
            peak_memory_mib: part.tenancy.peak_memory_mib,
            peak_effort: part.tenancy.peak_effort,
        })
    });
    Memory {
        parts: parts.collect(),
    }
}

pub(crate) fn by_place(memory: Memory) -> BTreeMap<Place, PartMemory> {
    let place = |part: &PartMemory| (part.node.clone(), part.gpu.clone(), part.device_id.clone());
    memory
        .parts
        .into_iter()
        .map(|part| (place(&part), part))
        .collect()
}

impl PartMemory {
    /// Gives a part that was just seen for the first time its past back, if it still has the same holder.
    pub(crate) fn give_back(self, part: &mut PartTrack) {
        let now = part
            .owner
            .as_ref()
            .map(|owner| PodMemory::of(&owner.pod.reference));
        let is_same = match (&self.pod, &now) {
            (None, None) => true,
            (Some(before), Some(now)) => {
                (&before.namespace, &before.name) == (&now.namespace, &now.name)
                    && (before.uid == now.uid || before.uid.is_none() || now.uid.is_none())
            }
            _ => false,
        };
        let tenancy = &mut part.tenancy;
        if !is_same || self.since > tenancy.since {
            return;
        }
        tenancy.since = self.since;
        tenancy.first_activity = self.first_activity;
        tenancy.last_activity = self.last_activity;
        // A restart is a gap like any other: the first look after a long one begins the idle time anew.
        tenancy.idle_since = self.idle_since;
        part.last_seen = self.seen_at;
        let tenancy = &mut part.tenancy;
        tenancy.peak_memory_mib = self.peak_memory_mib;
        tenancy.peak_effort = self.peak_effort;
    }
}

//! Which parts belong to one finding, and the id that it keeps.

use gpu_model::{GpuUuid, NodeName, PodRef};

use crate::Cause;
use crate::group::Member;

/// Whether a cause is about a pod, and not about a device or a node.
pub(crate) fn is_of_pod(cause: Cause) -> bool {
    match cause {
        Cause::NeverUsed
        | Cause::HeldIdle
        | Cause::Zombie
        | Cause::IdleGpuOfMany
        | Cause::UnderUsed
        | Cause::OversizedMemory
        | Cause::OversizedModel
        | Cause::Deviation => true,
        Cause::Unallocated | Cause::Stranded | Cause::Unhealthy | Cause::Throttled | Cause::Contradiction => {
            false
        }
    }
}

/// What makes one finding of several parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupKey {
    pub(crate) cause: Cause,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Pod(PodRef),
    Gpu(NodeName, GpuUuid),
    Node(NodeName),
}

pub(crate) fn group_key(member: &Member<'_>) -> GroupKey {
    let cause = member.verdict.cause;
    let node = member.gpu.node.name.clone();
    let gpu = |node| Place::Gpu(node, member.gpu.device.uuid.clone());
    let place = match (&member.part.owner, cause) {
        (_, Cause::Unallocated | Cause::Stranded) => Place::Node(node),
        (Some(owner), cause) if is_of_pod(cause) => Place::Pod(owner.pod.reference.clone()),
        _ => gpu(node),
    };
    GroupKey { cause, place }
}

impl GroupKey {
    pub(crate) fn text(&self) -> String {
        let cause = self.cause.as_str();
        match &self.place {
            Place::Pod(pod) => {
                let uid = pod.uid.as_ref().map_or("-", |uid| uid.as_str());
                format!("{cause}/pod/{}/{}/{uid}", pod.namespace, pod.name)
            }
            Place::Gpu(node, uuid) => format!("{cause}/gpu/{node}/{uuid}"),
            Place::Node(node) => format!("{cause}/node/{node}"),
        }
    }
}

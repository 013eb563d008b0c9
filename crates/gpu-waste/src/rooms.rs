//! What is left on a node besides GPUs: whether anybody could still use those that are free.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{
    ClusterNode, ClusterPicture, GpuPod, HostRequest, NodeName, Readiness, RequestKind, ResourceName,
};

use crate::case::Detail;

/// The room of one node for pods that want one GPU more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    /// A pod of it could not be read: what looks free may be its.
    pub(crate) has_unreadable: bool,
    /// No new pod is let in.
    is_closed: bool,
    /// How many GPUs of a resource the host can still feed, and what gives out first.
    fits: BTreeMap<ResourceName, (u64, Detail)>,
    /// How many GPUs the smallest waiting pod wants of a resource.
    wanted: BTreeMap<ResourceName, u32>,
    /// Pods wait for slices that this cluster has no free one of.
    waits_for_slices: Vec<String>,
}

impl Room {
    /// Why the free part with this rank among those of its resource on the node is of no use to anybody, if so.
    pub(crate) fn hindrance(
        &self,
        resource: &ResourceName,
        rank: u32,
        free: u32,
        profile: Option<&str>,
    ) -> Option<Detail> {
        if self.is_closed {
            return Some(Detail::ClosedNode);
        }
        if let Some((fits, reason)) = self.fits.get(resource)
            && u64::from(rank) >= *fits
        {
            return Some(*reason);
        }
        if self.wanted.get(resource).is_some_and(|wanted| *wanted > free) {
            return Some(Detail::Fragment);
        }
        let own = profile?;
        let is_wanted = self.waits_for_slices.iter().any(|wanted| wanted == own);
        (!is_wanted && !self.waits_for_slices.is_empty()).then_some(Detail::Fragment)
    }
}

pub(crate) fn rooms(picture: &ClusterPicture) -> BTreeMap<NodeName, Room> {
    let needs = needs(picture);
    let waiting = waiting(picture);
    let mut used: BTreeMap<&NodeName, HostRequest> = BTreeMap::new();
    for (node, host) in &picture.other_pods {
        used.insert(node, *host);
    }
    for pod in picture.gpu_pods.values() {
        if let Some(node) = &pod.node {
            let sum = used.entry(node).or_default();
            *sum = sum.plus(pod.host);
        }
    }
    let unreadable: BTreeSet<&NodeName> = picture.unreadable_pods.values().flatten().collect();
    let rooms = picture.nodes.iter().map(|(name, node)| {
        let taken = used.get(name).copied().unwrap_or_default();
        let room = Room {
            has_unreadable: unreadable.contains(name),
            ..room(node, taken, &needs, &waiting)
        };
        (name.clone(), room)
    });
    rooms.collect()
}

/// What the most modest pod asks for with each GPU of a resource: processor in thousandths, memory in bytes.
fn needs(picture: &ClusterPicture) -> BTreeMap<ResourceName, (u64, u64)> {
    let mut needs: BTreeMap<ResourceName, (u64, u64)> = BTreeMap::new();
    for pod in picture.gpu_pods.values() {
        let count: u64 = pod.requests.iter().map(|request| u64::from(request.count)).sum();
        let Some(first) = pod.requests.first().filter(|_| count > 0) else {
            continue;
        };
        let (cpu, memory) = (pod.host.cpu_millicores / count, pod.host.memory.0 / count);
        let need = needs.entry(first.resource.clone()).or_insert((cpu, memory));
        *need = (need.0.min(cpu), need.1.min(memory));
    }
    needs
}

/// Pods without a node.
struct Waiting {
    wanted: BTreeMap<ResourceName, u32>,
    slices: Vec<String>,
}

fn waiting(picture: &ClusterPicture) -> Waiting {
    let mut wanted: BTreeMap<ResourceName, u32> = BTreeMap::new();
    let mut slices = Vec::new();
    let pods = picture.gpu_pods.values().filter(|pod| pod.node.is_none());
    for request in pods.flat_map(|pod: &std::sync::Arc<GpuPod>| &pod.requests) {
        let least = wanted.entry(request.resource.clone()).or_insert(request.count);
        *least = (*least).min(request.count);
        if let RequestKind::MigSlice(profile) = &request.kind {
            slices.push(profile.to_string());
        }
    }
    slices.sort_unstable();
    slices.dedup();
    Waiting { wanted, slices }
}

fn room(
    node: &ClusterNode,
    taken: HostRequest,
    needs: &BTreeMap<ResourceName, (u64, u64)>,
    waiting: &Waiting,
) -> Room {
    let cpu = node.host.cpu_millicores.saturating_sub(taken.cpu_millicores);
    let memory = node.host.memory.0.saturating_sub(taken.memory.0);
    let fits = needs.iter().filter_map(|(resource, (need_cpu, need_memory))| {
        let by_cpu = cpu.checked_div(*need_cpu);
        let by_memory = memory.checked_div(*need_memory);
        let fit = match (by_cpu, by_memory) {
            (Some(cpu), Some(memory)) if memory < cpu => (memory, Detail::NoHostMemory),
            (Some(cpu), _) => (cpu, Detail::NoProcessor),
            (None, Some(memory)) => (memory, Detail::NoHostMemory),
            (None, None) => return None,
        };
        Some((resource.clone(), fit))
    });
    Room {
        has_unreadable: false,
        is_closed: node.is_cordoned || node.readiness == Readiness::NotReady,
        fits: fits.collect(),
        wanted: waiting.wanted.clone(),
        waits_for_slices: waiting.slices.clone(),
    }
}

//! What the cluster says and what exporters measured, joined into the fleet at one instant.
//!
//! Neither side is believed beyond what it knows: the API knows who asked for GPUs, the pages know what GPUs do and which
//! container the kubelet gave them to. A GPU whose page failed is not in the view; it never stands there with zeros.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{
    Attribution, CapacityType, Cloud, ClusterPicture, ContainerName, Device, DeviceId, FleetView, GpuPod,
    GpuReport, GpuView, Harvest, HolderHint, Node, NodeName, NodeView, Owner, PartReport, PartUsage,
    PartView, Partition, Pod, PodKey, PodPhase, PodRef, RequestKind, ResourceName, Source, Vendor,
};

/// The fleet, from a picture of the cluster and a round over its exporters.
pub(crate) fn join(picture: &ClusterPicture, harvest: Harvest) -> FleetView {
    let mut nodes: BTreeMap<NodeName, NodeView> = BTreeMap::new();
    // A node with GPUs whose exporter is silent is part of the fleet; what its GPUs do is not known.
    for (name, known) in &picture.nodes {
        if !known.gpu_capacity.is_empty() {
            nodes.insert(name.clone(), empty_node(known.node.clone()));
        }
    }
    let sole = sole_holders(picture, &harvest.gpus);
    for report in harvest.gpus {
        let known = picture.nodes.get(&report.node).map(|known| known.node.clone());
        let view = nodes
            .entry(report.node.clone())
            .or_insert_with(|| empty_node(known.unwrap_or_else(|| bare_node(&report.node))));
        let holder = sole.get(&report.node).copied();
        view.gpus.push(gpu(picture, report, holder));
    }
    let mut pending: Vec<Arc<Pod>> = picture
        .gpu_pods
        .values()
        .filter(|pod| pod.node.is_none() && !pod.is_terminating)
        .map(|pod| pod.pod.clone())
        .collect();
    pending.sort_by(|a, b| (a.created_at, &a.reference).cmp(&(b.created_at, &b.reference)));
    FleetView {
        cluster: picture.cluster.clone(),
        at: harvest.at,
        source: Source::Measured,
        nodes: nodes.into_values().collect(),
        pending,
    }
}

fn empty_node(node: Arc<Node>) -> NodeView {
    NodeView {
        node,
        gpus: Vec::new(),
    }
}

/// A host of which only its name is known.
fn bare_node(name: &NodeName) -> Arc<Node> {
    Arc::new(Node {
        name: name.clone(),
        cloud: Cloud::OnPremises,
        instance_type: None,
        region: None,
        zone: None,
        capacity_type: CapacityType::Owned,
        labels: BTreeMap::new(),
    })
}

fn gpu(picture: &ClusterPicture, report: GpuReport, sole: Option<&Arc<GpuPod>>) -> GpuView {
    let GpuReport {
        device,
        sample,
        parts,
        ..
    } = report;
    let parts = if parts.is_empty() {
        let whole = PartReport {
            partition: Partition::Whole,
            device_id: None,
            memory_total: sample.memory_total,
            // The one part is the GPU: what happens on it is what happens on the GPU.
            usage: PartUsage {
                utilization: sample.utilization,
                sm_active: sample.sm_active,
                memory_used: sample.memory_used,
                processes: sample.processes,
            },
            holder: None,
            attribution: Attribution::Sole,
        };
        let mut part = part(picture, &device, whole);
        part.owner = sole.map(|pod| owner_of(pod, None));
        vec![part]
    } else {
        parts
            .into_iter()
            .map(|report| part(picture, &device, report))
            .collect()
    };
    GpuView {
        device,
        sample,
        parts,
    }
}

fn part(picture: &ClusterPicture, device: &Device, report: PartReport) -> PartView {
    let usage = match report.attribution {
        Attribution::Own => report.usage,
        // A page that names one holder beside the figures of a shared GPU tells what the GPU does, not what the holder does.
        Attribution::Sole if shares(picture, report.holder.as_ref()) => PartUsage::default(),
        Attribution::Sole => report.usage,
        Attribution::Repeated => PartUsage::default(),
    };
    let owner = report.holder.as_ref().map(|hint| owner(picture, hint));
    let resource = owner
        .as_ref()
        .map(|owner| owner.pod.resource.clone())
        .unwrap_or_else(|| resource(device.vendor, &report.partition));
    let own_id = || DeviceId::new(device.uuid.as_str()).expect("a GPU's uuid is a valid id");
    PartView {
        device_id: report.device_id.unwrap_or_else(own_id),
        resource,
        memory_total: report.memory_total,
        usage,
        partition: report.partition,
        owner,
    }
}

/// Whether the holder asked for a share of a GPU, and so may not be alone on it.
fn shares(picture: &ClusterPicture, hint: Option<&HolderHint>) -> bool {
    let pod = hint.and_then(|hint| picture.gpu_pods.get(&key(hint)));
    pod.is_some_and(|pod| {
        let is_share = |kind: &RequestKind| {
            matches!(
                kind,
                RequestKind::Shared
                    | RequestKind::HamiMemory
                    | RequestKind::HamiMemoryPercent
                    | RequestKind::HamiCores
            )
        };
        pod.requests.iter().any(|request| is_share(&request.kind))
    })
}

fn key(hint: &HolderHint) -> PodKey {
    PodKey {
        namespace: hint.namespace.clone(),
        name: hint.pod.clone(),
    }
}

/// The holder that a page names, with what the cluster knows of it.
fn owner(picture: &ClusterPicture, hint: &HolderHint) -> Owner {
    let same = |pod: &&Arc<GpuPod>| match (&hint.uid, &pod.pod.reference.uid) {
        // The same name with another uid is another pod: the page is older than the picture, or the other way round.
        (Some(page), Some(cluster)) => page == cluster,
        (Some(_) | None, _) => true,
    };
    match picture.gpu_pods.get(&key(hint)).filter(same) {
        Some(pod) => owner_of(pod, hint.container.as_ref()),
        None => stranger(hint),
    }
}

fn owner_of(pod: &Arc<GpuPod>, container: Option<&ContainerName>) -> Owner {
    let container = container
        .cloned()
        .or_else(|| pod.requests.first().map(|request| request.container.clone()));
    Owner {
        pod: pod.pod.clone(),
        container: container.unwrap_or_else(unnamed),
    }
}

/// A pod that the cluster's picture does not have: it has just gone, or uses a GPU that it never asked for.
fn stranger(hint: &HolderHint) -> Owner {
    let pod = Pod {
        reference: PodRef {
            namespace: hint.namespace.clone(),
            name: hint.pod.clone(),
            uid: hint.uid.clone(),
        },
        owners: Vec::new(),
        labels: BTreeMap::new(),
        resource: ResourceName::new("unknown").expect("a valid name"),
        count: 0,
        phase: PodPhase::Running,
        created_at: None,
        started_at: None,
    };
    Owner {
        pod: Arc::new(pod),
        container: hint.container.clone().unwrap_or_else(unnamed),
    }
}

fn unnamed() -> ContainerName {
    ContainerName::new("unknown").expect("a valid name")
}

/// The one pod that must hold every GPU of its node, for pages that name no holders: it asked for as many as there are.
///
/// With two pods on a node such a page cannot tell whose GPU is idle, and then nobody is named.
fn sole_holders<'a>(
    picture: &'a ClusterPicture,
    reports: &[GpuReport],
) -> BTreeMap<NodeName, &'a Arc<GpuPod>> {
    let mut silent: BTreeMap<&NodeName, u32> = BTreeMap::new();
    for report in reports {
        let count = silent.entry(&report.node).or_default();
        *count = match (*count, report.parts.is_empty()) {
            (u32::MAX, _) | (_, false) => u32::MAX,
            (count, true) => count + 1,
        };
    }
    let mut wanted: BTreeMap<&NodeName, (u32, Option<&Arc<GpuPod>>)> = BTreeMap::new();
    for pod in picture.gpu_pods.values() {
        if let Some(node) = &pod.node {
            let (pods, last) = wanted.entry(node).or_default();
            *pods += 1;
            *last = Some(pod);
        }
    }
    let mut sole = BTreeMap::new();
    for (node, gpus) in silent {
        if let Some((1, Some(pod))) = wanted.get(node)
            && whole_gpus(pod) == Some(gpus)
        {
            sole.insert(node.clone(), *pod);
        }
    }
    sole
}

/// How many whole GPUs a pod asked for; none when it asked for anything else.
fn whole_gpus(pod: &GpuPod) -> Option<u32> {
    pod.requests
        .iter()
        .try_fold(0u32, |sum, request| match request.kind {
            RequestKind::Whole(_) => sum.checked_add(request.count),
            RequestKind::MigSlice(_)
            | RequestKind::Shared
            | RequestKind::AmdPartition(_)
            | RequestKind::HamiMemory
            | RequestKind::HamiMemoryPercent
            | RequestKind::HamiCores
            | RequestKind::Claim(_) => None,
        })
}

/// The resource under which a part that nobody holds would be asked for.
fn resource(vendor: Vendor, partition: &Partition) -> ResourceName {
    let name = match (vendor, partition) {
        (Vendor::Nvidia, Partition::MigSlice { profile, .. }) => format!("nvidia.com/mig-{profile}"),
        (Vendor::Nvidia, Partition::TimeShared { .. }) => "nvidia.com/gpu.shared".to_owned(),
        (Vendor::Nvidia, _) => "nvidia.com/gpu".to_owned(),
        (Vendor::Amd, _) => "amd.com/gpu".to_owned(),
        (Vendor::Intel, _) => "gpu.intel.com/xe".to_owned(),
    };
    ResourceName::new(name).expect("a valid name")
}

#[cfg(test)]
mod tests;

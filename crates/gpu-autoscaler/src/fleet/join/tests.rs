//! Who is named as the holder of which GPU, and who is not.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{
    Attribution, CapacityType, Cloud, ClusterId, ClusterNode, ClusterPicture, Device, GpuIndex, GpuPod,
    GpuReport, GpuRequest, GpuSample, Harvest, HolderHint, HostRequest, MachineId, Node, PartReport,
    PartUsage, Partition, Permille, Pod, PodPhase, PodRef, PodSettings, PodUid, Readiness, Reading,
    RequestKind, ResourceName, Vendor,
};
use jiff::Timestamp;

use super::join;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn picture(pods: &[GpuPod]) -> ClusterPicture {
    let mut picture = ClusterPicture::empty(ClusterId::new("test").unwrap(), NOW);
    let resource = ResourceName::new("nvidia.com/gpu").unwrap();
    let node = ClusterNode {
        node: Arc::new(Node {
            name: "n1".parse().unwrap(),
            cloud: Cloud::Aws,
            instance_type: Some("p5.48xlarge".to_owned()),
            region: None,
            zone: None,
            capacity_type: CapacityType::Spot,
            labels: BTreeMap::new(),
        }),
        uid: "u".to_owned(),
        machine: MachineId::new("i-1").unwrap(),
        created_at: NOW,
        readiness: Readiness::Ready,
        is_cordoned: false,
        taints: Vec::new(),
        host: HostRequest::default(),
        gpus: BTreeMap::from([(resource.clone(), 2)]),
        gpu_capacity: BTreeMap::from([(resource, 2)]),
    };
    picture.nodes.insert("n1".parse().unwrap(), Arc::new(node));
    for pod in pods {
        picture.gpu_pods.insert(pod.key(), Arc::new(pod.clone()));
    }
    picture
}

fn pod(name: &str, count: u32, kind: RequestKind, node: Option<&str>) -> GpuPod {
    let resource = ResourceName::new("nvidia.com/gpu").unwrap();
    GpuPod {
        pod: Arc::new(Pod {
            reference: PodRef {
                namespace: "ml".parse().unwrap(),
                name: name.parse().unwrap(),
                uid: Some(PodUid::new(format!("uid-{name}")).unwrap()),
            },
            owners: Vec::new(),
            labels: BTreeMap::new(),
            resource: resource.clone(),
            count,
            phase: if node.is_some() {
                PodPhase::Running
            } else {
                PodPhase::Pending
            },
            created_at: Some(NOW),
            started_at: None,
        }),
        node: node.map(|node| node.parse().unwrap()),
        requests: vec![GpuRequest {
            container: "main".parse().unwrap(),
            resource,
            count,
            kind,
        }],
        host: HostRequest::default(),
        is_ready: true,
        is_terminating: false,
        waiting_reason: None,
        restarts: 0,
        workload: None,
        settings: PodSettings::default(),
    }
}

fn whole(name: &str, count: u32) -> GpuPod {
    pod(name, count, RequestKind::Whole(Vendor::Nvidia), Some("n1"))
}

fn report(index: u16, parts: Vec<PartReport>) -> GpuReport {
    GpuReport {
        node: "n1".parse().unwrap(),
        device: Arc::new(Device {
            uuid: format!("GPU-{index}").parse().unwrap(),
            index: GpuIndex(index),
            vendor: Vendor::Nvidia,
            model: "NVIDIA L4".to_owned(),
            driver: None,
            pci_address: None,
        }),
        taken_at: NOW,
        sample: GpuSample {
            utilization: Reading::Known(Permille::clamped(700)),
            ..GpuSample::default()
        },
        parts,
    }
}

fn held_by(name: &str, uid: Option<&str>, attribution: Attribution) -> PartReport {
    PartReport {
        partition: Partition::Whole,
        device_id: None,
        memory_total: Reading::Unsupported,
        usage: PartUsage {
            utilization: Reading::Known(Permille::clamped(700)),
            ..PartUsage::default()
        },
        holder: Some(HolderHint {
            namespace: "ml".parse().unwrap(),
            pod: name.parse().unwrap(),
            uid: uid.map(|uid| uid.parse().unwrap()),
            container: None,
        }),
        attribution,
    }
}

/// The holders and utilisations of the GPUs of the one node, in words.
#[track_caller]
fn check(pods: &[GpuPod], gpus: Vec<GpuReport>, expected: &[&str]) {
    let harvest = Harvest {
        at: NOW,
        gpus,
        targets: Vec::new(),
    };
    let view = join(&picture(pods), harvest);
    let words = |part: &gpu_model::PartView| {
        let busy = part
            .usage
            .utilization
            .known()
            .map_or_else(|| "?".to_owned(), |busy| busy.to_string());
        let owner = part.owner.as_ref().map_or_else(
            || "nobody".to_owned(),
            |owner| match &owner.pod.reference.uid {
                Some(uid) => format!("{} {uid}", owner.pod.reference.name),
                None => owner.pod.reference.name.to_string(),
            },
        );
        format!("{owner} {busy}")
    };
    let found: Vec<String> = view.nodes[0]
        .gpus
        .iter()
        .flat_map(|gpu| &gpu.parts)
        .map(words)
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_holder_on_the_page_is_the_pod_of_the_cluster() {
    let page = vec![report(0, vec![held_by("a", None, Attribution::Own)])];
    check(&[whole("a", 1)], page, &["a uid-a 70.0%"]);
}

#[test]
fn a_pod_that_came_back_under_its_name_is_another_one() {
    let page = vec![report(0, vec![held_by("a", Some("old"), Attribution::Own)])];
    check(&[whole("a", 1)], page, &["a old 70.0%"]);
}

#[test]
fn a_pod_that_the_cluster_does_not_know_keeps_the_name_of_the_page() {
    check(
        &[],
        vec![report(0, vec![held_by("x", None, Attribution::Own)])],
        &["x 70.0%"],
    );
}

#[test]
fn figures_of_a_shared_gpu_are_not_taken_for_one_holders_own() {
    let page = vec![report(0, vec![held_by("a", None, Attribution::Sole)])];
    check(
        &[pod("a", 1, RequestKind::Shared, Some("n1"))],
        page.clone(),
        &["a uid-a ?"],
    );
    check(&[whole("a", 1)], page, &["a uid-a 70.0%"]);
}

#[test]
fn repeated_figures_belong_to_nobody() {
    let page = vec![report(0, vec![held_by("a", None, Attribution::Repeated)])];
    check(&[whole("a", 1)], page, &["a uid-a ?"]);
}

#[test]
fn without_holders_on_the_page_only_a_pod_that_has_the_whole_node_is_named() {
    let page = || vec![report(0, Vec::new()), report(1, Vec::new())];
    check(&[whole("a", 2)], page(), &["a uid-a 70.0%", "a uid-a 70.0%"]);
    check(&[whole("a", 1)], page(), &["nobody 70.0%", "nobody 70.0%"]);
    check(
        &[whole("a", 1), whole("b", 1)],
        page(),
        &["nobody 70.0%", "nobody 70.0%"],
    );
}

#[test]
fn a_node_whose_exporter_is_silent_is_there_without_gpus_and_waiting_pods_are_listed() {
    let waiting = pod("w", 1, RequestKind::Whole(Vendor::Nvidia), None);
    let harvest = Harvest {
        at: NOW,
        gpus: Vec::new(),
        targets: Vec::new(),
    };
    let view = join(&picture(&[waiting]), harvest);
    assert_eq!(
        (view.nodes.len(), view.nodes[0].gpus.len(), view.pending.len()),
        (1, 0, 1)
    );
}

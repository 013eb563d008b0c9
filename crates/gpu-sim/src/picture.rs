//! The fleet as the API of its cluster would tell of it: who asked for what, and what owners declared.
//!
//! A declaration is an owner's word. Whoever keeps a service warm on purpose says so, and some say so who no longer do.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{
    Bytes, ClusterId, ClusterNode, ClusterPicture, GpuPod, GpuRequest, HostRequest, MachineId,
    MigProfileName, Node, NodeName, OwnerRef, Pod, PodSettings, Readiness, RequestKind, Vendor,
    Workload as Maker,
};
use jiff::{SignedDuration, Timestamp};

use crate::fates::Fate;
use crate::noise::{Dice, Question};
use crate::streams::{State, Stream};
use crate::truth::{Condition, WorkloadKind};
use crate::world::World;

const DECLARED: Question = 1101;
const EXEMPT: Question = 1102;
const EXEMPT_FOR: Question = 1103;
const OPTED_OUT: Question = 1104;
const REFUSED: Question = 1105;
const CROWDED: Question = 1106;

/// What a pod asks of the host for each of its GPUs.
const CORES_PER_GPU: u64 = 4_000;
const GIB_PER_GPU: u64 = 24;

pub(crate) fn picture(world: &World) -> ClusterPicture {
    let cluster = ClusterId::new("simulated").expect("a valid id");
    let mut picture = ClusterPicture::empty(cluster, world.now());
    for (number, machine) in (0u64..).zip(&world.hardware.machines) {
        let gpus = machine.gpus.len();
        let mut offered = BTreeMap::new();
        for gpu in &world.hardware.gpus[machine.gpus.clone()] {
            for slot in &world.hardware.slots[gpu.slots.clone()] {
                *offered.entry(slot.resource.clone()).or_insert(0) += 1;
            }
        }
        let host = capacity(gpus);
        let name = machine.node.name.clone();
        if is_crowded(world.dice, number) {
            picture.other_pods.insert(name.clone(), crowd(host));
        }
        let node = cluster_node(&machine.node, number, host, offered, world.now());
        picture.nodes.insert(name, Arc::new(node));
    }
    for stream in &world.streams {
        add_pods(&mut picture, world, stream);
    }
    picture
}

fn capacity(gpus: usize) -> HostRequest {
    let gpus = u64::try_from(gpus).unwrap_or(u64::MAX);
    HostRequest {
        // Seven parts of a sliced GPU ask like seven GPUs, so there is room for as many.
        cpu_millicores: gpus * 8 * CORES_PER_GPU,
        memory: Bytes::from_gib(gpus * 8 * GIB_PER_GPU),
        pods: 110,
    }
}

/// One machine in sixteen has been filled with work that needs no GPU.
fn is_crowded(world: Dice, machine: u64) -> bool {
    world.of(CROWDED, machine).chance(CROWDED, 0, 63)
}

fn crowd(host: HostRequest) -> HostRequest {
    HostRequest {
        cpu_millicores: host.cpu_millicores,
        memory: Bytes(host.memory.0 / 2),
        pods: 60,
    }
}

fn cluster_node(
    node: &Arc<Node>,
    number: u64,
    host: HostRequest,
    offered: BTreeMap<gpu_model::ResourceName, u32>,
    now: Timestamp,
) -> ClusterNode {
    ClusterNode {
        node: node.clone(),
        uid: format!("node-{number}"),
        machine: MachineId::new(format!("i-{number:08x}")).expect("a valid id"),
        created_at: now,
        readiness: Readiness::Ready,
        is_cordoned: false,
        taints: Vec::new(),
        host,
        gpus: offered.clone(),
        gpu_capacity: offered,
    }
}

fn add_pods(picture: &mut ClusterPicture, world: &World, stream: &Stream) {
    match &stream.state {
        State::Away => {}
        State::Waiting(waiting) => {
            for pod in &waiting.pods {
                let told = Told {
                    kind: stream.demand.kind,
                    fate: waiting.draft.script.fate,
                    dice: waiting.draft.script.dice,
                    condition: Condition::WarmingUp,
                };
                insert(picture, stream, pod, None, &told, world);
            }
        }
        State::Running(workload) => {
            for placed in &workload.pods {
                let machine = world.hardware.slots[placed.slots[0] as usize].machine;
                let node = &world.hardware.machines[machine as usize].node.name;
                let told = Told {
                    kind: workload.script.kind,
                    fate: workload.script.fate,
                    dice: workload.script.dice,
                    condition: workload.condition,
                };
                insert(picture, stream, &placed.pod, Some(node.clone()), &told, world);
            }
        }
    }
}

/// What decides what an owner and a kubelet say.
struct Told {
    kind: WorkloadKind,
    fate: Fate,
    dice: Dice,
    condition: Condition,
}

fn insert(
    picture: &mut ClusterPicture,
    stream: &Stream,
    pod: &Arc<Pod>,
    node: Option<NodeName>,
    told: &Told,
    world: &World,
) {
    let gpus = u64::from(pod.count);
    let request = GpuRequest {
        container: stream.container.clone(),
        resource: pod.resource.clone(),
        count: pod.count,
        kind: request_kind(pod.resource.as_str()),
    };
    let does_not_start = told.fate == Fate::NeverStarts
        && told.kind != WorkloadKind::Notebook
        && told.dice.chance(REFUSED, 0, 400);
    let gpu_pod = GpuPod {
        pod: pod.clone(),
        node,
        requests: vec![request],
        host: HostRequest {
            cpu_millicores: gpus * CORES_PER_GPU,
            memory: Bytes::from_gib(gpus * GIB_PER_GPU),
            pods: 1,
        },
        is_ready: told.condition != Condition::WarmingUp && !does_not_start,
        is_terminating: false,
        waiting_reason: does_not_start.then(|| "ImagePullBackOff".to_owned()),
        restarts: 0,
        workload: pod.workload().map(|owner| maker(owner, told.kind)),
        settings: settings(pod, told, world.now()),
    };
    picture.gpu_pods.insert(gpu_pod.key(), Arc::new(gpu_pod));
}

fn settings(pod: &Pod, told: &Told, now: Timestamp) -> PodSettings {
    let dice = told.dice;
    let declared = match (told.kind, told.fate) {
        (_, Fate::StandsBy) => Some("standby"),
        (WorkloadKind::Inference, _) if dice.chance(DECLARED, 0, 15) => Some("standby"),
        (WorkloadKind::Inference, _) if dice.chance(DECLARED, 1, 300) => Some("inference"),
        (WorkloadKind::Training, _) if dice.chance(DECLARED, 0, 300) => Some("training"),
        _ => None,
    };
    let started = pod.started_at.unwrap_or(now);
    let exempt = dice.chance(EXEMPT, 0, 40).then(|| {
        let hours = dice.between(EXEMPT_FOR, 0, 1, 48);
        started
            .checked_add(SignedDuration::from_hours(hours))
            .unwrap_or(now)
    });
    PodSettings {
        is_opted_out: dice.chance(OPTED_OUT, 0, 20),
        exempt_until: exempt,
        workload_type: declared.map(str::to_owned),
        ..PodSettings::default()
    }
}

fn maker(owner: &OwnerRef, kind: WorkloadKind) -> Maker {
    let api_version = match kind {
        WorkloadKind::Training | WorkloadKind::Notebook => "kubeflow.org/v1",
        WorkloadKind::Inference => "apps/v1",
        WorkloadKind::Batch => "batch/v1",
        WorkloadKind::WorkflowStep => "argoproj.io/v1alpha1",
    };
    Maker {
        api_version: api_version.to_owned(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: format!("{}-{}", owner.kind, owner.name),
        replicas: None,
        is_served: Some(kind == WorkloadKind::Inference),
    }
}

fn request_kind(resource: &str) -> RequestKind {
    match resource.split_once('/') {
        Some(("nvidia.com", "gpu.shared")) => RequestKind::Shared,
        Some(("nvidia.com", slice)) if slice.starts_with("mig-") => {
            RequestKind::MigSlice(MigProfileName::new(&slice[4..]).expect("profile names are valid"))
        }
        Some(("amd.com", "gpu")) => RequestKind::Whole(Vendor::Amd),
        Some(("amd.com", partition)) => RequestKind::AmdPartition(partition.to_owned()),
        _ => RequestKind::Whole(Vendor::Nvidia),
    }
}

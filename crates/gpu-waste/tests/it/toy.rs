//! Small fleets by hand: a node, some GPUs, a reading at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpu_model::{
    Bytes, CapacityType, Cloud, ClusterId, ClusterNode, ClusterPicture, ContainerName, Device, DeviceId,
    FaultCount, FleetView, GpuIndex, GpuModel, GpuPod, GpuRequest, GpuSample, GpuUuid, GpuView, HostRequest,
    MachineId, Megahertz, Milliwatts, Namespace, NanoUsd, Node, NodeName, NodeView, Owner, OwnerRef,
    PartUsage, PartView, Partition, Permille, Pod, PodName, PodPhase, PodRef, PodSettings, PodUid, Readiness,
    Reading, RequestKind, ResourceName, Source, ThrottleReason, ThrottleTime, Vendor, Workload,
};
use gpu_waste::{GpuRate, Report, Settings, Surroundings, WindowSettings, Windows, detect};
use jiff::{SignedDuration, Timestamp};

pub(crate) const H100: &str = "NVIDIA H100 80GB HBM3";
pub(crate) const A100: &str = "NVIDIA A100-SXM4-80GB";
pub(crate) const L4: &str = "NVIDIA L4";

/// One GPU at one instant.
#[derive(Debug, Clone)]
pub(crate) struct Gpu {
    pub(crate) name: &'static str,
    pub(crate) model: &'static str,
    pub(crate) utilization: Option<u16>,
    pub(crate) busy: Option<u64>,
    pub(crate) sm: Option<u16>,
    pub(crate) dram: Option<u16>,
    pub(crate) memory_mib: Option<u64>,
    pub(crate) watts: Option<u32>,
    pub(crate) processes: Option<u32>,
    pub(crate) received_mib: Option<u64>,
    pub(crate) faults: Vec<(u32, u64)>,
    pub(crate) hot_seconds: u64,
    pub(crate) clock: Option<u32>,
    pub(crate) pod: Option<PodSpec>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodSpec {
    pub(crate) name: &'static str,
    pub(crate) owner: Option<(&'static str, &'static str)>,
    /// Minutes before the first look.
    pub(crate) age: i64,
}

pub(crate) fn pod(name: &'static str, kind: &'static str, owner: &'static str) -> Option<PodSpec> {
    Some(PodSpec {
        name,
        owner: Some((kind, owner)),
        age: 600,
    })
}

impl Gpu {
    /// At rest, with nothing on it and nobody who holds it.
    pub(crate) fn free(name: &'static str, model: &'static str) -> Self {
        let watts = GpuModel::find(model).map(|model| model.idle.0 / 1000);
        Self {
            name,
            model,
            utilization: Some(0),
            busy: None,
            sm: None,
            dram: None,
            memory_mib: Some(0),
            watts,
            processes: Some(0),
            received_mib: None,
            faults: Vec::new(),
            hot_seconds: 0,
            clock: None,
            pod: None,
        }
    }

    /// Held with this much memory and no work.
    pub(crate) fn idle(
        name: &'static str,
        model: &'static str,
        memory_mib: u64,
        pod: Option<PodSpec>,
    ) -> Self {
        Self {
            memory_mib: Some(memory_mib),
            processes: Some(1),
            pod,
            ..Self::free(name, model)
        }
    }

    /// At work, with a draw that goes with it.
    pub(crate) fn busy(
        name: &'static str,
        model: &'static str,
        utilization: u16,
        pod: Option<PodSpec>,
    ) -> Self {
        let (idle, max) =
            GpuModel::find(model).map_or((0, 0), |model| (model.idle.0 / 1000, model.max.0 / 1000));
        let memory = GpuModel::find(model).map_or(0, |model| model.memory.whole_mib() * 8 / 10);
        Self {
            utilization: Some(utilization),
            memory_mib: Some(memory),
            watts: Some(idle + (max - idle) * u32::from(utilization) / 1000),
            processes: Some(1),
            pod,
            ..Self::free(name, model)
        }
    }

    fn view(&self, at: i64) -> GpuView {
        let model = GpuModel::find(self.model);
        let uuid = GpuUuid::new(self.name).expect("valid in tests");
        let sample = GpuSample {
            utilization: share(self.utilization),
            sm_active: share(self.sm),
            dram_active: share(self.dram),
            memory_used: known(self.memory_mib.map(Bytes::from_mib)),
            memory_total: known(model.map(|model| model.memory)),
            power: known(self.watts.map(Milliwatts::from_watts)),
            power_limit: known(model.map(|model| model.max)),
            busy: known(self.busy.map(Duration::from_millis)),
            pcie_received: known(self.received_mib.map(Bytes::from_mib)),
            pcie_sent: known(self.received_mib.map(|_| Bytes(0))),
            processes: known(self.processes),
            compute_clock: known(self.clock.map(Megahertz)),
            throttle_times: vec![ThrottleTime {
                reason: ThrottleReason::Thermal,
                total: Duration::from_secs(self.hot_seconds),
            }],
            faults: self
                .faults
                .iter()
                .map(|(code, count)| FaultCount {
                    code: *code,
                    count: *count,
                })
                .collect(),
            ..GpuSample::default()
        };
        let part = PartView {
            partition: Partition::Whole,
            device_id: DeviceId::new(self.name).expect("valid in tests"),
            resource: ResourceName::new("nvidia.com/gpu").expect("valid in tests"),
            memory_total: sample.memory_total,
            usage: PartUsage::default(),
            owner: self.pod.as_ref().map(|pod| pod.owner(at)),
        };
        GpuView {
            device: Arc::new(Device {
                uuid,
                index: GpuIndex(0),
                vendor: model.map_or(Vendor::Nvidia, |model| model.vendor),
                model: self.model.to_owned(),
                driver: None,
                pci_address: None,
            }),
            sample,
            parts: vec![part],
        }
    }
}

impl PodSpec {
    fn pod(&self, at: i64) -> Pod {
        let start = Timestamp::from_second(START - self.age * 60).expect("valid in tests");
        let owners = self.owner.map(|(kind, name)| OwnerRef {
            kind: kind.to_owned(),
            name: name.to_owned(),
        });
        assert!(at >= 0);
        Pod {
            reference: PodRef {
                namespace: Namespace::new("ml").expect("valid in tests"),
                name: PodName::new(self.name).expect("valid in tests"),
                uid: Some(PodUid::new(format!("uid-{}", self.name)).expect("valid in tests")),
            },
            owners: owners.into_iter().collect(),
            labels: BTreeMap::new(),
            resource: ResourceName::new("nvidia.com/gpu").expect("valid in tests"),
            count: 1,
            phase: PodPhase::Running,
            created_at: Some(start),
            started_at: Some(start),
        }
    }

    fn owner(&self, at: i64) -> Owner {
        Owner {
            pod: Arc::new(self.pod(at)),
            container: ContainerName::new("main").expect("valid in tests"),
        }
    }
}

fn share(value: Option<u16>) -> Reading<Permille> {
    known(value.map(Permille::clamped))
}

fn known<T>(value: Option<T>) -> Reading<T> {
    value.map_or(Reading::Unsupported, Reading::Known)
}

/// Monday, 5 January 2026, 08:00 UTC.
pub(crate) const START: i64 = 1_767_600_000;

pub(crate) fn instant(cycle: u32) -> Timestamp {
    Timestamp::from_second(START).expect("valid in tests") + SignedDuration::from_secs(30 * i64::from(cycle))
}

pub(crate) fn view(cycle: u32, gpus: &[Gpu]) -> FleetView {
    FleetView {
        cluster: ClusterId::new("test").expect("valid in tests"),
        at: instant(cycle),
        source: Source::Measured,
        nodes: vec![NodeView {
            node: Arc::new(node()),
            gpus: gpus.iter().map(|gpu| gpu.view(i64::from(cycle))).collect(),
        }],
        pending: Vec::new(),
    }
}

fn node() -> Node {
    Node {
        name: NodeName::new("n1").expect("valid in tests"),
        cloud: Cloud::Aws,
        instance_type: None,
        region: None,
        zone: None,
        capacity_type: CapacityType::OnDemand,
        labels: BTreeMap::new(),
    }
}

/// The windows after so many cycles of a script.
pub(crate) fn watched(cycles: u32, script: impl Fn(u32) -> Vec<Gpu>) -> Windows {
    let mut windows = Windows::new(WindowSettings::default());
    for cycle in 0..cycles {
        windows.observe(&view(cycle, &script(cycle)));
    }
    windows
}

/// The report at the end of a script, with a picture or without.
pub(crate) fn report(
    cycles: u32,
    picture: Option<&ClusterPicture>,
    script: impl Fn(u32) -> Vec<Gpu>,
) -> Report {
    let windows = watched(cycles, script);
    report_of(&windows, picture, instant(cycles - 1))
}

pub(crate) fn report_of(windows: &Windows, picture: Option<&ClusterPicture>, now: Timestamp) -> Report {
    let rate = GpuRate {
        per_gpu_hour: Some(NanoUsd(2_000_000_000)),
        note: "list price of a test".to_owned(),
    };
    let rates = BTreeMap::from([(NodeName::new("n1").expect("valid in tests"), rate)]);
    let surroundings = Surroundings {
        picture,
        rates: &rates,
        patterns: None,
    };
    detect(windows, &surroundings, &Settings::default(), now)
}

/// `cause subject` of every finding, in the order of the report.
pub(crate) fn causes(report: &Report) -> Vec<&'static str> {
    report
        .findings
        .iter()
        .map(|finding| finding.cause.as_str())
        .collect()
}

/// A picture with one node of so much processor, and the pods with their settings.
pub(crate) fn picture(cycle: u32, cpu_millicores: u64, pods: Vec<(PodSpec, PodSettings)>) -> ClusterPicture {
    let mut picture = ClusterPicture::empty(ClusterId::new("test").expect("valid in tests"), instant(cycle));
    let name = NodeName::new("n1").expect("valid in tests");
    let offered = BTreeMap::from([(ResourceName::new("nvidia.com/gpu").expect("valid in tests"), 8)]);
    let node = ClusterNode {
        node: Arc::new(node()),
        uid: "n1".to_owned(),
        machine: MachineId::new("i-1").expect("valid in tests"),
        created_at: instant(0),
        readiness: Readiness::Ready,
        is_cordoned: false,
        taints: Vec::new(),
        host: HostRequest {
            cpu_millicores,
            memory: Bytes::from_gib(512),
            pods: 110,
        },
        gpus: offered.clone(),
        gpu_capacity: offered,
    };
    picture.nodes.insert(name.clone(), Arc::new(node));
    for (spec, settings) in pods {
        let pod = gpu_pod(&spec, &name, settings);
        picture.gpu_pods.insert(pod.key(), Arc::new(pod));
    }
    picture
}

fn gpu_pod(spec: &PodSpec, node: &NodeName, settings: PodSettings) -> GpuPod {
    let workload = spec.owner.map(|(kind, name)| Workload {
        api_version: match kind {
            "Deployment" => "apps/v1".to_owned(),
            _ => "batch/v1".to_owned(),
        },
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: "w".to_owned(),
        replicas: (kind == "Deployment").then_some(3),
        is_served: Some(kind == "Deployment"),
    });
    GpuPod {
        pod: Arc::new(spec.pod(0)),
        node: Some(node.clone()),
        requests: vec![GpuRequest {
            container: ContainerName::new("main").expect("valid in tests"),
            resource: ResourceName::new("nvidia.com/gpu").expect("valid in tests"),
            count: 1,
            kind: RequestKind::Whole(Vendor::Nvidia),
        }],
        host: HostRequest {
            cpu_millicores: 4000,
            memory: Bytes::from_gib(16),
            pods: 1,
        },
        is_ready: true,
        is_terminating: false,
        waiting_reason: None,
        restarts: 0,
        workload,
        settings,
    }
}

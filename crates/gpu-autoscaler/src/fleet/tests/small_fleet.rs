//! One node with four GPUs and a waiting pod, written by hand so that every kind of reading appears.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpu_model::Reading::{Failed, Known, Unsupported};
use gpu_model::{
    Bytes, CapacityType, Celsius, Cloud, ClusterId, ContainerName, Device, DeviceId, FaultCount, FleetView,
    GpuIndex, GpuSample, GpuUuid, GpuView, Megahertz, MigProfileName, Millijoules, Milliwatts, Namespace,
    Node, NodeName, NodeView, Owner, PartUsage, PartView, Partition, PciAddress, Permille, Pod, PodName,
    PodPhase, PodRef, Reading, ResourceName, Source, ThrottleReason, ThrottleTime, Vendor,
};

pub(super) fn small_fleet() -> FleetView {
    let trainer = Owner {
        pod: pod("vision", "trainer-0", PodPhase::Running),
        container: container("main"),
    };
    let notebook = Owner {
        pod: pod("research", "notebook-7", PodPhase::Running),
        container: container("jupyter"),
    };
    let busy = gpu(
        0,
        "GPU-busy",
        busy_sample(),
        vec![whole("GPU-busy", 870, Some(trainer))],
    );
    let free = gpu(1, "GPU-free", free_sample(), vec![whole("GPU-free", 0, None)]);
    let slices = vec![slice(9, Some(notebook)), slice(10, None)];
    let sliced = gpu(
        2,
        "GPU-sliced",
        GpuSample {
            utilization: Unsupported,
            ..free_sample()
        },
        slices,
    );
    let silent = gpu(3, "GPU-silent", silent_sample(), vec![]);
    FleetView {
        cluster: ClusterId::new("demo").unwrap(),
        at: "2026-01-05T08:00:00Z".parse().unwrap(),
        source: Source::Simulated,
        nodes: vec![NodeView {
            node: Arc::new(node()),
            gpus: vec![busy, free, sliced, silent],
        }],
        pending: vec![pod("vision", "trainer-1", PodPhase::Pending)],
    }
}

fn node() -> Node {
    Node {
        name: NodeName::new("h100-a").unwrap(),
        cloud: Cloud::Aws,
        instance_type: Some("p5.48xlarge".to_owned()),
        region: Some("us-east-1".to_owned()),
        zone: Some("us-east-1a".to_owned()),
        capacity_type: CapacityType::Spot,
        labels: BTreeMap::from([("gpu-autoscaler.io/node-pool".to_owned(), "training".to_owned())]),
    }
}

fn gpu(index: u16, uuid: &str, sample: GpuSample, parts: Vec<PartView>) -> GpuView {
    let device = Device {
        uuid: GpuUuid::new(uuid).unwrap(),
        index: GpuIndex(index),
        vendor: Vendor::Nvidia,
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        driver: Some("570.124.06".to_owned()),
        pci_address: Some(PciAddress::new(format!("0000:{index:02x}:00.0")).unwrap()),
    };
    GpuView {
        device: Arc::new(device),
        sample,
        parts,
    }
}

fn share(thousandths: u16) -> Reading<Permille> {
    Known(Permille::new(thousandths).unwrap())
}

fn busy_sample() -> GpuSample {
    GpuSample {
        utilization: share(873),
        memory_bandwidth: share(410),
        sm_active: share(702),
        sm_occupancy: share(333),
        tensor_active: share(250),
        dram_active: share(395),
        memory_used: Known(Bytes::from_mib(61_440)),
        memory_total: Known(Bytes::from_mib(81_559)),
        power: Known(Milliwatts(612_345)),
        power_limit: Known(Milliwatts::from_watts(700)),
        energy: Known(Millijoules(123_456_789)),
        temperature: Known(Celsius(71)),
        memory_temperature: Known(Celsius(80)),
        compute_clock: Known(Megahertz(1980)),
        memory_clock: Known(Megahertz(2619)),
        busy: Known(Duration::from_millis(98_765_500)),
        pcie_received: Known(Bytes(9_007_199_254_740_993)),
        pcie_sent: Known(Bytes(4096)),
        processes: Known(1),
        ecc_uncorrected: Known(0),
        row_remap_failed: Known(false),
        row_remap_pending: Known(false),
        throttled_by: Known(vec![ThrottleReason::PowerCap]),
        throttle_times: vec![ThrottleTime {
            reason: ThrottleReason::PowerCap,
            total: Duration::from_millis(1500),
        }],
        faults: vec![FaultCount { code: 63, count: 2 }],
    }
}

fn free_sample() -> GpuSample {
    GpuSample {
        utilization: share(0),
        memory_used: Known(Bytes::from_mib(4)),
        memory_total: Known(Bytes::from_mib(81_559)),
        power: Known(Milliwatts::from_watts(71)),
        power_limit: Known(Milliwatts::from_watts(700)),
        temperature: Known(Celsius(29)),
        processes: Known(0),
        ..GpuSample::default()
    }
}

fn silent_sample() -> GpuSample {
    GpuSample {
        utilization: Failed,
        memory_bandwidth: Failed,
        memory_used: Failed,
        memory_total: Failed,
        power: Failed,
        power_limit: Failed,
        temperature: Failed,
        compute_clock: Failed,
        memory_clock: Failed,
        ..GpuSample::default()
    }
}

fn whole(uuid: &str, utilization: u16, owner: Option<Owner>) -> PartView {
    PartView {
        partition: Partition::Whole,
        device_id: DeviceId::new(uuid).unwrap(),
        resource: ResourceName::new("nvidia.com/gpu").unwrap(),
        memory_total: Known(Bytes::from_mib(81_559)),
        usage: PartUsage {
            utilization: share(utilization),
            memory_used: Known(Bytes::from_mib(61_000)),
            ..PartUsage::default()
        },
        owner,
    }
}

fn slice(gi: u8, owner: Option<Owner>) -> PartView {
    PartView {
        partition: Partition::MigSlice {
            profile: MigProfileName::new("1g.10gb").unwrap(),
            gi,
            ci: 0,
        },
        device_id: DeviceId::new(format!("MIG-{gi}")).unwrap(),
        resource: ResourceName::new("nvidia.com/mig-1g.10gb").unwrap(),
        memory_total: Known(Bytes::from_mib(9_856)),
        usage: PartUsage {
            utilization: Unsupported,
            memory_used: Known(Bytes::from_mib(512)),
            ..PartUsage::default()
        },
        owner,
    }
}

fn pod(namespace: &str, name: &str, phase: PodPhase) -> Arc<Pod> {
    let reference = PodRef {
        namespace: Namespace::new(namespace).unwrap(),
        name: PodName::new(name).unwrap(),
        uid: None,
    };
    Arc::new(Pod {
        reference,
        owners: Vec::new(),
        labels: BTreeMap::new(),
        resource: ResourceName::new("nvidia.com/gpu").unwrap(),
        count: 1,
        phase,
        created_at: Some("2026-01-05T07:30:00Z".parse().unwrap()),
        started_at: None,
    })
}

fn container(name: &str) -> ContainerName {
    ContainerName::new(name).unwrap()
}

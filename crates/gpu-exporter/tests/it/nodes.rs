//! Nodes as the collector would publish them, built by hand: the cases of the golden pages and of the benchmarks.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_exporter::readings::{Field, Path, PeerPath, SliceId, ThrottleReason, ThrottleSet};
use gpu_exporter::snapshot::{
    DeviceSnapshot, HeldPart, NodeSnapshot, Restriction, SourceStatus, Totals, UnattributedReason,
};
use gpu_model::Reading;
use gpu_model::Reading::Known;

#[path = "pieces.rs"]
pub(crate) mod pieces;

use pieces::unattributed;
pub(crate) use pieces::{GIB, MIB, basic, busy_link, device, holder, node, process, slice, totals, up};

/// By the name of the golden file.
pub(crate) fn all() -> Vec<(&'static str, NodeSnapshot)> {
    vec![
        ("8xh100", h100s()),
        ("a100-mixed-mig", a100_mig()),
        ("t4-time-sliced", t4_time_sliced()),
        ("l40s-mps", l40s_mps()),
        ("rtx3080-workstation", rtx3080()),
        ("no-gpu", no_gpu()),
    ]
}

/// Eight GPUs with fast links, six of them held by one pod each.
pub(crate) fn h100s() -> NodeSnapshot {
    let devices = (0..8).map(|index| {
        let mut device = h100(index);
        if index < 6 {
            let mut holder = holder("training", &format!("llm-{index}"), "trainer", HeldPart::Whole);
            holder.memory_bytes = Known(61.0 * GIB);
            holder.utilization = Known(0.93);
            device.holders.push(holder);
        }
        if index == 3 {
            device.faults = vec![(13, 0), (79, 1)];
        }
        device
    });
    node(
        "h100-node-1",
        vec![up("kubelet", 0.004), up("nvml", 0.012)],
        devices.collect(),
    )
}

/// A node with `gpus` GPUs and `pods` pods that share them evenly: for the growth of the page.
pub(crate) fn sized(gpus: u32, pods: u32) -> NodeSnapshot {
    let mut devices: Vec<DeviceSnapshot> = (0..gpus).map(h100).collect();
    for pod in 0..pods {
        let at = pod as usize % devices.len();
        let part = HeldPart::Replica(format!("GPU-{at}::{}", pod / gpus));
        let mut holder = holder(
            "batch",
            &format!("worker-{pod:04}-7d9c5b6f4-x2k{pod}"),
            "main",
            part,
        );
        holder.memory_bytes = Known(f64::from(pod + 1) * 32.0 * MIB);
        holder.utilization = Known(0.8 * f64::from(gpus) / f64::from(pods));
        devices[at].holders.push(holder);
    }
    node(
        "bench-node",
        vec![up("kubelet", 0.004), up("nvml", 0.012)],
        devices,
    )
}

/// What each of them reads, but for what differs.
const H100: &[(Field, f64)] = &[
    (Field::Utilization, 0.93),
    (Field::MemoryBandwidthUtilization, 0.41),
    (Field::EncoderUtilization, 0.0),
    (Field::DecoderUtilization, 0.0),
    (Field::JpegUtilization, 0.0),
    (Field::OfaUtilization, 0.0),
    (Field::GraphicsActive, 0.925),
    (Field::SmActive, 0.861),
    (Field::SmOccupancy, 0.382),
    (Field::TensorActive, 0.447),
    (Field::DramActive, 0.398),
    (Field::Fp64Active, 0.0),
    (Field::Fp32Active, 0.031),
    (Field::Fp16Active, 0.012),
    (Field::IntegerActive, 0.104),
    (Field::MemoryTotal, 81_559.0 * MIB),
    (Field::MemoryUsed, 62_464.0 * MIB),
    (Field::MemoryFree, 18_559.0 * MIB),
    (Field::MemoryReserved, 536.0 * MIB),
    (Field::Power, 612.4),
    (Field::PowerInstant, 615.1),
    (Field::PowerLimit, 700.0),
    (Field::PowerLimitManagement, 700.0),
    (Field::PowerLimitDefault, 700.0),
    (Field::Energy, 91_234_567.891),
    (Field::Temperature, 61.0),
    (Field::MemoryTemperature, 74.0),
    (Field::TemperatureMargin, 24.0),
    (Field::SmClock, 1_980e6),
    (Field::GraphicsClock, 1_980e6),
    (Field::MemoryClock, 2_619e6),
    (Field::VideoClock, 1_545e6),
    (Field::PerformanceState, 0.0),
    (Field::PcieReplays, 0.0),
    (Field::PcieLinkGeneration, 5.0),
    (Field::PcieLinkWidth, 16.0),
    (Field::PcieSentRate, 1.25e9),
    (Field::PcieReceivedRate, 3.5e9),
    (Field::LinkSentRate, 81.5e9),
    (Field::LinkReceivedRate, 80.5e9),
    (Field::EccCorrectedVolatile, 0.0),
    (Field::EccUncorrectedVolatile, 0.0),
    (Field::EccCorrectedAggregate, 12.0),
    (Field::EccUncorrectedAggregate, 0.0),
    (Field::RemappedRowsCorrectable, 0.0),
    (Field::RemappedRowsUncorrectable, 0.0),
    (Field::RowRemapPending, 0.0),
    (Field::RowRemapFailure, 0.0),
    (Field::ViolationPower, 17.25),
    (Field::ViolationThermal, 0.0),
    (Field::FabricState, 3.0),
    (Field::FabricStatus, 0.0),
    (Field::VgpuLicensed, 0.0),
    (Field::MigEnabled, 0.0),
];

fn h100(index: u32) -> DeviceSnapshot {
    let mut device = device(index, "NVIDIA H100 80GB HBM3", "hopper", "560.35.03");
    let mut readings = basic(H100);
    let step = f64::from(index);
    readings.set(Field::Power, Known(612.4 + step));
    readings.set(Field::Energy, Known(91_234_567.891 + step));
    readings.set(Field::Temperature, Known(61.0 + step));
    readings.throttled = Known(ThrottleSet::default());
    readings.links = (0..18)
        .map(|link| busy_link(link, 5.5e12 + 1e9 * f64::from(link)))
        .collect();
    readings.peers = (0..8)
        .filter(|peer| *peer != index)
        .map(|peer| PeerPath {
            peer,
            path: Path::Links(18),
        })
        .collect();
    readings.processes = Known(vec![process(1000 + index, 61.0 * GIB, Known(0.93))]);
    device.totals = totals(&[
        (ThrottleReason::PowerCap, 17.25),
        (ThrottleReason::HardwareThermal, 0.0),
    ]);
    device.faults = vec![(13, 0), (79, 0)];
    device.unattributed = vec![unattributed(
        UnattributedReason::Driver,
        Known(536.0 * MIB),
        Known(0.0),
    )];
    device.readings = Arc::new(readings);
    device
}

/// Two GPUs in MIG mode: one cut in three different sizes and partly held, one without slices.
pub(crate) fn a100_mig() -> NodeSnapshot {
    let mut cut = device(0, "NVIDIA A100-SXM4-80GB", "ampere", "550.90.07");
    let mut readings = basic(&[
        (Field::MemoryTotal, 81_920.0 * MIB),
        (Field::MemoryUsed, 30_720.0 * MIB),
        (Field::MemoryFree, 50_600.0 * MIB),
        (Field::MemoryReserved, 600.0 * MIB),
        (Field::Power, 214.7),
        (Field::PowerLimit, 400.0),
        (Field::Energy, 55_000_123.0),
        (Field::Temperature, 48.0),
        (Field::SmClock, 1_410e6),
        (Field::MemoryClock, 1_593e6),
        (Field::MigEnabled, 1.0),
    ]);
    readings.slices = vec![
        slice(1, 0, "3g.40gb", 40_192.0, 20_480.0),
        slice(5, 0, "2g.20gb", 19_968.0, 10_000.0),
        slice(13, 0, "1g.10gb", 9_728.0, 12.0),
    ];
    readings.processes = Known(vec![process(4242, 20.0 * GIB, Reading::Unsupported)]);
    cut.readings = Arc::new(readings);
    cut.totals = Totals {
        energy_joules: Known(55_000_123.0),
        ..Totals::default()
    };
    let part = |gi| HeldPart::Slice(SliceId { gi, ci: 0 });
    let mut first = holder("inference", "bert-0", "server", part(1));
    first.memory_bytes = Known(20_440.0 * MIB);
    let mut second = holder("inference", "ranker-0", "server", part(5));
    second.memory_bytes = Known(6_000.0 * MIB);
    let third = holder("inference", "ranker-1", "server", part(5));
    cut.holders = vec![first, second, third];
    cut.unattributed = vec![unattributed(
        UnattributedReason::NotMeasured,
        Known(4_280.0 * MIB),
        Reading::Unsupported,
    )];

    let mut empty = device(1, "NVIDIA A100-SXM4-80GB", "ampere", "550.90.07");
    empty.readings = Arc::new(basic(&[
        (Field::MemoryTotal, 81_920.0 * MIB),
        (Field::MemoryUsed, 0.0),
        (Field::Power, 61.2),
        (Field::Temperature, 33.0),
        (Field::MigEnabled, 1.0),
    ]));
    node(
        "a100-node-1",
        vec![up("kubelet", 0.004), up("nvml", 0.008)],
        vec![cut, empty],
    )
}

/// One GPU whose time four pods share; the driver measures three of them.
pub(crate) fn t4_time_sliced() -> NodeSnapshot {
    let mut gpu = device(0, "Tesla T4", "turing", "535.183.01");
    let mut readings = basic(&[
        (Field::Utilization, 0.87),
        (Field::MemoryBandwidthUtilization, 0.35),
        (Field::EncoderUtilization, 0.0),
        (Field::DecoderUtilization, 0.12),
        (Field::MemoryTotal, 15_360.0 * MIB),
        (Field::MemoryUsed, 9_000.0 * MIB),
        (Field::MemoryFree, 5_925.0 * MIB),
        (Field::MemoryReserved, 435.0 * MIB),
        (Field::Power, 66.9),
        (Field::PowerLimit, 70.0),
        (Field::Energy, 1_234_567.0),
        (Field::Temperature, 71.0),
        (Field::SmClock, 1_590e6),
        (Field::MemoryClock, 5_000e6),
        (Field::PcieReplays, 3.0),
        (Field::RetiredPagesPending, 0.0),
    ]);
    readings.processes = Known(
        (0..4)
            .map(|pid| process(2000 + pid, 2_000.0 * MIB, Known(0.2)))
            .collect(),
    );
    gpu.readings = Arc::new(readings);
    gpu.totals = totals(&[(ThrottleReason::PowerCap, 120.5)]);
    gpu.holders = (0..4)
        .map(|replica| {
            let part = HeldPart::Replica(format!("GPU-t4::{replica}"));
            let mut holder = holder("notebooks", &format!("user-{replica}"), "jupyter", part);
            if replica < 3 {
                holder.memory_bytes = Known(2_000.0 * MIB);
                holder.utilization = Known(0.25);
            }
            holder
        })
        .collect();
    gpu.unattributed = vec![
        unattributed(
            UnattributedReason::OutsideKubernetes,
            Known(2_500.0 * MIB),
            Known(0.1),
        ),
        unattributed(UnattributedReason::NotMeasured, Known(500.0 * MIB), Known(0.02)),
    ];
    node(
        "t4-node-1",
        vec![up("kubelet", 0.004), up("nvml", 0.003)],
        vec![gpu],
    )
}

/// One GPU that two pods share through MPS; utilisation is pinned at 0, so it is withheld.
pub(crate) fn l40s_mps() -> NodeSnapshot {
    let mut gpu = device(0, "NVIDIA L40S", "ada", "580.126.09");
    let mut readings = basic(&[
        (Field::Utilization, 0.0),
        (Field::MemoryBandwidthUtilization, 0.0),
        (Field::MemoryTotal, 46_068.0 * MIB),
        (Field::MemoryUsed, 22_000.0 * MIB),
        (Field::MemoryFree, 23_598.0 * MIB),
        (Field::MemoryReserved, 470.0 * MIB),
        (Field::Power, 301.2),
        (Field::PowerLimit, 350.0),
        (Field::Energy, 7_000_000.5),
        (Field::Temperature, 63.0),
        (Field::SmClock, 2_520e6),
        (Field::MemoryClock, 9_001e6),
    ]);
    readings.processes = Known(vec![process(31, 11_000.0 * MIB, Reading::Unsupported)]);
    readings.last_fault = Known(31);
    gpu.readings = Arc::new(readings);
    gpu.totals = totals(&[]);
    gpu.faults = vec![(13, 2), (31, 5)];
    gpu.restricted = Some(Restriction::UtilizationPinnedAtZero);
    gpu.holders = ["a", "b"]
        .map(|name| {
            let part = HeldPart::Claim {
                claim: format!("gpu-{name}"),
                share: Some(name.to_owned()),
            };
            let mut holder = holder("serving", &format!("mps-{name}"), "model", part);
            holder.memory_bytes = Known(10_500.0 * MIB);
            holder
        })
        .into();
    gpu.unattributed = vec![unattributed(
        UnattributedReason::Driver,
        Known(1_000.0 * MIB),
        Reading::Unsupported,
    )];
    gpu.errors = BTreeMap::from([("not_supported", 3), ("timeout", 1)]);
    gpu.rejected_total = 2;
    node(
        "l40s-node-1",
        vec![up("kubelet", 0.004), up("nvml", 0.003)],
        vec![gpu],
    )
}

/// A workstation without Kubernetes; quotes and blanks in its name must survive.
pub(crate) fn rtx3080() -> NodeSnapshot {
    let mut gpu = device(0, "NVIDIA GeForce RTX 3080", "ampere", "570.86.16");
    let mut readings = basic(&[
        (Field::Utilization, 0.38),
        (Field::MemoryBandwidthUtilization, 0.11),
        (Field::EncoderUtilization, 0.02),
        (Field::DecoderUtilization, 0.0),
        (Field::MemoryTotal, 10_240.0 * MIB),
        (Field::MemoryUsed, 3_071.5 * MIB),
        (Field::MemoryFree, 6_900.0 * MIB),
        (Field::Power, 180.25),
        (Field::PowerLimit, 320.0),
        (Field::Energy, 400_000.25),
        (Field::Temperature, 64.0),
        (Field::SmClock, 1_710e6),
        (Field::GraphicsClock, 1_710e6),
        (Field::MemoryClock, 9_501e6),
    ]);
    readings.processes = Known(vec![
        process(77, 1.0 * GIB, Known(0.2)),
        process(78, 1.0 * GIB, Known(0.18)),
    ]);
    gpu.readings = Arc::new(readings);
    gpu.totals = totals(&[(ThrottleReason::SoftwareThermal, 0.0)]);
    gpu.unattributed = vec![unattributed(
        UnattributedReason::OutsideKubernetes,
        Known(3_071.5 * MIB),
        Known(0.38),
    )];
    node("alice's \"big\" box", vec![up("nvml", 0.002)], vec![gpu])
}

/// No driver at all.
pub(crate) fn no_gpu() -> NodeSnapshot {
    let absent = SourceStatus {
        name: "nvml",
        up: false,
        problem: Some(Arc::from(
            "libnvidia-ml.so.1 was not found: install the driver or mount its library",
        )),
        last_success_age: None,
        last_duration: None,
        errors: BTreeMap::from([("absent", 7)]),
    };
    node("cpu-node-1", vec![up("kubelet", 0.004), absent], Vec::new())
}

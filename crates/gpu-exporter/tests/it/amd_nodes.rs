//! Nodes with AMD's GPUs as the collector would publish them, built by hand.

use std::sync::Arc;

use gpu_exporter::readings::{
    BlockErrors, ErrorBlock, Field, PartField, Parts, ProcessOccupancy, SliceId, SliceReadings,
    ThrottleReason, Values,
};
use gpu_exporter::snapshot::{Board, DeviceSnapshot, HeldPart, Identity, NodeSnapshot};
use gpu_model::Reading::{Known, Unsupported};
use gpu_model::Vendor;

use crate::nodes::{GIB, MIB, basic, busy_link, device, h100s, holder, node, process, totals, up};

/// By the name of the golden file.
pub(crate) fn all() -> Vec<(&'static str, NodeSnapshot)> {
    vec![
        ("mi300x-spx", mi300x_spx()),
        ("mi300x-cpx", mi300x_cpx()),
        ("mi210", mi210s()),
        ("mixed-vendors", mixed_vendors()),
    ]
}

/// What an MI300X reads, but for what differs.
const MI300X: &[(Field, f64)] = &[
    (Field::Utilization, 0.97),
    (Field::MemoryBandwidthUtilization, 0.52),
    (Field::MemoryTotal, 196_592.0 * MIB),
    (Field::MemoryUsed, 150_000.0 * MIB),
    (Field::VisibleMemoryTotal, 196_592.0 * MIB),
    (Field::VisibleMemoryUsed, 150_000.0 * MIB),
    (Field::HostMemoryTotal, 1_031_000.0 * MIB),
    (Field::HostMemoryUsed, 44.0 * MIB),
    (Field::MemoryBandwidthMax, 5_325e9),
    (Field::Power, 705.0),
    (Field::PowerInstant, 705.0),
    (Field::PowerLimit, 750.0),
    (Field::Energy, 91_234_567.891),
    (Field::Temperature, 68.0),
    (Field::HotspotTemperature, 68.0),
    (Field::MemoryTemperature, 55.0),
    (Field::SocRegulatorTemperature, 61.0),
    (Field::GraphicsClock, 2_098e6),
    (Field::GraphicsClockMin, 132e6),
    (Field::GraphicsClockMax, 2_100e6),
    (Field::MemoryClock, 1_300e6),
    (Field::MemoryClockMin, 900e6),
    (Field::MemoryClockMax, 1_300e6),
    (Field::FabricClock, 1_800e6),
    (Field::PcieLinkWidth, 16.0),
    (Field::PcieLinkSpeed, 32e9),
    (Field::PcieLinkSpeedMax, 32e9),
    (Field::PcieBandwidth, 1.25e9),
    (Field::PcieBandwidthAccumulated, 123_456.0),
    (Field::PcieReplays, 3.0),
    (Field::PcieReplayRollovers, 0.0),
    (Field::PcieRecoveries, 2.0),
    (Field::PcieNaksSent, 1.0),
    (Field::PcieNaksReceived, 0.0),
    (Field::LinkWidth, 16.0),
    (Field::LinkSpeed, 32e9),
    (Field::EccCorrectedVolatile, 4.0),
    (Field::EccUncorrectedVolatile, 0.0),
    (Field::EccDeferredVolatile, 0.0),
    (Field::BadPagesRetired, 0.0),
    (Field::LimitTicks, 55_262_364.0),
    (Field::LimitTicksProchot, 0.0),
    (Field::LimitTicksPower, 754_247.0),
    (Field::LimitTicksThermal, 0.0),
    (Field::LimitTicksRegulator, 0.0),
    (Field::LimitTicksMemory, 0.0),
    (Field::LimitShareProchot, 0.0),
    (Field::LimitSharePower, 0.867),
    (Field::LimitShareThermal, 0.0),
    (Field::LimitShareRegulator, 0.0),
    (Field::LimitShareMemory, 0.0),
];

fn amd(index: u32, model: &str, fields: &[(Field, f64)], board: Board) -> DeviceSnapshot {
    let mut device = device(index, model, "unused", "6.10.5");
    device.identity = Arc::new(Identity {
        vendor: Vendor::Amd,
        minor: None,
        uuid: format!("9f1c4e7a0b3d{index:04x}"),
        serial: Some(format!("69224500{index:04}")),
        vbios: Some("113-M3000100-102".to_owned()),
        architecture: None,
        board: Board {
            card: Some(index + 1),
            render: Some(128 + index),
            series: Some(model.to_owned()),
            maker: Some("AMD".to_owned()),
            ..board
        },
        ..(*device.identity).clone()
    });
    device.readings = Arc::new(basic(fields));
    device
}

fn blocks() -> Vec<BlockErrors> {
    let errors = |(block, corrected): (ErrorBlock, f64)| BlockErrors {
        block,
        corrected: Known(corrected),
        uncorrected: Known(0.0),
        deferred: if block == ErrorBlock::Umc {
            Known(0.0)
        } else {
            Unsupported
        },
    };
    [
        (ErrorBlock::Gfx, 0.0),
        (ErrorBlock::Sdma, 0.0),
        (ErrorBlock::Umc, 4.0),
        (ErrorBlock::XgmiWafl, 0.0),
    ]
    .into_iter()
    .map(errors)
    .collect()
}

/// Numbers of so many compute dies with their media engines.
fn dies(count: u16, busy: f64) -> Parts {
    let mut parts = Parts::default();
    for die in 0..count {
        parts.push(PartField::GraphicsBusy, die, Known(busy));
        parts.push(PartField::BelowLimitSharePower, die, Known(0.125));
        parts.push(
            PartField::BelowLimitTicksPower,
            die,
            Known(1_000.0 + f64::from(die)),
        );
    }
    parts.push(PartField::VideoBusy, 0, Known(0.0));
    parts.push(PartField::JpegBusy, 0, Known(0.0));
    parts
}

fn mi300x(index: u32, mode: &str, memory: &str) -> DeviceSnapshot {
    let board = Board {
        number: Some("102-G30211-00".to_owned()),
        compute_partition: Some(mode.to_owned()),
        memory_partition: Some(memory.to_owned()),
        deployment: Some("baremetal"),
        ..Board::default()
    };
    let mut device = amd(index, "AMD Instinct MI300X OAM", MI300X, board);
    let readings = Arc::make_mut(&mut device.readings);
    readings.blocks = blocks();
    readings.links = (0..7)
        .map(|link| busy_link(link, 1_024.0 * 1e9 * f64::from(link + 1)))
        .collect();
    for die in 0..8 {
        readings.push(
            PartField::GraphicsClock,
            die,
            Known(2_098e6 + 1e6 * f64::from(die)),
        );
    }
    for engine in 0..4 {
        readings.push(PartField::VideoClock, engine, Known(29e6));
        readings.push(PartField::DecoderClock, engine, Known(22e6));
        readings.push(PartField::SocClock, engine, Known(28e6));
    }
    device.totals = totals(&[
        (ThrottleReason::PowerCap, 4.335),
        (ThrottleReason::MemoryThermal, 0.0),
    ]);
    device
}

/// Two GPUs, one of them held as a whole.
pub(crate) fn mi300x_spx() -> NodeSnapshot {
    let devices = (0..2).map(|index| {
        let mut device = mi300x(index, "SPX", "NPS1");
        let readings = Arc::make_mut(&mut device.readings);
        let clocks = readings.parts.clone();
        readings.parts = dies(8, 0.97);
        for field in [
            PartField::GraphicsClock,
            PartField::VideoClock,
            PartField::DecoderClock,
            PartField::SocClock,
        ] {
            for (part, value) in clocks.of(field) {
                readings.push(field, part, Known(value));
            }
        }
        if index == 0 {
            readings.processes = Known(vec![process(4242, 140.0 * GIB, Known(0.97))]);
            readings.occupancy = vec![ProcessOccupancy {
                pid: 4242,
                slice: None,
                compute_units: 296.0,
            }];
            device.holders = vec![holder("training", "llm-0", "trainer", HeldPart::Whole)];
        }
        device
    });
    node(
        "mi300x-node-1",
        vec![up("amdgpu", 0.009), up("kubelet", 0.004)],
        devices.collect(),
    )
}

/// One GPU in eight partitions, two of them held, and a second one that is whole.
pub(crate) fn mi300x_cpx() -> NodeSnapshot {
    let mut device = mi300x(0, "CPX", "NPS4");
    let readings = Arc::make_mut(&mut device.readings);
    readings.slices = (0..8).map(partition).collect();
    readings.occupancy = vec![ProcessOccupancy {
        pid: 4243,
        slice: Some(SliceId { gi: 1, ci: 0 }),
        compute_units: 38.0,
    }];
    for gi in [0, 1] {
        let id = SliceId { gi, ci: 0 };
        device.holders.push(holder(
            "inference",
            &format!("bert-{gi}"),
            "server",
            HeldPart::Slice(id),
        ));
    }
    node(
        "mi300x-node-2",
        vec![up("amdgpu", 0.021), up("kubelet", 0.004)],
        vec![device, mi300x(1, "SPX", "NPS1")],
    )
}

fn partition(gi: u32) -> SliceReadings {
    let mut values = Values::default();
    values.set(Field::MemoryTotal, Known(24_574.0 * MIB));
    values.set(Field::MemoryUsed, Known(1_024.0 * f64::from(gi + 1) * MIB));
    values.set(Field::Utilization, Known(0.1 * f64::from(gi)));
    SliceReadings {
        id: SliceId { gi, ci: 0 },
        uuid: if gi == 0 {
            "0000:1b:00.0".to_owned()
        } else {
            format!("amdgpu_xcp_{}", gi - 1)
        },
        profile: "cpx_nps4".to_owned(),
        render: Some(128 + gi),
        values,
        parts: dies(1, 0.1 * f64::from(gi)),
    }
}

/// An older board: an edge sensor, averaged power, no partitions, no ticks of limits.
pub(crate) fn mi210s() -> NodeSnapshot {
    let fields = &[
        (Field::Utilization, 0.4),
        (Field::MemoryBandwidthUtilization, 0.1),
        (Field::MemoryTotal, 65_520.0 * MIB),
        (Field::MemoryUsed, 10.0 * MIB),
        (Field::Power, 97.0),
        (Field::PowerAverage, 97.0),
        (Field::Temperature, 41.0),
        (Field::EdgeTemperature, 41.0),
        (Field::HotspotTemperature, 48.0),
        (Field::MemoryTemperature, 45.0),
        (Field::GraphicsClock, 800e6),
        (Field::MemoryClock, 1_600e6),
        (Field::GraphicsVoltage, 0.793),
        (Field::EccCorrectedVolatile, 0.0),
        (Field::EccUncorrectedVolatile, 2.0),
    ];
    let mut device = amd(0, "AMD Instinct MI210", fields, Board::default());
    let readings = Arc::make_mut(&mut device.readings);
    for stack in 0..4 {
        readings.push(PartField::StackTemperature, stack, Known(44.0 + f64::from(stack)));
    }
    let of_umc = BlockErrors {
        block: ErrorBlock::Umc,
        corrected: Known(0.0),
        uncorrected: Known(2.0),
        deferred: Unsupported,
    };
    readings.blocks = vec![of_umc];
    node("mi210-node-1", vec![up("amdgpu", 0.003)], vec![device])
}

/// NVIDIA's and AMD's GPUs in one node.
pub(crate) fn mixed_vendors() -> NodeSnapshot {
    let mut devices = mi300x_spx().devices;
    devices.truncate(1);
    devices.extend(h100s().devices.into_iter().take(1));
    node(
        "mixed-node-1",
        vec![up("amdgpu", 0.009), up("kubelet", 0.004), up("nvml", 0.012)],
        devices,
    )
}

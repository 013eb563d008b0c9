//! The pieces of which test nodes are built.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpu_exporter::readings::{
    DeviceReadings, Field, LinkReadings, Parts, ProcessReading, SliceId, SliceReadings, ThrottleReason,
    Values,
};
use gpu_exporter::snapshot::{
    Board, DeviceSnapshot, DeviceState, HeldPart, Holder, Identity, NodeSnapshot, Origin, SourceStatus,
    Totals, Unattributed, UnattributedReason,
};
use gpu_model::Reading::Known;
use gpu_model::{ContainerName, Namespace, PodName, Reading, Vendor};
use jiff::Timestamp;

pub(crate) const GIB: f64 = 1_073_741_824.0;
pub(crate) const MIB: f64 = 1_048_576.0;

/// A snapshot at a fixed instant.
pub(crate) fn node(name: &str, sources: Vec<SourceStatus>, devices: Vec<DeviceSnapshot>) -> NodeSnapshot {
    NodeSnapshot {
        sequence: 1,
        at: Timestamp::from_second(1_790_000_000).unwrap(),
        node: name.to_owned(),
        origin: Origin::Measured,
        node_labels: None,
        workload: None,
        sources,
        devices,
    }
}

pub(crate) fn up(name: &'static str, seconds: f64) -> SourceStatus {
    SourceStatus {
        name,
        up: true,
        problem: None,
        last_success_age: Some(Duration::from_millis(250)),
        last_duration: Some(Duration::from_secs_f64(seconds)),
        errors: BTreeMap::new(),
    }
}

pub(crate) fn device(index: u32, model: &str, architecture: &'static str, driver: &str) -> DeviceSnapshot {
    DeviceSnapshot {
        identity: Arc::new(Identity {
            vendor: Vendor::Nvidia,
            index,
            minor: Some(index),
            uuid: format!("GPU-0b8a5f1c-77aa-4c1e-9d2e-0000000000{index:02x}"),
            model: model.to_owned(),
            pci_bus_id: format!("00000000:{:02x}:00.0", 0x1b + index),
            serial: None,
            vbios: Some("96.00.89.00.01".to_owned()),
            driver_version: driver.to_owned(),
            architecture: Some(architecture),
            board: Board::default(),
        }),
        state: DeviceState::Up,
        age: Some(Duration::from_millis(120)),
        slow_age: Some(Duration::from_millis(15_250)),
        readings: Arc::new(DeviceReadings::default()),
        totals: Totals::default(),
        faults: Vec::new(),
        restricted: None,
        holders: Vec::new(),
        jobs: Arc::default(),
        unattributed: Vec::new(),
        errors: BTreeMap::new(),
        rejected_total: 0,
    }
}

pub(crate) fn holder(namespace: &str, pod: &str, container: &str, part: HeldPart) -> Holder {
    Holder {
        namespace: Namespace::new(namespace).unwrap(),
        pod: PodName::new(pod).unwrap(),
        container: ContainerName::new(container).unwrap(),
        uid: None,
        labels: Arc::default(),
        slice: match part {
            HeldPart::Slice(id) => Some(id),
            _ => None,
        },
        part,
        memory_bytes: Reading::Unsupported,
        utilization: Reading::Unsupported,
    }
}

pub(crate) fn basic(fields: &[(Field, f64)]) -> DeviceReadings {
    let mut readings = DeviceReadings::default();
    for (field, value) in fields {
        readings.set(*field, Known(*value));
    }
    assert_eq!(readings.rejected, 0);
    readings
}

pub(crate) fn slice(gi: u32, ci: u32, profile: &str, total_mib: f64, used_mib: f64) -> SliceReadings {
    let mut values = Values::default();
    values.set(Field::MemoryTotal, Known(total_mib * MIB));
    values.set(Field::MemoryUsed, Known(used_mib * MIB));
    values.set(Field::MemoryFree, Known((total_mib - used_mib) * MIB));
    SliceReadings {
        render: None,
        parts: Parts::default(),
        id: SliceId { gi, ci },
        uuid: format!("MIG-5d1e7a52-0000-5000-8000-0000000000{gi:02x}"),
        profile: profile.to_owned(),
        values,
    }
}

pub(crate) fn busy_link(link: u32, bytes: f64) -> LinkReadings {
    LinkReadings {
        link,
        active: Known(true),
        sent_bytes: Known(bytes),
        received_bytes: Known(bytes + 512.0),
        replay_errors: Known(0.0),
        recovery_errors: Known(0.0),
        crc_errors: Known(0.0),
    }
}

pub(crate) fn process(pid: u32, memory: f64, utilization: Reading<f64>) -> ProcessReading {
    ProcessReading {
        pid,
        slice: None,
        memory_bytes: Known(memory),
        utilization,
    }
}

pub(crate) fn totals(throttled: &[(ThrottleReason, f64)]) -> Totals {
    let mut totals = Totals {
        busy_seconds: Known(3_600.123_456),
        energy_joules: Known(91_234_567.891_4),
        pcie_sent_bytes: Known(1.5e12),
        pcie_received_bytes: Known(4.5e12),
        ..Totals::default()
    };
    for (reason, seconds) in throttled {
        totals.throttle_seconds[*reason as usize] = Known(*seconds);
    }
    totals
}

pub(crate) fn unattributed(
    reason: UnattributedReason,
    memory: Reading<f64>,
    utilization: Reading<f64>,
) -> Unattributed {
    Unattributed {
        slice: None,
        reason,
        memory_bytes: memory,
        utilization,
    }
}

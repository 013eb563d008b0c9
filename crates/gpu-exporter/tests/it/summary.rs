//! The report of a run: what is added up over time, and what is left out because nobody measured it.

use std::sync::Arc;
use std::time::Duration;

use gpu_exporter::api::{RunState, Summary};
use gpu_exporter::readings::Field;
use gpu_exporter::snapshot::{DeviceState, NodeSnapshot, Restriction};
use gpu_model::Reading;

use crate::nodes;

/// A node with one GPU, so many seconds after the first.
fn at(second: u64, fields: &[(Field, f64)], joules: Option<f64>) -> NodeSnapshot {
    let mut device = nodes::device(0, "NVIDIA A100", "ampere", "580.82");
    device.readings = Arc::new(nodes::basic(fields));
    device.totals.energy_joules = joules.map_or(Reading::Unsupported, Reading::Known);
    let mut node = nodes::node("node-1", Vec::new(), vec![device]);
    node.sequence = second + 1;
    node.at += jiff::SignedDuration::from_secs(second.try_into().unwrap());
    node
}

fn gpu(summary: &Summary) -> serde_json::Value {
    let report = summary.report(RunState::Ended).unwrap();
    serde_json::to_value(report).unwrap()["gpus"][0].clone()
}

#[test]
fn values_are_added_up_over_time() {
    let mut summary = Summary::default();
    let load = |utilization| {
        [
            (Field::Utilization, utilization),
            (Field::Power, 100.0),
            (Field::MemoryUsed, 5e9),
        ]
    };
    summary.record(&at(0, &load(0.0), Some(1000.0)));
    summary.record(&at(1, &load(1.0), Some(1100.0)));
    // The same snapshot again, as the keeper sees it between two turns.
    summary.record(&at(1, &load(1.0), Some(1100.0)));
    summary.record(&at(
        4,
        &[(Field::Utilization, 0.5), (Field::MemoryUsed, 7e9)],
        Some(1250.0),
    ));
    let gpu = gpu(&summary);
    assert_eq!(gpu["seconds"], 4.0);
    // One second at 1 and three at 0.5.
    assert_eq!(gpu["utilization"], serde_json::json!({"mean": 0.625, "max": 1.0}));
    assert_eq!(gpu["power_watts"]["mean"], 100.0);
    assert_eq!(gpu["energy_joules"], 250.0);
    assert_eq!(gpu["memory_peak_bytes"], 7e9);
}

#[test]
fn what_was_not_measured_is_left_out() {
    let mut summary = Summary::default();
    assert!(summary.report(RunState::Running).is_none());
    summary.record(&at(0, &[], None));
    summary.record(&at(1, &[], None));
    let gpu = gpu(&summary);
    assert_eq!(gpu["seconds"], 1.0);
    for name in [
        "utilization",
        "power_watts",
        "energy_joules",
        "memory_peak_bytes",
        "memory_total_bytes",
        "faults",
    ] {
        assert!(gpu.get(name).is_none(), "{name} in {gpu}");
    }
}

#[test]
fn gaps_resets_and_silence_invent_nothing() {
    let mut summary = Summary::default();
    let busy = [(Field::Utilization, 1.0)];
    summary.record(&at(0, &busy, Some(500.0)));
    // Nothing was seen for a minute, and the driver was loaded anew meanwhile.
    summary.record(&at(60, &busy, Some(40.0)));
    let mut silent = at(61, &busy, Some(90.0));
    silent.devices[0].state = DeviceState::Stuck;
    summary.record(&silent);
    let mut withheld = at(62, &[(Field::Utilization, 0.0)], Some(50.0));
    withheld.devices[0].restricted = Some(Restriction::UtilizationPinnedAtZero);
    withheld.devices[0].age = Some(Duration::from_millis(10));
    summary.record(&withheld);
    // The clock was set back.
    summary.record(&NodeSnapshot {
        sequence: 64,
        ..at(30, &busy, Some(60.0))
    });
    let gpu = gpu(&summary);
    assert_eq!(gpu["seconds"], 2.0);
    assert_eq!(gpu["utilization"], serde_json::json!({"mean": 1.0, "max": 1.0}));
    assert_eq!(gpu["energy_joules"], 60.0);
}

#[test]
fn slices_stand_beside_their_gpu() {
    let mut node = at(0, &[(Field::Power, 50.0)], None);
    let mut readings = nodes::basic(&[(Field::Power, 50.0)]);
    readings.slices = vec![nodes::slice(1, 0, "1g.10gb", 100.0, 40.0)];
    node.devices[0].readings = Arc::new(readings);
    let mut summary = Summary::default();
    summary.record(&node);
    let report = serde_json::to_value(summary.report(RunState::Running).unwrap()).unwrap();
    assert_eq!(report["final"], false);
    let slice = &report["gpus"][1];
    assert_eq!(slice["parent"], report["gpus"][0]["uuid"]);
    assert_eq!(slice["profile"], "1g.10gb");
    assert_eq!(slice["memory_peak_bytes"], 40.0 * nodes::MIB);
}

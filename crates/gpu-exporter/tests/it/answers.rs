//! The JSON answer and its history.

use std::time::Duration;

use gpu_exporter::api::{History, HistorySettings, Window, gpu_metrics};
use gpu_exporter::snapshot::{DeviceState, NodeSnapshot, Origin};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::nodes;

fn answer(node: &NodeSnapshot) -> Value {
    serde_json::from_slice(&gpu_metrics(node, None).to_json().unwrap()).unwrap()
}

#[test]
fn the_shape_that_others_depend_on() {
    let answer = answer(&nodes::rtx3080());
    assert_eq!(answer["timestamp"], "2026-09-21T14:13:20Z");
    let gpu = &answer["gpus"][0];
    assert_eq!(gpu["id"], "gpu-0");
    assert_eq!(gpu["name"], "NVIDIA GeForce RTX 3080");
    assert_eq!(gpu["utilization"], 38.0);
    assert_eq!(gpu["memory_utilization"], 11.0);
    assert_eq!(gpu["memory"], json!({"total": 10240, "used": 3071, "free": 6900}));
    assert_eq!(gpu["temperature"], 64.0);
    assert_eq!(gpu["power_usage"], 180.25);
    assert_eq!(gpu["clock_speeds"], json!({"graphics": 1710, "memory": 9501}));
    assert_eq!(answer.get("source"), None);
    assert_eq!(gpu.get("history"), None);
}

#[test]
fn what_was_not_read_is_null_and_says_why() {
    let answer = answer(&nodes::a100_mig());
    assert_eq!(answer["gpus"][0]["utilization"], Value::Null);
    let why = json!({"gpu": "gpu-0", "field": "utilization", "reason": "unsupported"});
    assert!(answer["errors"].as_array().unwrap().contains(&why), "{answer:#}");
}

#[test]
fn a_withheld_value_is_null_with_the_reason() {
    let answer = answer(&nodes::l40s_mps());
    assert_eq!(answer["gpus"][0]["utilization"], Value::Null);
    let why = json!({"gpu": "gpu-0", "field": "utilization", "reason": "utilization_pinned_at_zero"});
    assert!(answer["errors"].as_array().unwrap().contains(&why), "{answer:#}");
}

#[test]
fn no_driver() {
    let answer = answer(&nodes::no_gpu());
    assert_eq!(answer["gpus"], json!([]));
    assert_eq!(answer["status"], "unavailable");
    assert!(
        answer["reason"]
            .as_str()
            .unwrap()
            .starts_with("nvml: libnvidia-ml.so.1 was not found")
    );
}

#[test]
fn simulated_values_say_so() {
    let mut node = nodes::rtx3080();
    node.origin = Origin::Simulated;
    assert_eq!(answer(&node)["source"], "sim");
}

/// Snapshots a second apart, the last of which is returned.
fn play(history: &mut History, seconds: i64) -> NodeSnapshot {
    let mut node = nodes::rtx3080();
    for second in 0..seconds {
        node.at = nodes::rtx3080().at + SignedDuration::from_secs(second);
        history.record(&node);
    }
    node
}

#[test]
fn history_is_bounded_and_in_order() {
    let settings = HistorySettings {
        step: Duration::from_secs(5),
        points: 10,
        devices: 1,
    };
    let mut history = History::new(settings);
    let last = play(&mut history, 1000);
    let window = Window::parse("24h").unwrap();
    let points = history.points(&last.devices[0].identity.uuid, last.at, window);
    assert_eq!(points.len(), 10);
    assert!(
        points
            .windows(2)
            .all(|pair| pair[0].timestamp < pair[1].timestamp)
    );
    assert_eq!(points[9].utilization, Some(38.0));
    let short = history.points(
        &last.devices[0].identity.uuid,
        last.at,
        Window::parse("20s").unwrap(),
    );
    assert_eq!(short.len(), 4);
    let answer = serde_json::to_value(gpu_metrics(&last, Some((&history, window)))).unwrap();
    assert_eq!(answer["gpus"][0]["history"].as_array().unwrap().len(), 10);
}

#[test]
fn a_stuck_device_has_no_points_of_now_and_a_lost_one_is_forgotten() {
    let settings = HistorySettings {
        step: Duration::from_secs(5),
        points: 10,
        devices: 4,
    };
    let mut history = History::new(settings);
    let mut node = play(&mut history, 10);
    let uuid = node.devices[0].identity.uuid.clone();
    let start = node.at;
    node.devices[0].state = DeviceState::Stuck;
    node.devices[0].age = Some(Duration::from_secs(60));
    let window = Window::parse("1h").unwrap();
    let before = history.points(&uuid, node.at, window);
    node.at = start + SignedDuration::from_secs(20);
    history.record(&node);
    assert_eq!(history.points(&uuid, node.at, window), before);
    node.at = start + SignedDuration::from_secs(200);
    history.record(&node);
    assert_eq!(history.points(&uuid, node.at, window), []);
}

#[test]
fn windows() {
    let seconds = |text| Window::parse(text).map(|window| window.duration().as_secs());
    assert_eq!(seconds("10m"), Ok(600));
    assert_eq!(seconds("90"), Ok(90));
    assert_eq!(seconds("2h"), Ok(7200));
    for text in [
        "",
        "m",
        "10d",
        "-5m",
        "0",
        "25h",
        "99999999999999999999s",
        "1.5h",
        "5µ",
    ] {
        assert!(seconds(text).is_err(), "{text}");
    }
}

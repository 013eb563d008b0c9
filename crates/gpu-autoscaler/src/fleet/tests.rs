//! The documents of a small fleet that has one of everything, against golden files: a whole GPU with an owner, a free
//! one, one cut into slices, one that fails to answer, and a pod that waits.

mod small_fleet;

use gpu_exposition::Format;
use gpu_model::{FleetView, Source};

use super::{cluster, gpu_metrics, metrics_page};
use small_fleet::small_fleet;

fn pretty(json: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(json).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn the_metrics_page_in_text() {
    insta::assert_snapshot!(
        "metrics-text",
        metrics_page(&small_fleet(), Format::Text).unwrap()
    );
}

#[test]
fn the_metrics_page_in_open_metrics() {
    insta::assert_snapshot!(
        "metrics-openmetrics",
        metrics_page(&small_fleet(), Format::OpenMetrics).unwrap()
    );
}

#[test]
fn the_document_of_gpu_metrics() {
    insta::assert_snapshot!("gpu-metrics", pretty(&gpu_metrics(&small_fleet()).unwrap()));
}

#[test]
fn the_document_of_the_cluster() {
    insta::assert_snapshot!("cluster", pretty(&cluster(&small_fleet()).unwrap()));
}

/// The fields that carry the readings of GPU 3, which answers nothing.
#[test]
fn what_was_not_read_is_null_and_never_zero() {
    let document: serde_json::Value = serde_json::from_slice(&gpu_metrics(&small_fleet()).unwrap()).unwrap();
    let silent = document["gpus"]
        .as_array()
        .unwrap()
        .iter()
        .find(|gpu| gpu["id"] == "gpu-3")
        .unwrap();
    for field in [
        "/utilization",
        "/memory/used",
        "/memory/free",
        "/temperature",
        "/power_usage",
    ] {
        assert_eq!(silent.pointer(field), Some(&serde_json::Value::Null), "{field}");
    }
    let page = metrics_page(&small_fleet(), Format::Text).unwrap();
    let lines: Vec<&str> = page.lines().filter(|line| line.contains("GPU-silent")).collect();
    let names: Vec<&str> = lines.iter().map(|line| line.split('{').next().unwrap()).collect();
    assert_eq!(names, ["gpu_info", "gpu_up"]);
    assert!(lines[1].ends_with(" 0"), "{}", lines[1]);
}

#[test]
fn measured_values_carry_no_mark_of_simulation() {
    let measured = FleetView {
        source: Source::Measured,
        ..small_fleet()
    };
    assert!(!metrics_page(&measured, Format::Text).unwrap().contains("source="));
    assert!(
        !String::from_utf8(gpu_metrics(&measured).unwrap())
            .unwrap()
            .contains("\"source\"")
    );
}

#[test]
fn a_fleet_of_nothing_has_no_mean_and_no_sum() {
    let empty = FleetView {
        nodes: Vec::new(),
        pending: Vec::new(),
        ..small_fleet()
    };
    let document: serde_json::Value = serde_json::from_slice(&cluster(&empty).unwrap()).unwrap();
    assert_eq!(document["utilization"], serde_json::Value::Null);
    assert_eq!(document["power_usage"], serde_json::Value::Null);
    assert!(
        !metrics_page(&empty, Format::Text)
            .unwrap()
            .contains("gpu_autoscaler_cluster_utilization")
    );
}

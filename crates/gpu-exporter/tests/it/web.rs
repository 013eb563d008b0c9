//! The pages of the real program as clients of all kinds see them.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::exporter::{Answer, Exporter};

const METRICS: &str = "/metrics";

#[track_caller]
fn check_refusal(answer: &Answer, status: u16, error: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["error"], error);
    assert!(
        body["details"].as_str().is_some_and(|words| words.len() > 10),
        "{body}"
    );
}

#[test]
fn the_format_and_the_packing_are_the_clients_choice() {
    let exporter = Exporter::start(&[]);
    let plain = exporter.get(METRICS);
    assert_eq!(plain.status, 200);
    assert_eq!(
        plain.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert_eq!(plain.header("content-encoding"), None);
    assert!(plain.text().contains("\ndcgm_up 0\n"), "{}", plain.text());
    let accept = "application/openmetrics-text;version=1.0.0;q=0.9,text/plain;version=0.0.4;q=0.3";
    let open = exporter.ask("GET", METRICS, &[("accept", accept)]);
    assert!(
        open.header("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text; version=1.0.0")
    );
    assert!(open.text().ends_with("# EOF\n"));
    let packed = exporter.ask("GET", METRICS, &[("accept-encoding", "br, gzip;q=0.8")]);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(packed.header("vary"), Some("accept, accept-encoding"));
    let mut unpacked = String::new();
    GzDecoder::new(packed.body.as_slice())
        .read_to_string(&mut unpacked)
        .unwrap();
    assert!(unpacked.contains("\ndcgm_up 0\n"), "{unpacked}");
    let refused = exporter.ask("GET", METRICS, &[("accept-encoding", "gzip;q=0")]);
    assert_eq!(refused.header("content-encoding"), None);
}

#[test]
fn a_head_request_gets_the_header_alone() {
    let exporter = Exporter::start(&[]);
    let answer = exporter.ask("HEAD", METRICS, &[]);
    assert_eq!(answer.status, 200);
    assert!(answer.body.is_empty());
    assert!(answer.header("content-length").unwrap().parse::<u32>().unwrap() > 100);
}

#[test]
fn the_subset_for_the_control_plane_is_smaller_and_a_misspelt_one_is_refused() {
    let exporter = Exporter::start(&[]);
    assert_eq!(exporter.get("/metrics?families=core").status, 200);
    check_refusal(&exporter.get("/metrics?families=cor"), 400, "bad request");
}

#[test]
fn what_is_not_there_is_refused_in_one_shape() {
    let exporter = Exporter::start(&[]);
    check_refusal(&exporter.get("/nope"), 404, "not found");
    check_refusal(&exporter.get("/etc/passwd/../../%2e%2e"), 404, "not found");
    let wrong = exporter.ask("DELETE", METRICS, &[]);
    check_refusal(&wrong, 405, "method not allowed");
    assert_eq!(wrong.header("allow"), Some("GET,HEAD"));
    check_refusal(
        &exporter.ask("POST", "/healthz", &[("content-length", "0")]),
        405,
        "method not allowed",
    );
    let huge = exporter.ask("POST", METRICS, &[("content-length", "99999999")]);
    check_refusal(&huge, 413, "payload too large");
    let window = exporter.get("/api/v1/monitoring/gpu-metrics?window=soon");
    check_refusal(&window, 400, "bad request");
}

#[test]
fn the_json_answer_says_why_there_is_nothing() {
    let exporter = Exporter::start(&["--node-name", "node-a"]);
    let ready = exporter.wait_for_page("/readyz", |answer| answer.status == 200);
    let body: serde_json::Value = serde_json::from_slice(&ready.body).unwrap();
    assert_eq!(body["status"], "ready");
    let driver = body["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|source| source["name"] == "nvml");
    let driver = driver.unwrap_or_else(|| panic!("{body}"));
    assert_eq!(driver["up"], false);
    assert!(
        driver["problem"].as_str().unwrap().contains("libnvidia-ml"),
        "{driver}"
    );
    let answer = exporter.get("/api/v1/monitoring/gpu-metrics?window=10m");
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["status"], "unavailable");
    assert_eq!(body["gpus"], serde_json::json!([]));
    assert_eq!(body["node"], "node-a");
    assert!(body["reason"].as_str().is_some(), "{body}");
}

#[test]
fn the_index_leads_to_the_pages() {
    let exporter = Exporter::start(&["--metrics-path", "/gpu/metrics"]);
    let index = exporter.get("/");
    assert_eq!(index.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(index.text().contains("href=\"gpu/metrics\""), "{}", index.text());
    assert_eq!(exporter.get("/gpu/metrics").status, 200);
    assert_eq!(exporter.get(METRICS).status, 404);
    assert_eq!(exporter.get("/healthz").text(), "ok\n");
}

#[test]
fn the_page_may_be_the_root() {
    let exporter = Exporter::start(&["--metrics-path", "/"]);
    assert!(exporter.get("/").text().contains("dcgm_up 0"));
}

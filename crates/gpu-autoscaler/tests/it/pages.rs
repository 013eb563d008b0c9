//! What the demo serves.

use std::collections::BTreeSet;
use std::time::Duration;

use gpu_exposition::{Format, Page, ParserOptions};
use serde_json::Value;

use crate::program::Demo;

#[test]
fn it_answers_soon_after_it_was_started() {
    let demo = Demo::start(&[]).ready();
    let answer = demo.get("/");
    // One second is the promise; five leave room for a machine that builds something else meanwhile.
    assert!(
        demo.started.elapsed() < Duration::from_secs(5),
        "{:?}",
        demo.started.elapsed()
    );
    assert_eq!(answer.status, 200);
}

#[test]
fn the_page_says_that_it_is_simulated_and_lets_nothing_foreign_in() {
    let demo = Demo::start(&[]).ready();
    let page = demo.get("/");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.body.contains(">Simulated</strong>"), "{}", page.body);
    assert!(
        page.body.contains("No value on this page is measured."),
        "{}",
        page.body
    );
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none';") && !policy.contains("unsafe"),
        "{policy}"
    );
    let own = ["href=\"/", "src=\"/", "href=\"data:"];
    for link in page
        .body
        .split_whitespace()
        .filter(|word| word.starts_with("href=") || word.starts_with("src="))
    {
        assert!(own.iter().any(|start| link.starts_with(start)), "{link}");
    }
    for (path, kind) in [
        ("/ui/app.css", "text/css; charset=utf-8"),
        ("/ui/app.js", "text/javascript; charset=utf-8"),
        ("/ui/fleet.js", "text/javascript; charset=utf-8"),
        ("/ui/detail.js", "text/javascript; charset=utf-8"),
        ("/ui/model.js", "text/javascript; charset=utf-8"),
    ] {
        let file = demo.get(path);
        assert_eq!(
            (file.status, file.header("content-type")),
            (200, Some(kind)),
            "{path}"
        );
    }
}

#[test]
fn every_gpu_series_carries_the_mark_of_simulation_in_both_formats() {
    let demo = Demo::start(&["--nodes", "12"]).ready();
    for format in Format::ALL {
        let accept = format!(
            "accept: {}\r\n",
            format.content_type().replace("; charset=utf-8", "")
        );
        let answer = demo.request("GET", "/metrics", &accept);
        assert_eq!(answer.header("content-type"), Some(format.content_type()));
        let page = Page::parse(answer.body.as_bytes(), ParserOptions::new(format)).unwrap();
        let mut gpus = 0;
        for family in &page.families {
            for sample in &family.samples {
                gpus += u32::from(family.name == "gpu_info");
                let marked = sample
                    .labels
                    .iter()
                    .any(|(name, value)| name == "source" && value == "sim");
                assert!(
                    marked || family.name == "gpu_autoscaler_build_info",
                    "{}",
                    family.name
                );
            }
        }
        assert_eq!(gpus, 96, "{format:?}");
    }
}

#[test]
fn gpu_metrics_have_the_documented_shape() {
    let demo = Demo::start(&[]).ready();
    let document = demo.json("/api/v1/monitoring/gpu-metrics");
    assert_eq!(document["source"], "sim");
    assert!(
        document["timestamp"].as_str().unwrap().ends_with('Z'),
        "{}",
        document["timestamp"]
    );
    let gpus = document["gpus"].as_array().unwrap();
    assert_eq!(gpus.len(), 96);
    let paths: BTreeSet<String> = gpus.iter().flat_map(|gpu| shape(gpu, "")).collect();
    insta::assert_snapshot!(
        "gpu-metrics-shape",
        paths.into_iter().collect::<Vec<_>>().join("\n")
    );
    // Whatever is null is explained, and only that.
    let explained = document["errors"].as_array().unwrap().len();
    let fields = [
        "/utilization",
        "/memory_utilization",
        "/memory/total",
        "/memory/used",
        "/temperature",
        "/power_usage",
        "/power_limit",
        "/clock_speeds/graphics",
        "/clock_speeds/memory",
    ];
    let missing = gpus
        .iter()
        .flat_map(|gpu| fields.map(|field| gpu.pointer(field).unwrap()));
    assert_eq!(missing.filter(|value| value.is_null()).count(), explained);
}

/// Every path of a document, with the kind of value at its end; a list shows what its elements are.
fn shape(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| shape(value, &format!("{path}/{name}")))
            .collect(),
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .flat_map(|item| shape(item, &format!("{path}[]")))
            .collect(),
        Value::Array(_) => vec![format!("{path}[] empty")],
        Value::Null => vec![format!("{path} null")],
        Value::Bool(_) => vec![format!("{path} bool")],
        Value::Number(_) => vec![format!("{path} number")],
        Value::String(_) => vec![format!("{path} string")],
    }
}

#[test]
fn the_cluster_adds_up_with_the_gpus() {
    let demo = Demo::start(&["--nodes", "30"]).ready();
    let cluster = demo.json("/api/v1/cluster");
    assert_eq!(cluster["source"], "sim");
    let nodes = cluster["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 30);
    let sum: u64 = nodes.iter().map(|node| node["gpus"].as_u64().unwrap()).sum();
    assert_eq!(cluster["gpus"]["total"], sum);
}

/// Who and what is in the fleet, without its values.
fn inventory(demo: &Demo) -> Vec<String> {
    let document = demo.json("/api/v1/monitoring/gpu-metrics");
    let text = |gpu: &Value, field: &str| gpu[field].as_str().unwrap().to_owned();
    let gpus = document["gpus"].as_array().unwrap();
    gpus.iter()
        .map(|gpu| [text(gpu, "node"), text(gpu, "uuid"), text(gpu, "name")].join(" "))
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_fleet_and_another_seed_another() {
    let fleet = |seed: &str| inventory(&Demo::start(&["--seed", seed]).ready());
    assert_eq!(fleet("7"), fleet("7"));
    assert_ne!(fleet("7"), fleet("8"));
}

#[test]
fn simulated_time_passes() {
    let demo = Demo::start(&["--speed", "3600"]).ready();
    let now = || {
        demo.json("/api/v1/cluster")["timestamp"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = now();
    while now() == first {
        assert!(
            demo.started.elapsed() < crate::program::DEADLINE,
            "the simulated clock stands still at {first}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn probes_answer_and_name_their_checks() {
    let demo = Demo::start(&[]).ready();
    let check = |path: &str, expected: Value| assert_eq!(demo.json(path), expected, "{path}");
    check("/livez", serde_json::json!({"status": "ok", "checks": {}}));
    check(
        "/readyz",
        serde_json::json!({"status": "ok", "checks": {"fleet": "ok"}}),
    );
    let loops = serde_json::json!({"task fleet": "ok", "task server": "ok", "turns": "ok"});
    check("/healthz", serde_json::json!({"status": "ok", "checks": loops}));
}

#[test]
fn refusals_are_json_and_say_what_to_do() {
    let demo = Demo::start(&[]).ready();
    let check = |method: &str, path: &str, status: u16, error: &str, details: &str| {
        let answer = demo.request(method, path, "");
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            (answer.status, &body["error"]),
            (status, &Value::from(error)),
            "{method} {path}"
        );
        let words = body["details"].as_str().unwrap();
        assert!(words.contains(details), "{words}");
        assert_eq!(body.as_object().unwrap().len(), 2, "{body}");
    };
    check(
        "GET",
        "/nowhere",
        404,
        "not found",
        "there is nothing at /nowhere; try /",
    );
    check(
        "POST",
        "/metrics",
        405,
        "method not allowed",
        "/metrics answers GET and HEAD, not POST",
    );
    check(
        "GET",
        "/api/v1/monitoring/gpu-metrics?window=10m",
        400,
        "bad request",
        "leave `window` out",
    );
    assert_eq!(demo.request("DELETE", "/", "").header("allow"), Some("GET, HEAD"));
}

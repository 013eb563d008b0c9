//! Golden pages of the real program. `UPDATE_GOLDEN=1` writes them anew.

use std::time::{Duration, Instant};

use gpu_exposition::Format;

use super::machine::Machine;
use super::machines;
use super::reading::{normalised, normalised_json, parse};
use crate::exporter::DEADLINE;
use crate::golden;

const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0";
/// Nothing on a page changes any more when it has not for this long: several samples, and twice the kubelet.
const SETTLED: Duration = Duration::from_secs(3);

/// Waits until the golden file is what the program shows; when it never is, says where they differ.
#[track_caller]
pub(super) fn check(name: &str, show: impl Fn() -> String) {
    let file = format!("real/{name}");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        golden::check(&file, &settled(&show));
        return;
    }
    let expected = std::fs::read_to_string(golden::file(&file)).unwrap_or_default();
    let deadline = Instant::now() + DEADLINE;
    loop {
        let shown = show();
        if shown == expected || Instant::now() > deadline {
            golden::check(&file, &shown);
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn settled(show: &impl Fn() -> String) -> String {
    let (mut last, mut since) = (show(), Instant::now());
    let deadline = Instant::now() + DEADLINE;
    while since.elapsed() < SETTLED && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
        let now = show();
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    last
}

fn open_metrics(machine: &Machine) -> String {
    let answer = machine
        .exporter
        .ask("GET", "/metrics", &[("accept", OPEN_METRICS)]);
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    answer.text()
}

#[test]
fn six_machines_in_three_vocabularies() {
    for (name, plan) in machines::all() {
        let machine = plan().arguments(&["--vocabulary=gpu,dcgm,nvidia_smi"]).start();
        check(&format!("{name}.prom"), || normalised(&machine.page()));
        check(&format!("{name}.json"), || {
            normalised_json(&machine.exporter.get("/api/v1/monitoring/gpu-metrics").text())
        });
        parse(&machine.page(), Format::Text);
        let open = open_metrics(&machine);
        parse(&open, Format::OpenMetrics);
        assert!(open.ends_with("# EOF\n"), "{open}");
    }
}

#[test]
fn one_machine_in_open_metrics() {
    let machine = machines::t4_time_sliced()
        .arguments(&["--vocabulary=gpu,dcgm,nvidia_smi"])
        .start();
    check("t4-time-sliced.openmetrics", || {
        normalised(&open_metrics(&machine))
    });
}

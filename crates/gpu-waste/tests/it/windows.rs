//! Windows keep what they should, in the memory they should, whatever the clock does.

use std::time::Duration;

use gpu_model::FleetView;
use gpu_waste::{WindowSettings, Windows};
use jiff::SignedDuration;

use crate::toy::{Gpu, L4, causes, instant, pod, report_of, view, watched};

fn idle() -> Vec<Gpu> {
    vec![Gpu::idle("g", L4, 9000, pod("lab-0", "Notebook", "lab"))]
}

fn at(view: FleetView, seconds: i64) -> FleetView {
    FleetView {
        at: instant(0) + SignedDuration::from_secs(seconds),
        ..view
    }
}

#[test]
fn the_same_instant_twice_counts_once() {
    let mut twice = Windows::new(WindowSettings::default());
    let mut once = twice.clone();
    for cycle in 0..40 {
        once.observe(&view(cycle, &idle()));
        twice.observe(&view(cycle, &idle()));
        twice.observe(&view(cycle, &idle()));
    }
    assert_eq!(
        report_of(&once, None, instant(39)),
        report_of(&twice, None, instant(39))
    );
}

#[test]
fn more_frequent_looks_take_no_slots_and_keep_the_window() {
    let mut windows = Windows::new(WindowSettings::default());
    for second in 0..1200 {
        windows.observe(&at(view(0, &idle()), second));
    }
    let report = report_of(&windows, None, instant(0) + SignedDuration::from_secs(1199));
    assert_eq!(causes(&report), ["held-idle"]);
    assert!(report.window_seconds > 400, "{}", report.window_seconds);
}

#[test]
fn a_clock_that_steps_back_forgets_the_future_and_goes_on() {
    let mut windows = watched(60, |_| idle());
    for cycle in 0..30 {
        windows.observe(&view(cycle, &idle()));
        let report = report_of(&windows, None, instant(cycle));
        assert!(
            report
                .findings
                .iter()
                .all(|finding| finding.since <= report.at && finding.seen_at <= report.at)
        );
    }
    assert_eq!(causes(&report_of(&windows, None, instant(29))), ["held-idle"]);
}

#[test]
fn a_counter_that_was_reset_is_no_work_and_no_crash() {
    let script = |cycle: u32| {
        let busy = if cycle < 30 { 1_000_000 } else { u64::from(cycle) };
        vec![Gpu {
            busy: Some(busy),
            ..Gpu::idle("g", L4, 9000, pod("lab-0", "Notebook", "lab"))
        }]
    };
    let windows = watched(60, script);
    assert_eq!(causes(&report_of(&windows, None, instant(59))), ["held-idle"]);
}

#[test]
fn another_pod_on_the_same_gpu_starts_anew() {
    let script = |cycle| match cycle {
        0..54 => idle(),
        _ => vec![Gpu::idle("g", L4, 9000, pod("lab-1", "Notebook", "lab"))],
    };
    let windows = watched(60, script);
    assert!(report_of(&windows, None, instant(59)).findings.is_empty());
}

#[test]
fn gpus_that_are_gone_for_longer_than_the_window_are_dropped() {
    let script = |cycle| match cycle {
        0..20 => idle(),
        _ => vec![Gpu::free("other", L4)],
    };
    assert_eq!(watched(39, script).gpu_count(), 2);
    assert_eq!(watched(42, script).gpu_count(), 1);
}

#[test]
fn memory_stays_within_its_bound_and_does_not_grow() {
    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let gpus: Vec<Gpu> = NAMES
        .iter()
        .map(|name| Gpu::busy(name, L4, 700, pod("j", "Job", "j")))
        .collect();
    let mut windows = Windows::new(WindowSettings::default());
    let views: Vec<FleetView> = (0..400).map(|cycle| view(cycle, &gpus)).collect();
    let first = allocation_counter::measure(|| views[..20].iter().for_each(|view| windows.observe(view)));
    // Eight thousand GPUs at this rate are within ten megabytes.
    assert!(first.bytes_current <= 8 * 1350, "{first:?}");
    let later = allocation_counter::measure(|| views[20..].iter().for_each(|view| windows.observe(view)));
    assert!(later.bytes_current.abs() < 512, "{later:?}");
}

#[test]
fn odd_settings_are_bounded() {
    for (window, interval) in [(0, 0), (1, 1000), (10_000_000, 1)] {
        let mut windows = Windows::new(WindowSettings {
            window: Duration::from_secs(window),
            interval: Duration::from_secs(interval),
        });
        for cycle in 0..5 {
            windows.observe(&view(cycle, &idle()));
        }
        let _ = report_of(&windows, None, instant(5));
    }
}

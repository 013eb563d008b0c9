//! A workload that leaves its own pattern, when somebody asked to be told.

use std::collections::BTreeMap;

use gpu_model::Namespace;
use gpu_waste::{Cause, Deviations, PatternKey, Patterns, Settings, Surroundings, detect};
use jiff::SignedDuration;

use crate::toy::{Gpu, L4, instant, pod, watched};

/// Three weeks in which the service did this much at this hour.
fn usually(utilization: u16) -> Patterns {
    let key = PatternKey {
        namespace: Namespace::new("ml").expect("valid in tests"),
        kind: "Deployment".to_owned(),
        name: "s".to_owned(),
    };
    let mut patterns = Patterns::default();
    for week in 1..=3 {
        for minute in 0..40 {
            let at = instant(0) - SignedDuration::from_hours(168 * week) + SignedDuration::from_mins(minute);
            patterns.note(key.clone(), at, utilization);
        }
    }
    patterns
}

#[track_caller]
fn check(usual: u16, now: u16, deviations: Deviations, expected: usize) {
    let windows = watched(60, |_| {
        vec![Gpu::busy("g", L4, now, pod("s-0", "Deployment", "s"))]
    });
    let (patterns, rates) = (usually(usual), BTreeMap::new());
    let surroundings = Surroundings {
        picture: None,
        rates: &rates,
        patterns: Some(&patterns),
    };
    let settings = Settings {
        deviations,
        ..Settings::default()
    };
    let report = detect(&windows, &surroundings, &settings, instant(59));
    let found = report
        .findings
        .iter()
        .filter(|finding| finding.cause == Cause::Deviation);
    assert_eq!(found.count(), expected, "{:#?}", report.findings);
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.wasted_milligpus == 0)
    );
}

#[test]
fn leaving_the_pattern_of_three_weeks_is_told_to_who_asks() {
    check(850, 400, Deviations::Reported, 1);
    check(300, 900, Deviations::Reported, 1);
    check(850, 400, Deviations::Ignored, 0);
    check(600, 620, Deviations::Reported, 0);
}

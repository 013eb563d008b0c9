//! Detection on simulated fleets.

use std::collections::BTreeSet;

use gpu_waste::{Cause, Settings, Windows, detect};

use crate::{alone, empty, rates, watch, world};

#[test]
fn the_account_is_every_gpu_and_findings_have_money_and_evidence() {
    let mut world = world(12, 7);
    let mut windows = empty();
    watch(&mut world, &mut windows, 90);
    let rates = rates(&world);
    let report = detect(&windows, &alone(&rates), &Settings::default(), world.now());
    let total: u64 = report.account.iter().map(|total| total.milligpus).sum();
    assert_eq!(total, 96_000);
    assert_eq!(report.watched_milligpus, total);
    let causes: BTreeSet<Cause> = report.findings.iter().map(|finding| finding.cause).collect();
    for cause in [Cause::Unallocated, Cause::HeldIdle, Cause::NeverUsed] {
        assert!(causes.contains(&cause), "{causes:?}");
    }
    for finding in &report.findings {
        assert!(
            finding
                .evidence
                .iter()
                .any(|evidence| !evidence.series.is_empty()),
            "{}",
            finding.id
        );
        assert!(finding.monthly.is_some() && finding.score >= 50, "{}", finding.id);
        assert!(
            !finding.cause.is_waste() || finding.wasted_milligpus > 0,
            "{}",
            finding.id
        );
    }
}

#[test]
fn detecting_twice_gives_the_same_report() {
    let mut world = world(12, 3);
    let mut windows = empty();
    watch(&mut world, &mut windows, 40);
    let rates = rates(&world);
    let once = detect(&windows, &alone(&rates), &Settings::default(), world.now());
    assert_eq!(
        once,
        detect(&windows, &alone(&rates), &Settings::default(), world.now())
    );
}

#[test]
fn nothing_observed_is_nothing_found() {
    let rates = rates(&world(1, 1));
    let report = detect(&empty(), &alone(&rates), &Settings::default(), world(1, 1).now());
    assert!(report.findings.is_empty() && report.account.is_empty());
}

#[test]
fn facts_survive_a_restart_through_the_store() {
    let mut world = world(12, 7);
    let mut before = empty();
    watch(&mut world, &mut before, 90);
    let rates = rates(&world);
    let json = serde_json::to_string(&before.memory()).expect("facts are plain values");
    let mut after: Windows = empty();
    after.restore(serde_json::from_str(&json).expect("what was written can be read"));
    watch(&mut world, &mut after, 20);
    let kept = detect(&after, &alone(&rates), &Settings::default(), world.now());
    let older = kept.findings.iter().filter(|finding| {
        finding.cause == Cause::HeldIdle && world.now().duration_since(finding.since).as_mins() > 20
    });
    assert!(older.count() > 0, "idle times of the first run are kept");
}

//! When something is told, when not, and what its end is worth.

use gpu_model::{PodKey, Workload};

use super::*;

const MINUTE: i64 = 60;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn finding(cause: Cause, pod: &str, monthly_dollars: Option<i64>) -> Finding {
    Finding {
        id: FindingId(format!("{}/pod/ml/{pod}/u1", cause.as_str())),
        cause,
        subject: Subject::Pod {
            pod: PodKey {
                namespace: "ml".parse().unwrap(),
                name: pod.parse().unwrap(),
            },
            uid: Some("u1".parse().unwrap()),
            workload: Some(Workload {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                name: "trainer".to_owned(),
                uid: "w1".to_owned(),
                replicas: Some(1),
                is_served: None,
            }),
        },
        node: None,
        gpus: Vec::new(),
        since: at(0),
        seen_at: at(0),
        score: 80,
        confidence: gpu_model::Permille::new(900).unwrap(),
        wasted_milligpus: 1000,
        wasted_milligpu_hours: 100,
        monthly: monthly_dollars.map(|dollars| NanoUsd(dollars * 1_000_000_000)),
        price_note: "list price".to_owned(),
        evidence: Vec::new(),
        explanation: "It does nothing.".to_owned(),
        fix: None,
    }
}

fn seen(state: SightState, held: u64) -> impl Fn(&About) -> Sight {
    move |_| Sight { state, held }
}

/// One cycle that carries out everything, and the words of what it did.
fn cycle(
    diary: &mut Diary,
    findings: &[Finding],
    sight: impl Fn(&About) -> Sight,
    seconds: i64,
) -> Vec<String> {
    let turn = std::mem::take(diary).turn(findings, sight, at(seconds), &TellSettings::default());
    *diary = turn.diary;
    turn.acts
        .iter()
        .map(|act| {
            let realised = diary.carried_out(act, at(seconds));
            let saved = realised.and_then(|realised| realised.saved_monthly);
            match act.kind {
                ActKind::Tell => format!("tell {}", act.entry.cause.as_str()),
                ActKind::Repeat => format!("repeat {}", act.entry.cause.as_str()),
                ActKind::Resolve(outcome) => {
                    let saved = saved.map_or("nothing".to_owned(), crate::tell::dollars);
                    format!("{} saved {saved}", outcome.as_str())
                }
            }
        })
        .collect()
}

#[track_caller]
fn check(cause: Cause, monthly: Option<i64>, minutes: i64, expected: &[&str]) {
    let mut diary = Diary::default();
    let told = cycle(
        &mut diary,
        &[finding(cause, "a", monthly)],
        seen(SightState::Measured, 1),
        minutes * MINUTE,
    );
    assert_eq!(told, expected, "{cause:?} after {minutes} minutes");
}

#[test]
fn idle_gpus_are_told_after_a_window_and_others_later_and_above_the_floor() {
    check(Cause::HeldIdle, Some(1), 9, &[]);
    check(Cause::HeldIdle, Some(1), 10, &["tell held-idle"]);
    check(Cause::NeverUsed, None, 10, &["tell never-used"]);
    check(Cause::UnderUsed, Some(500), 29, &[]);
    check(Cause::UnderUsed, Some(500), 30, &["tell under-used"]);
    check(Cause::UnderUsed, Some(9), 300, &[]);
    // Without a price nobody can say that it is little.
    check(Cause::UnderUsed, None, 30, &["tell under-used"]);
    check(Cause::Contradiction, Some(0), 30, &["tell contradiction"]);
    check(Cause::Deviation, Some(500), 300, &[]);
    check(Cause::Unallocated, Some(500), 300, &[]);
}

#[test]
fn it_is_told_once_and_then_goes_on_as_a_series() {
    let mut diary = Diary::default();
    let one = [finding(Cause::HeldIdle, "a", Some(900))];
    assert_eq!(
        cycle(&mut diary, &one, seen(SightState::Measured, 1), 10 * MINUTE),
        ["tell held-idle"]
    );
    for minute in 11..55 {
        assert!(cycle(&mut diary, &one, seen(SightState::Measured, 1), minute * MINUTE).is_empty());
    }
    assert_eq!(
        cycle(&mut diary, &one, seen(SightState::Measured, 1), 55 * MINUTE),
        ["repeat held-idle"]
    );
    // Another leader with the same memory says nothing either.
    let text = serde_json::to_string(diary.entries.values().next().unwrap()).unwrap();
    let entry: Entry = serde_json::from_str(&text).unwrap();
    let mut other = Diary {
        entries: [(entry.id.clone(), entry)].into(),
    };
    assert!(cycle(&mut other, &one, seen(SightState::Measured, 1), 56 * MINUTE).is_empty());
}

#[test]
fn it_is_over_after_a_whole_window_with_data() {
    let mut diary = Diary::default();
    let one = [finding(Cause::HeldIdle, "a", Some(900))];
    cycle(&mut diary, &one, seen(SightState::Measured, 1), 10 * MINUTE);
    assert!(cycle(&mut diary, &[], seen(SightState::Measured, 1), 11 * MINUTE).is_empty());
    // The source falls silent: that is no resolution, and the window begins anew.
    for minute in 12..40 {
        assert!(cycle(&mut diary, &[], seen(SightState::Silent, 1), minute * MINUTE).is_empty());
    }
    for minute in 40..50 {
        assert!(cycle(&mut diary, &[], seen(SightState::Measured, 1), minute * MINUTE).is_empty());
    }
    assert_eq!(
        cycle(&mut diary, &[], seen(SightState::Measured, 1), 50 * MINUTE),
        ["used saved $900.00"]
    );
    assert!(diary.entries.is_empty());
    // It comes back between: nothing was over.
    cycle(&mut diary, &one, seen(SightState::Measured, 1), 60 * MINUTE);
    cycle(&mut diary, &[], seen(SightState::Measured, 1), 61 * MINUTE);
    assert!(cycle(&mut diary, &one, seen(SightState::Measured, 1), 65 * MINUTE).is_empty());
    assert!(cycle(&mut diary, &[], seen(SightState::Measured, 1), 72 * MINUTE).is_empty());
}

#[track_caller]
fn check_end(sight: Sight, still_wasted: &[Finding], kind: &str, expected: &str) {
    let mut diary = Diary::default();
    let mut one = finding(Cause::HeldIdle, "a", Some(900));
    if let Subject::Pod {
        workload: Some(workload),
        ..
    } = &mut one.subject
    {
        kind.clone_into(&mut workload.kind);
    }
    cycle(&mut diary, &[one], seen(SightState::Measured, 2), 10 * MINUTE);
    cycle(&mut diary, still_wasted, |_| sight, 20 * MINUTE);
    let end = cycle(&mut diary, still_wasted, |_| sight, 30 * MINUTE);
    assert_eq!(end, [expected]);
}

#[test]
fn what_an_end_is_worth_depends_on_what_was_done() {
    let gone = |held| Sight {
        state: SightState::Gone,
        held,
    };
    let there = |held| Sight {
        state: SightState::Measured,
        held,
    };
    check_end(gone(0), &[], "Deployment", "released saved $900.00");
    check_end(gone(1), &[], "Deployment", "released saved $900.00");
    check_end(there(1), &[], "Deployment", "released saved $900.00");
    check_end(there(2), &[], "Deployment", "used saved $900.00");
    // A rollout is no saving, and the end of a job is nobody's.
    check_end(gone(2), &[], "Deployment", "replaced saved nothing");
    check_end(gone(0), &[], "Job", "ended saved nothing");
    // It turned into a smaller waste: only the difference is saved.
    let smaller = finding(Cause::UnderUsed, "a", Some(9));
    check_end(there(2), &[smaller], "Deployment", "used saved $891.00");
    let unpriced = finding(Cause::UnderUsed, "a", None);
    let mut unpriced = unpriced;
    unpriced.since = at(25 * MINUTE);
    check_end(there(2), &[unpriced], "Deployment", "used saved nothing");
}

#[test]
fn whoever_asks_to_be_left_alone_is_and_saves_nothing() {
    let mut diary = Diary::default();
    let one = [finding(Cause::HeldIdle, "a", Some(900))];
    cycle(&mut diary, &one, seen(SightState::Measured, 1), 10 * MINUTE);
    assert!(cycle(&mut diary, &[], seen(SightState::Exempt, 1), 11 * MINUTE).is_empty());
    assert!(diary.entries.is_empty());
}

#[test]
fn a_cycle_is_bounded_and_what_waits_is_told_next_the_dearest_first() {
    let settings = TellSettings {
        max_events_per_cycle: 2,
        ..TellSettings::default()
    };
    let findings: Vec<Finding> = (0..5)
        .map(|number| finding(Cause::HeldIdle, &format!("pod-{number}"), Some(number)))
        .collect();
    let mut diary = Diary::default();
    let mut told = Vec::new();
    for minute in 10..13 {
        let turn = diary.turn(
            &findings,
            seen(SightState::Measured, 1),
            at(minute * MINUTE),
            &settings,
        );
        assert!(turn.acts.len() <= 2);
        diary = turn.diary;
        for act in &turn.acts {
            diary.carried_out(act, at(minute * MINUTE));
            told.push(act.entry.monthly.unwrap().0 / 1_000_000_000);
        }
    }
    assert_eq!(told, [4, 3, 2, 1, 0]);
}

#[test]
fn what_could_not_be_written_is_told_again() {
    let one = [finding(Cause::HeldIdle, "a", Some(900))];
    let settings = TellSettings::default();
    let turn = Diary::default().turn(&one, seen(SightState::Measured, 1), at(10 * MINUTE), &settings);
    // Nothing was carried out.
    let turn = turn
        .diary
        .turn(&one, seen(SightState::Measured, 1), at(11 * MINUTE), &settings);
    assert_eq!(turn.acts.len(), 1);
    assert_eq!(turn.acts[0].kind, ActKind::Tell);
}

//! When a condition began is where walking forward would have met it.

use super::Script;
use crate::fates::Fate;
use crate::noise::Dice;
use crate::truth::WorkloadKind;

/// Compares the answer at many ages with the slow way: second by second from the start.
#[track_caller]
fn check(kind: WorkloadKind, fate: Fate) {
    const LIFE: i64 = 6 * 3600;
    const WALL: i64 = 1_767_600_000;
    for seed in 0..4 {
        let dice = Dice::of_world(seed);
        let script = Script::draw(kind, fate, dice, dice, LIFE);
        let mut condition = script.at(0, WALL).0;
        let mut since = 0;
        for age in 0..LIFE {
            let now = script.at(age, WALL + age).0;
            if now != condition {
                (condition, since) = (now, age);
            }
            if age % 97 == 0 {
                assert_eq!(
                    script.began(age, WALL + age),
                    since,
                    "seed {seed}, {now:?} at {age}"
                );
            }
        }
    }
}

#[test]
fn training_dips_and_saves() {
    check(WorkloadKind::Training, Fate::Works);
    check(WorkloadKind::Training, Fate::Stalls);
}

#[test]
fn notebooks_are_used_in_bursts() {
    check(WorkloadKind::Notebook, Fate::Works);
    check(WorkloadKind::Notebook, Fate::DiesHolding);
    check(WorkloadKind::Notebook, Fate::NeverStarts);
}

#[test]
fn services_warm_up_once() {
    check(WorkloadKind::Inference, Fate::Works);
    check(WorkloadKind::Inference, Fate::StandsBy);
    check(WorkloadKind::Inference, Fate::TooSmall);
}

#[test]
fn jobs_work_or_starve() {
    check(WorkloadKind::Batch, Fate::StarvesForInput);
    check(WorkloadKind::Batch, Fate::DiesHolding);
    check(WorkloadKind::WorkflowStep, Fate::Works);
}

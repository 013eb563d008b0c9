//! The same seed and the same instant give the same bytes, however the instant was reached.

use crate::{seconds, world};

/// The same instant by steps of different size.
#[track_caller]
fn check_steps(seed: u64, until: u64, step: u64) {
    let mut at_once = world(12, seed);
    at_once.advance(seconds(until));
    let mut in_steps = world(12, seed);
    for _ in 0..until / step {
        in_steps.advance(seconds(step));
    }
    assert_eq!(at_once.now(), in_steps.now());
    assert_eq!(at_once.observe(), in_steps.observe());
    assert_eq!(at_once.truth(), in_steps.truth());
}

#[test]
fn one_minute_in_one_step_or_in_sixty() {
    check_steps(1, 60, 1);
}

#[test]
fn two_hours_in_one_step_or_in_many() {
    check_steps(2, 7200, 48);
}

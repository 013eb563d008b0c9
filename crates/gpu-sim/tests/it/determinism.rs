//! The same seed and the same instant give the same bytes, however the instant was reached.

use std::time::Duration;

use crate::{seconds, world};

/// The same instant by steps of different size.
#[track_caller]
fn check_steps(seed: u64, until: Duration, step: Duration) {
    let mut at_once = world(12, seed);
    at_once.advance(until);
    let mut in_steps = world(12, seed);
    while in_steps.now() < at_once.now() {
        in_steps.advance(step);
    }
    assert_eq!(at_once.now(), in_steps.now());
    assert_eq!(at_once.observe(), in_steps.observe());
    assert_eq!(at_once.truth(), in_steps.truth());
}

#[test]
fn one_minute_in_one_step_or_in_sixty() {
    check_steps(1, seconds(60), seconds(1));
}

#[test]
fn one_hour_in_one_step_or_in_many() {
    check_steps(2, seconds(3600), seconds(48));
}

#[test]
fn steps_may_be_shorter_than_the_worlds_own() {
    check_steps(3, seconds(30), Duration::from_millis(250));
}

#[test]
fn the_same_seed_gives_the_same_fleet_and_another_seed_another() {
    let (one, again, other) = (
        world(12, 7).observe(),
        world(12, 7).observe(),
        world(12, 8).observe(),
    );
    assert_eq!(one, again);
    assert_ne!(one, other);
}

#[test]
fn looking_changes_nothing() {
    let (mut watched, mut unwatched) = (world(4, 9), world(4, 9));
    for _ in 0..120 {
        watched.advance(seconds(1));
        let _ = (watched.observe(), watched.truth());
    }
    unwatched.advance(seconds(120));
    assert_eq!(watched.observe(), unwatched.observe());
}

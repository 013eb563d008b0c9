//! How real time becomes simulated time.

use std::time::Duration;

use super::due;

#[track_caller]
fn check(elapsed_millis: u64, speed: u32, expected_millis: u64) {
    assert_eq!(
        due(Duration::from_millis(elapsed_millis), speed),
        Duration::from_millis(expected_millis)
    );
}

#[test]
fn simulated_time_runs_at_the_asked_speed() {
    check(1000, 1, 1000);
    check(1040, 60, 62_400);
}

#[test]
fn catching_up_after_a_stop_is_bounded() {
    check(8 * 3600 * 1000, 60, 180_000);
}

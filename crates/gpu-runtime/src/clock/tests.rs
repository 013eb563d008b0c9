//! What the two clocks promise.

use std::time::Duration;

use jiff::Timestamp;

use super::{Clock, ManualClock, SystemClock};

#[test]
fn a_manual_clock_moves_both_faces_together() {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let clock = ManualClock::new(start);
    let before = clock.monotonic();
    clock.advance(Duration::from_secs(90));
    assert_eq!(clock.now().to_string(), "2026-01-01T00:01:30Z");
    assert_eq!(clock.monotonic() - before, Duration::from_secs(90));
}

#[test]
fn a_step_of_the_day_time_leaves_the_monotonic_face_alone() {
    let clock = ManualClock::new("2026-01-01T12:00:00Z".parse().unwrap());
    let before = clock.monotonic();
    clock.step_to("2026-01-01T11:00:00Z".parse().unwrap());
    assert_eq!(clock.now().to_string(), "2026-01-01T11:00:00Z");
    assert_eq!(clock.monotonic(), before);
}

#[tokio::test(start_paused = true)]
async fn the_system_clock_follows_paused_time() {
    let before = SystemClock.monotonic();
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(SystemClock.monotonic() - before, Duration::from_secs(3600));
}

//! What the probes say of a loop that has not turned, turns, and hangs.

use std::sync::Arc;
use std::time::Duration;

use gpu_runtime::ManualClock;
use gpu_runtime::tasks::TaskBoard;

use super::Health;

#[test]
fn a_loop_is_healthy_from_its_first_turn_until_it_hangs() {
    let clock = Arc::new(ManualClock::new("2026-01-01T00:00:00Z".parse().unwrap()));
    let health = Health::new(TaskBoard::default(), clock.clone(), Duration::from_secs(1));
    let check = |expected: Result<(), &str>| assert_eq!(health.turns(), expected.map_err(str::to_owned));

    check(Err("the first turn is not done"));
    health.turned();
    check(Ok(()));
    clock.advance(Duration::from_secs(32));
    check(Ok(()));
    clock.advance(Duration::from_secs(1));
    check(Err("the last turn was 33 seconds ago"));
    health.turned();
    check(Ok(()));
}

//! Restarts, giving up and stopping, on paused time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{anyhow, bail};
use tokio::time::{Instant, sleep};

use super::failures::{Failures, Verdict};
use super::{TaskState, Tasks};
use crate::{Chain, Shutdown};

/// Runs the verdicts for failures at the given seconds.
#[track_caller]
fn check_verdicts(failures_at: &[u64], expected: &str) {
    let start = Instant::now();
    let mut failures = Failures::default();
    let words = failures_at
        .iter()
        .map(|at| match failures.record(start + Duration::from_secs(*at)) {
            Verdict::Restart { after } => format!("{}s", after.as_secs()),
            Verdict::GiveUp => "give up".to_owned(),
        });
    assert_eq!(words.collect::<Vec<_>>().join(" "), expected);
}

#[test]
fn pauses_double_and_the_fifth_failure_within_ten_minutes_is_the_last() {
    check_verdicts(&[0, 1, 3, 7, 15], "1s 2s 4s 8s give up");
    check_verdicts(&[0, 100, 200, 300, 599], "1s 2s 4s 8s give up");
}

#[test]
fn failures_older_than_ten_minutes_are_forgotten() {
    check_verdicts(&[0, 100, 200, 300, 600], "1s 2s 4s 8s 8s");
    check_verdicts(&[0, 700, 1400, 2100, 2800, 3500], "1s 1s 1s 1s 1s 1s");
}

fn counter() -> Arc<AtomicU32> {
    Arc::new(AtomicU32::new(0))
}

#[tokio::test(start_paused = true)]
async fn a_task_that_keeps_failing_ends_the_program_with_its_name_and_last_error() {
    let mut tasks = Tasks::new(Shutdown::new());
    let attempts = counter();
    let seen = attempts.clone();
    tasks.start("prices", move || {
        let attempt = seen.fetch_add(1, Ordering::Relaxed) + 1;
        async move { Err(anyhow!("attempt {attempt}").context("failed to fetch prices")) }
    });
    let started = Instant::now();
    let gave_up = tasks.finish(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(
        Chain(&gave_up).to_string(),
        "task `prices` failed 5 times within 10 minutes, giving up: failed to fetch prices: attempt 5"
    );
    assert_eq!(started.elapsed().as_secs(), 1 + 2 + 4 + 8);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_and_the_next_attempt_starts_afresh() {
    let shutdown = Shutdown::new();
    let mut tasks = Tasks::new(shutdown.clone());
    let attempts = counter();
    let (seen, stop) = (attempts.clone(), shutdown.clone());
    tasks.start("sampler", move || {
        let (attempt, stop) = (seen.fetch_add(1, Ordering::Relaxed), stop.clone());
        async move {
            assert!(attempt > 0, "the first object was poison");
            stop.trigger();
            Ok(())
        }
    });
    let board = tasks.board();
    tasks.finish(Duration::from_secs(1)).await.unwrap();
    let status = &board.snapshot()["sampler"];
    assert_eq!((status.state, status.failures), (TaskState::Finished, 1));
    assert_eq!(
        status.last_error.as_deref(),
        Some("panicked: the first object was poison")
    );
    assert_eq!(attempts.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn one_failing_task_leaves_the_others_running() {
    let shutdown = Shutdown::new();
    let mut tasks = Tasks::new(shutdown.clone());
    tasks.start("broken", || async { bail!("no luck") });
    let stop = shutdown.clone();
    tasks.start("steady", move || {
        let stop = stop.clone();
        async move {
            sleep(Duration::from_secs(5)).await;
            stop.trigger();
            Ok(())
        }
    });
    let board = tasks.board();
    tasks.finish(Duration::from_secs(1)).await.unwrap();
    let snapshot = board.snapshot();
    assert_eq!(
        (snapshot["steady"].state, snapshot["steady"].failures),
        (TaskState::Finished, 0)
    );
    assert_eq!(snapshot["broken"].failures, 3, "failures at 0 s, 1 s and 3 s");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ignores_the_shutdown_is_cancelled_at_the_deadline() {
    let shutdown = Shutdown::new();
    let mut tasks = Tasks::new(shutdown.clone());
    tasks.start("deaf", || async {
        sleep(Duration::from_secs(3600)).await;
        Ok(())
    });
    shutdown.trigger();
    let started = Instant::now();
    tasks.finish(Duration::from_secs(2)).await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn the_pause_before_a_restart_ends_with_the_shutdown() {
    let shutdown = Shutdown::new();
    let mut tasks = Tasks::new(shutdown.clone());
    tasks.start("broken", || async { bail!("no luck") });
    let started = Instant::now();
    tokio::spawn({
        let shutdown = shutdown.clone();
        async move {
            sleep(Duration::from_millis(4500)).await;
            shutdown.trigger();
        }
    });
    tasks.finish(Duration::from_secs(60)).await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_millis(4500));
}

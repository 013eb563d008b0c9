//! Probes: whether the process answers, whether its loops turn, and whether it has something to show.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse as _, Response};
use gpu_runtime::Clock;
use gpu_runtime::tasks::{TaskBoard, TaskState};
use serde::Serialize;

use super::Served;

/// What the probes look at.
pub(crate) struct Health {
    tasks: TaskBoard,
    clock: Arc<dyn Clock>,
    /// When the loop that makes the view last finished a turn.
    turned_at: Mutex<Option<Instant>>,
    stuck_after: Duration,
}

/// However seldom a turn is due, this long past it is no slow machine but a hang.
const SLACK: Duration = Duration::from_secs(30);

impl Health {
    /// `interval` is the time between two turns of the loop.
    pub(crate) fn new(tasks: TaskBoard, clock: Arc<dyn Clock>, interval: Duration) -> Self {
        Self {
            tasks,
            clock,
            turned_at: Mutex::new(None),
            stuck_after: interval.saturating_mul(2).saturating_add(SLACK),
        }
    }

    /// Takes note that the loop has finished a turn.
    pub(crate) fn turned(&self) {
        *self.turned_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.clock.monotonic());
    }

    /// Every check by name with the words for what is wrong.
    fn checks(&self) -> BTreeMap<String, Result<(), String>> {
        let tasks = self.tasks.snapshot().into_iter().map(|(name, task)| {
            let outcome = match (task.state, task.last_error) {
                (TaskState::Running | TaskState::Finished, _) => Ok(()),
                (state, Some(error)) => Err(format!("{}: {error}", state.as_str())),
                (state, None) => Err(state.as_str().to_owned()),
            };
            (format!("task {name}"), outcome)
        });
        tasks.chain([("turns".to_owned(), self.turns())]).collect()
    }

    fn turns(&self) -> Result<(), String> {
        let turned_at = *self.turned_at.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = turned_at else {
            return Err("the first turn is not done".to_owned());
        };
        let age = self.clock.monotonic().saturating_duration_since(at);
        if age > self.stuck_after {
            return Err(format!("the last turn was {} seconds ago", age.as_secs()));
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Report {
    status: &'static str,
    checks: BTreeMap<String, String>,
}

/// The executor answers; nothing else may end the process from outside.
pub(super) async fn livez() -> Response {
    answer(BTreeMap::new())
}

/// Every loop by name.
pub(super) async fn healthz(State(served): State<Served>) -> Response {
    answer(served.health.checks())
}

/// Every dependency by name, for people and alerts: losing one of them takes nobody's traffic away.
pub(super) async fn readyz(State(served): State<Served>) -> Response {
    let mut checks = served.control.dependencies();
    let seen = match served.pages.current() {
        Some(_) => Ok(()),
        None => Err("the first look at the fleet is not done".to_owned()),
    };
    checks.insert("fleet".to_owned(), seen);
    answer(checks)
}

/// Whether requests can be answered at all; this alone decides about the pod's traffic.
pub(super) async fn serving(State(served): State<Served>) -> Response {
    let outcome = served.control.waiting_for().map_or(Ok(()), Err);
    answer(BTreeMap::from([("serving".to_owned(), outcome)]))
}

fn answer(checks: BTreeMap<String, Result<(), String>>) -> Response {
    let (code, status) = match checks.values().all(Result::is_ok) {
        true => (StatusCode::OK, "ok"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "failing"),
    };
    let words = |outcome: Result<(), String>| outcome.err().unwrap_or_else(|| "ok".to_owned());
    let checks = checks
        .into_iter()
        .map(|(name, outcome)| (name, words(outcome)))
        .collect();
    (
        code,
        [(CACHE_CONTROL, "no-store")],
        Json(Report { status, checks }),
    )
        .into_response()
}

#[cfg(test)]
mod tests;

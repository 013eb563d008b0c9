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
}

/// A turn is due every second. Half a minute without one is no slow machine but a hang.
const STUCK_AFTER: Duration = Duration::from_secs(30);

impl Health {
    pub(crate) fn new(tasks: TaskBoard, clock: Arc<dyn Clock>) -> Self {
        Self {
            tasks,
            clock,
            turned_at: Mutex::new(None),
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
        if age > STUCK_AFTER {
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

/// Whether there is a view to serve.
pub(super) async fn readyz(State(served): State<Served>) -> Response {
    let seen = match served.pages.current() {
        Some(_) => Ok(()),
        None => Err("the first look at the fleet is not done".to_owned()),
    };
    answer(BTreeMap::from([("fleet".to_owned(), seen)]))
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

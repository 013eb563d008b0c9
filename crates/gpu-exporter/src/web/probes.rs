//! The two questions of the kubelet: does it live, and is there something to read. A node without a driver is ready: its page
//! says that the driver does not answer, and a pod that is never ready would only hide that.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use gpu_runtime::http::Refusal;
use serde::Serialize;

use super::Site;
use crate::page::DRIVER_SOURCES;
use crate::snapshot::{DeviceState, NodeSnapshot, SourceStatus};

/// When the collection last made a snapshot, by a clock that nobody sets.
pub struct Pulse {
    seen: Mutex<Beat>,
    patience: Duration,
}

struct Beat {
    sequence: u64,
    at: Instant,
}

impl Pulse {
    /// A turn waits for no device longer than its interval; half a minute more is a machine that starves.
    const SLACK: Duration = Duration::from_secs(30);

    /// A pulse for a collection that turns every `interval`.
    pub fn new(interval: Duration) -> Self {
        let seen = Beat {
            sequence: 0,
            at: Instant::now(),
        };
        Self {
            seen: Mutex::new(seen),
            patience: interval * 3 + Self::SLACK,
        }
    }

    /// Notes the newest snapshot and returns how long ago one was new.
    pub fn feel(&self, sequence: u64) -> Duration {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.sequence != sequence {
            *seen = Beat {
                sequence,
                at: Instant::now(),
            };
        }
        seen.at.elapsed()
    }
}

pub(super) async fn health(State(site): State<Site>) -> Response {
    let quiet = site.pulse.feel((site.newest)().sequence);
    if quiet < site.pulse.patience {
        return (StatusCode::OK, "ok\n").into_response();
    }
    let details = format!(
        "the collection has not turned for {} seconds; the exporter should be restarted",
        quiet.as_secs()
    );
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, details).into_response()
}

#[derive(Serialize)]
struct Readiness<'a> {
    status: &'static str,
    sources: Vec<SourceState<'a>>,
}

#[derive(Serialize)]
struct SourceState<'a> {
    name: &'static str,
    up: bool,
    /// What failed and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

pub(super) async fn ready(State(site): State<Site>) -> Response {
    let snapshot = (site.newest)();
    if let Err(missing) = first_collection(&snapshot) {
        return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, missing).into_response();
    }
    Json(Readiness {
        status: "ready",
        sources: snapshot.sources.iter().map(SourceState::of).collect(),
    })
    .into_response()
}

impl<'a> SourceState<'a> {
    fn of(source: &'a SourceStatus) -> Self {
        Self {
            name: source.name,
            up: source.up,
            problem: source.problem.as_deref(),
        }
    }
}

/// Whether every driver has been asked and every device has answered or failed; otherwise what is still missing.
pub fn first_collection(snapshot: &NodeSnapshot) -> Result<(), String> {
    if snapshot.sequence == 0 {
        return Err("the first collection has not ended yet".to_owned());
    }
    let untried = |source: &&SourceStatus| {
        DRIVER_SOURCES.contains(&source.name) && !source.up && source.problem.is_none()
    };
    if let Some(source) = snapshot.sources.iter().find(untried) {
        return Err(format!(
            "the driver behind `{}` has not answered yet",
            source.name
        ));
    }
    let silent = snapshot
        .devices
        .iter()
        .filter(|device| device.age.is_none() && device.state == DeviceState::Up)
        .count();
    if silent > 0 {
        return Err(format!("{silent} GPUs have not been read yet"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

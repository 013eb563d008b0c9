//! The one way by which this program changes a cluster.
//!
//! A [`Change`] cannot be made without a condition under which the server takes it: a name that only the first of two writers gets, or the
//! resource version of the object that was looked at. The permit is looked at right before the request is sent; a process that is stopped
//! between the two and woken after somebody else acted sends a request that the server refuses.

mod change;
mod counts;
#[cfg(feature = "failpoints")]
pub mod failpoint;

use std::sync::Arc;
use std::time::Duration;

use gpu_runtime::Chain;
use kube::{Client, Config};
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tracing::{debug, info};

pub use change::{Change, ChangeError, WriteKind};
pub use counts::{WriteCounts, WriteResult};

use super::pause::{Pause, PauseState, PauseWatch};
use super::standing::{Leadership, WritePermit};

/// Whether changes are made or only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Live,
    /// Logs the same plan and sends nothing.
    DryRun,
}

/// What one change may cost.
#[derive(Debug, Clone, Copy)]
pub struct WriteLimits {
    /// Sendings of one change, the first included. Repeating is safe because of the condition.
    pub attempts: u32,
    /// For one sending.
    pub timeout: Duration,
    /// Before the second sending; it doubles from there.
    pub pause: Duration,
}

impl Default for WriteLimits {
    fn default() -> Self {
        Self {
            attempts: 3,
            timeout: Duration::from_secs(5),
            pause: Duration::from_millis(200),
        }
    }
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// The object as the server has it now.
    Done(Value),
    /// It would have been sent.
    Planned,
    /// The condition did not hold: somebody was there before, and nothing was changed.
    Refused(Refusal),
}

impl Written {
    /// Whether the change is made, or would be.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Planned)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// An object of that name is there already.
    Exists,
    /// The object changed since it was looked at.
    Conflict,
    /// The object is no longer there.
    Gone,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("this replica does not lead")]
    NotLeader,
    #[error("writes are paused by {} since {}: {}", .0.by, .0.since, .0.why)]
    Paused(Pause),
    #[error("it is not known whether writes are paused")]
    PauseUnknown,
    #[error("the API server does not allow this to {what}")]
    Denied { what: String, source: Box<kube::Error> },
    #[error("failed to {what}")]
    Unreachable {
        what: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The way to the API server for changes. Clones share their counts.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    leadership: Leadership,
    pause: PauseWatch,
    mode: Mode,
    limits: WriteLimits,
    counts: Arc<WriteCounts>,
}

/// A client that does not repeat requests by itself: a repetition must pass the permit again.
pub fn client_for_writes(mut config: Config) -> kube::Result<Client> {
    config.default_retry = false;
    Client::try_from(config)
}

impl Writer {
    /// `client` is made by [`client_for_writes`].
    pub fn new(
        client: Client,
        leadership: Leadership,
        pause: PauseWatch,
        mode: Mode,
        limits: WriteLimits,
    ) -> Self {
        Self {
            client,
            leadership,
            pause,
            mode,
            limits,
            counts: Arc::default(),
        }
    }

    pub fn counts(&self) -> &WriteCounts {
        &self.counts
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The client, for reading.
    pub fn reader(&self) -> &Client {
        &self.client
    }

    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// A permit if this replica may write now, or why not.
    pub fn permit(&self) -> Result<WritePermit, WriteError> {
        match self.pause.state() {
            PauseState::Running => self.leadership.guard().ok_or(WriteError::NotLeader),
            PauseState::Paused(pause) => Err(WriteError::Paused(pause)),
            PauseState::Unknown => Err(WriteError::PauseUnknown),
        }
    }

    /// Makes a change, if the permit still holds, writes are not paused, and the server finds the condition met.
    pub async fn send(&self, permit: &WritePermit, change: &Change) -> Result<Written, WriteError> {
        let outcome = self.attempt_all(permit, change).await;
        self.counts.add(change.kind(), WriteResult::of(&outcome));
        match &outcome {
            Ok(Written::Done(_)) => debug!(kind = change.kind().as_str(), object = change.object(), "wrote"),
            Ok(Written::Planned) => info!(
                kind = change.kind().as_str(),
                object = change.object(),
                body = change.body(),
                "would write"
            ),
            Ok(Written::Refused(refusal)) => debug!(
                kind = change.kind().as_str(),
                object = change.object(),
                ?refusal,
                "the server refused a write whose condition did not hold"
            ),
            Err(error) => debug!(
                kind = change.kind().as_str(),
                object = change.object(),
                error = %Chain(error),
                "wrote not"
            ),
        }
        outcome
    }

    async fn attempt_all(&self, permit: &WritePermit, change: &Change) -> Result<Written, WriteError> {
        let mut pause = self.limits.pause;
        let mut attempt = 1;
        loop {
            match self.attempt(permit, change).await {
                Err(WriteError::Unreachable { .. }) if attempt < self.limits.attempts => {
                    attempt += 1;
                    sleep(pause).await;
                    pause *= 2;
                }
                other => return other,
            }
        }
    }

    async fn attempt(&self, permit: &WritePermit, change: &Change) -> Result<Written, WriteError> {
        match self.pause.state() {
            PauseState::Running => {}
            PauseState::Paused(pause) => return Err(WriteError::Paused(pause)),
            PauseState::Unknown => return Err(WriteError::PauseUnknown),
        }
        let request = change.request();
        // The last look. What happens between here and the socket is what conditions are for.
        let remaining = permit.remaining().ok_or(WriteError::NotLeader)?;
        if self.mode == Mode::DryRun {
            return Ok(Written::Planned);
        }
        #[cfg(feature = "failpoints")]
        failpoint::reached(failpoint::BEFORE_SEND);
        let sent = timeout(
            self.limits.timeout.min(remaining),
            self.client.request::<Value>(request),
        )
        .await;
        match sent {
            Ok(Ok(object)) => Ok(Written::Done(object)),
            Ok(Err(error)) => sort(change, error),
            Err(_) => Err(WriteError::Unreachable {
                what: change.to_string(),
                source: "no answer in time".into(),
            }),
        }
    }
}

/// What the server's answer means.
fn sort(change: &Change, error: kube::Error) -> Result<Written, WriteError> {
    let code = match &error {
        kube::Error::Api(status) => Some((status.code, status.reason.clone())),
        _ => None,
    };
    match code {
        Some((409, reason)) if reason == "AlreadyExists" => Ok(Written::Refused(Refusal::Exists)),
        Some((409, _)) => Ok(Written::Refused(Refusal::Conflict)),
        Some((404 | 410, _)) => Ok(Written::Refused(Refusal::Gone)),
        // 429 is said to those who ask too much, and to evictions that a budget forbids: both may be asked again.
        Some((code, _)) if (400..500).contains(&code) && code != 429 => Err(WriteError::Denied {
            what: change.to_string(),
            source: Box::new(error),
        }),
        Some(_) | None => Err(WriteError::Unreachable {
            what: change.to_string(),
            source: Box::new(error),
        }),
    }
}

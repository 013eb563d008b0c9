//! Holding all writes of all replicas, by one object in the cluster that outlives every process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use gpu_runtime::{Chain, Clock, Shutdown};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// The ConfigMap in the namespace of the program.
pub const STATE_OBJECT: &str = "gpu-autoscaler-state";
const PAUSED_KEY: &str = "paused";
/// One object by its name; an API server that takes longer is in trouble.
const CALL_WITHIN: Duration = Duration::from_secs(5);
/// Somebody else's change comes between in one of some thousand tries.
const TRIES: u32 = 5;
/// A word or a sentence, not a document.
const LONGEST_WORDS: usize = 500;
/// Looks that may fail before nobody knows any more whether writes are held.
const LOOKS_TO_FAIL: u32 = 6;

/// Who holds all writes, since when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub since: Timestamp,
    pub by: String,
    pub why: String,
}

/// Whether writes are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseState {
    /// Nobody could tell yet, or no longer: nothing is written.
    Unknown,
    Running,
    Paused(Pause),
}

/// Why pausing or resuming failed.
#[derive(Debug, thiserror::Error)]
pub enum PauseError {
    #[error("failed to {act} `{STATE_OBJECT}`")]
    Api {
        act: &'static str,
        source: Box<kube::Error>,
    },
    #[error("the API server did not answer in time")]
    Silent,
    #[error("`{STATE_OBJECT}` changed under every try: try again")]
    Contended,
    #[error("the value `{PAUSED_KEY}` of `{STATE_OBJECT}` cannot be read: remove it, or pause again")]
    Malformed(#[source] serde_json::Error),
}

/// Holds all writes of all replicas until [`resume`]. Pausing again replaces who and why.
pub async fn pause(
    client: Client,
    namespace: &str,
    by: &str,
    why: &str,
    now: Timestamp,
) -> Result<Pause, PauseError> {
    let pause = Pause {
        since: now,
        by: shortened(by),
        why: shortened(why),
    };
    let text = serde_json::to_string(&pause).map_err(PauseError::Malformed)?;
    change(client, namespace, Some(text)).await?;
    Ok(pause)
}

/// Lets replicas write again.
pub async fn resume(client: Client, namespace: &str) -> Result<(), PauseError> {
    change(client, namespace, None).await
}

/// What the cluster says now.
pub async fn pause_state(client: Client, namespace: &str) -> Result<PauseState, PauseError> {
    let objects: Api<ConfigMap> = Api::namespaced(client, namespace);
    let found = call("read", objects.get_opt(STATE_OBJECT)).await?;
    read(found.as_ref())
}

fn read(object: Option<&ConfigMap>) -> Result<PauseState, PauseError> {
    let text = object.and_then(|object| object.data.as_ref()?.get(PAUSED_KEY));
    match text {
        None => Ok(PauseState::Running),
        Some(text) => serde_json::from_str(text)
            .map(PauseState::Paused)
            .map_err(PauseError::Malformed),
    }
}

async fn change(client: Client, namespace: &str, paused: Option<String>) -> Result<(), PauseError> {
    let objects: Api<ConfigMap> = Api::namespaced(client, namespace);
    let params = PostParams::default();
    for _ in 0..TRIES {
        let found = call("read", objects.get_opt(STATE_OBJECT)).await?;
        let is_new = found.is_none();
        let mut object = found.unwrap_or_default();
        object.metadata.name = Some(STATE_OBJECT.to_owned());
        let data = object.data.get_or_insert_default();
        let before = match &paused {
            Some(text) => data.insert(PAUSED_KEY.to_owned(), text.clone()),
            None => data.remove(PAUSED_KEY),
        };
        if before == paused {
            return Ok(());
        }
        // The object that was read carries its resource version: somebody else's change in between is not lost.
        let written = if is_new {
            call("create", objects.create(&params, &object)).await
        } else {
            call("update", objects.replace(STATE_OBJECT, &params, &object)).await
        };
        match written {
            Err(PauseError::Api { source, .. }) if matches!(&*source, kube::Error::Api(status) if status.code == 409) =>
                {}
            other => return other.map(|_| ()),
        }
    }
    Err(PauseError::Contended)
}

async fn call<T>(act: &'static str, answer: impl Future<Output = kube::Result<T>>) -> Result<T, PauseError> {
    timeout(CALL_WITHIN, answer)
        .await
        .map_err(|_| PauseError::Silent)?
        .map_err(|source| PauseError::Api {
            act,
            source: Box::new(source),
        })
}

fn shortened(words: &str) -> String {
    words
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_WORDS)
        .collect()
}

/// What this replica knows of the pause. Clones share it.
#[derive(Clone)]
pub struct PauseWatch {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    every: Duration,
    known: ArcSwap<Known>,
}

struct Known {
    state: PauseState,
    at: Option<Instant>,
}

impl PauseWatch {
    /// Knows nothing yet, so that nothing is written before the first look; [`PauseWatch::run`] looks `every` so often.
    pub fn new(clock: Arc<dyn Clock>, every: Duration) -> Self {
        Self {
            shared: Arc::new(Shared {
                clock,
                every,
                known: ArcSwap::from_pointee(Known {
                    state: PauseState::Unknown,
                    at: None,
                }),
            }),
        }
    }

    /// What was seen last; unknown once that is too old to rest on.
    pub fn state(&self) -> PauseState {
        let known = self.shared.known.load();
        let age = known
            .at
            .map(|at| self.shared.clock.monotonic().saturating_duration_since(at));
        match age {
            Some(age) if age < self.shared.every * LOOKS_TO_FAIL => known.state.clone(),
            Some(_) | None => PauseState::Unknown,
        }
    }

    /// Looks once.
    pub async fn look(&self, client: &Client, namespace: &str) {
        let asked_at = self.shared.clock.monotonic();
        match pause_state(client.clone(), namespace).await {
            Ok(state) => {
                let before = self.state();
                if before != state {
                    info!(before = ?before, now = ?state, "the pause changed");
                }
                self.shared.known.store(Arc::new(Known {
                    state,
                    at: Some(asked_at),
                }));
            }
            Err(error) => warn!(error = %Chain(&error), "failed to see whether writes are paused"),
        }
    }

    /// Looks again and again until the shutdown.
    pub async fn run(&self, client: &Client, namespace: &str, shutdown: &Shutdown) {
        loop {
            self.look(client, namespace).await;
            tokio::select! {
                () = shutdown.triggered() => return,
                () = sleep(self.shared.every) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! What cannot be known holds all writes.

    use gpu_runtime::ManualClock;

    use super::*;

    #[test]
    fn before_the_first_look_and_long_after_the_last_nothing_is_known() {
        let clock = Arc::new(ManualClock::new("2026-03-01T00:00:00Z".parse().unwrap()));
        let watch = PauseWatch::new(clock.clone(), Duration::from_secs(5));
        assert_eq!(watch.state(), PauseState::Unknown);
        watch.shared.known.store(Arc::new(Known {
            state: PauseState::Running,
            at: Some(clock.monotonic()),
        }));
        assert_eq!(watch.state(), PauseState::Running);
        clock.advance(Duration::from_secs(30));
        assert_eq!(watch.state(), PauseState::Unknown);
    }

    #[test]
    fn a_state_that_cannot_be_read_is_an_error_and_not_a_yes() {
        let object = ConfigMap {
            data: Some([(PAUSED_KEY.to_owned(), "oops".to_owned())].into()),
            ..ConfigMap::default()
        };
        assert!(matches!(read(Some(&object)), Err(PauseError::Malformed(_))));
        assert_eq!(read(None).unwrap(), PauseState::Running);
    }

    #[test]
    fn words_are_bounded_and_hold_no_line_breaks() {
        assert_eq!(shortened("a\nb"), "ab");
        assert_eq!(shortened(&"x".repeat(900)).len(), LONGEST_WORDS);
    }
}

//! A clock that stands still until a test moves it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// The time of one group of nodes, counted from the group's beginning. Clones show the same time.
#[derive(Debug, Clone)]
pub struct FleetClock {
    elapsed: Arc<Mutex<Duration>>,
    waker: Arc<Notify>,
}

impl FleetClock {
    pub(super) fn new(waker: Arc<Notify>) -> Self {
        Self {
            elapsed: Arc::default(),
            waker,
        }
    }

    /// How far it has been moved.
    pub fn elapsed(&self) -> Duration {
        *self.elapsed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves it forward. What is due then happens soon after, not within this call.
    pub fn advance(&self, by: Duration) {
        *self.elapsed.lock().unwrap_or_else(PoisonError::into_inner) += by;
        self.waker.notify_one();
    }
}

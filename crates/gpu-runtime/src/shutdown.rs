//! The wish to stop, seen by every part of a program at once.

use std::sync::Arc;

use tokio::sync::watch;

/// A latch that is pulled once and stays pulled; clones share it.
#[derive(Debug, Clone)]
pub struct Shutdown {
    latch: Arc<watch::Sender<Latch>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Latch {
    Open,
    Pulled,
}

impl Shutdown {
    /// A latch that nobody has pulled.
    pub fn new() -> Self {
        Self {
            latch: Arc::new(watch::Sender::new(Latch::Open)),
        }
    }

    /// Asks everything that waits on this latch to stop; asking again changes nothing.
    pub fn trigger(&self) {
        self.latch.send_replace(Latch::Pulled);
    }

    /// Whether stopping was asked for.
    pub fn is_triggered(&self) -> bool {
        *self.latch.borrow() == Latch::Pulled
    }

    /// Returns once stopping was asked for, at once if that was before. Safe to drop at any await.
    pub async fn triggered(&self) {
        let mut seen = self.latch.subscribe();
        // The sender lives in `self`, so the channel cannot close while this waits.
        let _ = seen.wait_for(|latch| *latch == Latch::Pulled).await;
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

//! The only reader of the clock: everything else gets time as a value or asks through [`Clock`].

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Gives the time of day, for people and records, and a monotonic instant, for measuring.
pub trait Clock: Send + Sync {
    /// The time of day; it may step in either direction when the machine's clock is corrected.
    fn now(&self) -> Timestamp;
    /// An instant that never steps back; only differences between two of them mean something.
    fn monotonic(&self) -> Instant;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Instant {
        // Tokio's instant is the real one, except under a test's paused time, where it follows the test.
        tokio::time::Instant::now().into_std()
    }
}

/// A clock for tests that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    hands: Mutex<Hands>,
}

#[derive(Debug, Clone, Copy)]
struct Hands {
    now: Timestamp,
    monotonic: Instant,
}

impl ManualClock {
    /// A clock that shows `start`.
    pub fn new(start: Timestamp) -> Self {
        let hands = Hands {
            now: start,
            monotonic: SystemClock.monotonic(),
        };
        Self {
            hands: Mutex::new(hands),
        }
    }

    /// Lets `elapsed` pass on both faces; the time of day stops at the end of the calendar.
    pub fn advance(&self, elapsed: Duration) {
        let mut hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner);
        hands.now = hands.now.saturating_add(elapsed).unwrap_or(Timestamp::MAX);
        hands.monotonic += elapsed;
    }

    /// Steps the time of day alone, as a correction of the machine's clock does.
    pub fn step_to(&self, now: Timestamp) {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner).now = now;
    }

    fn hands(&self) -> Hands {
        *self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.hands().now
    }

    fn monotonic(&self) -> Instant {
        self.hands().monotonic
    }
}

#[cfg(test)]
mod tests;

//! A bound on how many events are written in a time, over all cycles.

use std::time::{Duration, Instant};

/// Tokens that come back with time. One telling takes one.
#[derive(Debug, Clone)]
pub struct Bucket {
    every: Duration,
    burst: u32,
    /// When the bucket will be full again, were nothing taken any more.
    full_at: Option<Instant>,
}

impl Bucket {
    /// `burst` at once, and one more each `every`.
    pub fn new(every: Duration, burst: u32) -> Self {
        Self {
            every,
            burst,
            full_at: None,
        }
    }

    /// Takes a token if there is one.
    pub fn take(&mut self, now: Instant) -> bool {
        let full_at = self.full_at.map_or(now, |at| at.max(now));
        let next = full_at + self.every;
        if next.saturating_duration_since(now) > self.every * self.burst {
            return false;
        }
        self.full_at = Some(next);
        true
    }
}

impl Default for Bucket {
    /// Two hundred at once and one a second: a fleet of thousands that goes idle at once is told within an hour.
    fn default() -> Self {
        Self::new(Duration::from_secs(1), 200)
    }
}

#[cfg(test)]
mod tests {
    //! A burst, then a rate.

    use gpu_runtime::{Clock as _, SystemClock};

    use super::*;

    #[test]
    fn after_the_burst_comes_the_rate() {
        let mut bucket = Bucket::new(Duration::from_secs(2), 3);
        let begin = SystemClock.monotonic();
        let taken = |bucket: &mut Bucket, now| (0..10).filter(|_| bucket.take(now)).count();
        assert_eq!(taken(&mut bucket, begin), 3);
        assert_eq!(taken(&mut bucket, begin + Duration::from_secs(1)), 0);
        assert_eq!(taken(&mut bucket, begin + Duration::from_secs(2)), 1);
        assert_eq!(taken(&mut bucket, begin + Duration::from_secs(100)), 3);
    }
}

//! When a failed task may start again. Pure: the instant comes in, the verdict goes out.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Five failures are no coincidence any more: a restart of the process, with its fresh connections and the
/// attention of whoever runs it, is then worth more than a sixth attempt.
pub(super) const LIMIT: usize = 5;

/// Ten minutes: longer than all pauses together, so that a task which fails at once is caught, and short enough
/// that one failure an hour never ends a program.
pub(super) const WINDOW: Duration = Duration::from_secs(600);

/// The pause after the first, second, third and fourth failure within the window. Without jitter, since there
/// is one task of a name in a process; what many replicas call adds its own.
const PAUSES: [Duration; LIMIT - 1] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// The recent failures of one task.
#[derive(Debug, Default)]
pub(super) struct Failures {
    recent: VecDeque<Instant>,
}

/// What follows a failure.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Restart { after: Duration },
    GiveUp,
}

impl Failures {
    /// Takes note of a failure at `now` and says what to do.
    pub(super) fn record(&mut self, now: Instant) -> Verdict {
        self.recent
            .retain(|at| now.saturating_duration_since(*at) < WINDOW);
        self.recent.push_back(now);
        match PAUSES.get(self.recent.len() - 1) {
            Some(after) => Verdict::Restart { after: *after },
            None => Verdict::GiveUp,
        }
    }
}

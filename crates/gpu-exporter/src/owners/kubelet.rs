//! Keeps the kubelet's latest word on who holds which device, over one connection that is made again when the kubelet was.
//!
//! It asks every few seconds, sooner when something changes or is not understood, never more than once a second: the kubelet
//! serves a hundred a second to everybody together. While the kubelet is gone its last word stands, with its age, less the
//! pods that are seen to end; after a bound it is dropped, and figures have no owner rather than a wrong one.

mod poll;
mod roster;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use gpu_runtime::{Chain, Clock, Shutdown};
use tokio::sync::Notify;
use tracing::{info, warn};

use super::host::HostPaths;
use super::resources::GpuResources;
use poll::Poller;
pub use poll::{PollError, SocketId};
pub use roster::{Roster, SOURCE};

/// A kubelet that restarts is back within seconds; its socket is looked at every second besides.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Pods come in groups: after a change the next few seconds are watched closely.
const QUICK_POLLS: u32 = 5;

/// What the exporter needs to know to ask the kubelet.
#[derive(Debug, Clone)]
pub struct Settings {
    pub socket: PathBuf,
    /// Between two questions while nothing changes.
    pub interval: Duration,
    /// The shortest time between two questions, whatever happens. The kubelet allows a hundred times a second.
    pub at_most_every: Duration,
    /// A node answers in milliseconds; a kubelet that needs longer than this is stuck.
    pub timeout: Duration,
    /// How long the last answer stands for a kubelet that is gone.
    pub keep_for: Duration,
    pub resources: GpuResources,
    pub host: HostPaths,
}

impl Settings {
    pub fn new(socket: PathBuf, host: HostPaths) -> Self {
        Self {
            socket,
            interval: Duration::from_secs(5),
            at_most_every: Duration::from_secs(1),
            timeout: Duration::from_secs(10),
            keep_for: Duration::from_secs(300),
            resources: GpuResources::default(),
            host,
        }
    }
}

/// The kubelet as the exporter knows it.
pub struct Kubelet {
    settings: Settings,
    clock: Arc<dyn Clock>,
    roster: ArcSwap<Roster>,
    nudged: Notify,
}

impl Kubelet {
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let roster = ArcSwap::from_pointee(Roster::unasked(settings.keep_for));
        Self {
            settings,
            clock,
            roster,
            nudged: Notify::new(),
        }
    }

    /// What is known now. It costs a pointer.
    pub fn latest(&self) -> Arc<Roster> {
        self.roster.load_full()
    }

    /// Asks for an early question: a device came or went, or a process of a pod that nobody knows was seen.
    pub fn nudge(&self) {
        self.nudged.notify_one();
    }

    /// Asks until the program stops.
    pub async fn run(&self, shutdown: &Shutdown) {
        let mut poller = Poller::new(self.settings.clone());
        let mut pace = Pace::default();
        while !shutdown.is_triggered() {
            let asked_at = self.clock.monotonic();
            let outcome = tokio::select! {
                outcome = poller.poll() => outcome,
                () = shutdown.triggered() => return,
            };
            let now = self.clock.monotonic();
            let before = self.latest();
            let after = before.after(outcome, now.saturating_duration_since(asked_at), now);
            tell(&before, &after);
            let pause = pace.next(&before, &after, &self.settings);
            self.roster.store(Arc::new(after));
            tokio::select! {
                () = self.wait(asked_at, pause, &poller) => {}
                () = shutdown.triggered() => return,
            }
        }
    }

    /// Waits for `pause`, or for less if there is a reason; in any case for as long as the kubelet is owed.
    async fn wait(&self, asked_at: Instant, pause: Duration, poller: &Poller) {
        let passed = |clock: &dyn Clock| clock.monotonic().saturating_duration_since(asked_at);
        let shortest = self.settings.at_most_every;
        tokio::time::sleep(shortest.saturating_sub(passed(&*self.clock))).await;
        loop {
            let left = pause.saturating_sub(passed(&*self.clock));
            if left.is_zero() || poller.socket_was_replaced() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left.min(shortest)) => {}
                () = self.nudged.notified() => return,
            }
        }
    }
}

/// How soon to ask again.
#[derive(Debug, Default)]
struct Pace {
    failures: u32,
    quick: u32,
}

impl Pace {
    fn next(&mut self, before: &Roster, after: &Roster, settings: &Settings) -> Duration {
        let shortest = settings.at_most_every;
        if !after.is_up() {
            self.failures = self.failures.saturating_add(1);
            let doubled = shortest.saturating_mul(1 << self.failures.min(5).saturating_sub(1));
            return doubled.min(LONGEST_PAUSE);
        }
        self.failures = 0;
        self.quick = match before.holds_the_same_as(after) {
            true => self.quick.saturating_sub(1),
            false => QUICK_POLLS,
        };
        match self.quick {
            0 => settings.interval.max(shortest),
            _ => shortest,
        }
    }
}

/// Says once when the kubelet goes and when it is back, not at every question.
fn tell(before: &Roster, after: &Roster) {
    match (before.is_up(), after.last_error()) {
        (true, Some(error)) => {
            warn!(class = error.class(), error = %Chain(error), "lost the kubelet; its last answer stands");
        }
        (false, Some(error))
            if before
                .last_error()
                .is_none_or(|last| last.class() != error.class()) =>
        {
            warn!(class = error.class(), error = %Chain(error), "failed to ask the kubelet who holds the devices");
        }
        (false, None) => info!(
            held = after.held_count(),
            "the kubelet tells who holds the devices"
        ),
        (true, None) | (false, Some(_)) => {}
    }
}

//! The loop of the demo: real time passes, the simulated world is moved on, judged by the rules that judge real fleets, and published.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use gpu_cost::PriceBook;
use gpu_cost::prices::NodeSplit;
use gpu_runtime::{Clock, Shutdown};
use gpu_sim::{FleetSpec, World};
use gpu_waste::{Settings, Surroundings, WindowSettings, Windows, detect};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};
use tracing::debug;

use crate::api::Served;
use crate::cli::DemoOptions;
use crate::decisions::{Standing, changes};
use crate::pages::Round;
use crate::rates;
use crate::wire::decisions::DecisionLine;

/// As often as the page asks for news.
const TURN: Duration = Duration::from_secs(1);

/// After a stop of the process or a busy machine, at most this much real time is made up for; what lies before is
/// skipped, because nobody saw it and simulating a weekend at once would hold up the page.
const CATCH_UP: Duration = Duration::from_secs(3);

/// How long one turn may compute. A fleet too large for the asked speed goes slower, and the page stays alive.
const BUDGET: Duration = Duration::from_millis(700);

/// Simulated time between two observations, as in a real fleet, and between two looks at the budget.
const STEP: Duration = Duration::from_secs(30);

/// So much of the fleet's past is lived through before the first page, so that it opens with findings.
const PAST: Duration = Duration::from_secs(600);

/// How long that may take; a large fleet begins with less of a past.
const PAST_BUDGET: Duration = Duration::from_millis(400);

/// A world and what an onlooker remembers of it.
struct Watched {
    world: World,
    windows: Windows,
    observed: Duration,
    standing: Standing,
    book: Arc<PriceBook>,
}

/// Turns until the shutdown.
pub(super) async fn run(
    options: &DemoOptions,
    served: &Served,
    clock: Arc<dyn Clock>,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let (mut watched, mut seen) = tokio::select! {
        begun = begin(options, clock.clone()) => begun?,
        () = shutdown.triggered() => return Ok(()),
    };
    let mut ticks = interval(TURN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = clock.monotonic();
    loop {
        let (round, lines) = seen;
        served.decisions.note(&lines);
        served.pages.publish(round);
        served.health.turned();
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.triggered() => return Ok(()),
        }
        let now = clock.monotonic();
        let simulated = due(now.saturating_duration_since(last), options.speed);
        last = now;
        (watched, seen) = advance(watched, simulated, clock.clone(), shutdown.clone()).await?;
        let seconds = clock.monotonic().saturating_duration_since(now).as_secs_f64();
        debug!(seconds, simulated_seconds = simulated.as_secs(), "turned");
    }
}

/// How much simulated time follows from real time.
fn due(elapsed: Duration, speed: u32) -> Duration {
    elapsed.min(CATCH_UP) * speed
}

/// Builds the world away from the threads that answer requests.
async fn begin(
    options: &DemoOptions,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<(Watched, (Round, Vec<DecisionLine>))> {
    let spec = FleetSpec {
        nodes: options.nodes,
        seed: options.seed,
        ..FleetSpec::default()
    };
    let built = spawn_blocking(move || {
        let mut watched = Watched {
            world: World::new(&spec)?,
            windows: Windows::new(WindowSettings {
                interval: STEP,
                ..WindowSettings::default()
            }),
            observed: Duration::ZERO,
            standing: Standing::new(),
            book: rates::bundled_book(),
        };
        watched.live(PAST, PAST_BUDGET, &*clock, &Shutdown::new());
        let seen = watched.judge();
        Ok((watched, seen))
    });
    built.await.context("failed to build the simulated fleet")?
}

/// Moves the world on; it travels to the computing thread and back, so that exactly one place owns it.
async fn advance(
    mut watched: Watched,
    simulated: Duration,
    clock: Arc<dyn Clock>,
    shutdown: Shutdown,
) -> anyhow::Result<(Watched, (Round, Vec<DecisionLine>))> {
    let moved = spawn_blocking(move || {
        watched.live(simulated, BUDGET, &*clock, &shutdown);
        let seen = watched.judge();
        (watched, seen)
    });
    moved.await.context("failed to move the simulated fleet on")
}

impl Watched {
    /// Lets simulated time pass and looks at the fleet as often as a control plane would.
    fn live(&mut self, simulated: Duration, budget: Duration, clock: &dyn Clock, shutdown: &Shutdown) {
        let begun = clock.monotonic();
        let mut left = simulated;
        while !left.is_zero() && !shutdown.is_triggered() {
            let step = left.min(STEP - self.observed);
            self.world.advance(step);
            self.observed += step;
            left -= step;
            if self.observed >= STEP {
                self.observed = Duration::ZERO;
                self.windows.observe(&self.world.observe());
            }
            if clock.monotonic().saturating_duration_since(begun) > budget {
                let skipped_seconds = left.as_secs();
                debug!(skipped_seconds, "this machine is too slow for the asked speed");
                break;
            }
        }
    }

    /// The fleet as it is, and what the rules say of its window.
    fn judge(&mut self) -> (Round, Vec<DecisionLine>) {
        let view = self.world.observe();
        let rates = rates::rates(&view, None, &self.book, &NodeSplit::default(), view.at);
        let surroundings = Surroundings {
            picture: None,
            rates: &rates,
            patterns: None,
        };
        let report = detect(&self.windows, &surroundings, &Settings::default(), view.at);
        let (lines, standing) = changes(&self.standing, &report);
        self.standing = standing;
        let round = Round {
            data_at: Some(view.at),
            view,
            picture: None,
            report,
            rates,
            targets: Vec::new(),
            problems: BTreeMap::new(),
        };
        (round, lines)
    }
}

#[cfg(test)]
mod tests;

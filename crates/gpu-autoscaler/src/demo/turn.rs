//! The loop of the demo: real time passes, the simulated world is moved on, and its new view is published.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use gpu_model::FleetView;
use gpu_runtime::{Clock, Shutdown};
use gpu_sim::{FleetSpec, World};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};
use tracing::debug;

use crate::api::Served;
use crate::cli::DemoOptions;

/// As often as the page asks for news.
const TURN: Duration = Duration::from_secs(1);

/// After a stop of the process or a busy machine, at most this much real time is made up for; what lies before is
/// skipped, because nobody saw it and simulating a weekend at once would hold up the page.
const CATCH_UP: Duration = Duration::from_secs(3);

/// How long one turn may compute. A fleet too large for the asked speed goes slower, and the page stays alive.
const BUDGET: Duration = Duration::from_millis(700);

/// Simulated time between two looks at the budget.
const STEP: Duration = Duration::from_secs(10);

/// Turns until the shutdown.
pub(super) async fn run(
    options: &DemoOptions,
    served: &Served,
    clock: Arc<dyn Clock>,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let (mut world, mut view) = tokio::select! {
        begun = begin(options) => begun?,
        () = shutdown.triggered() => return Ok(()),
    };
    let mut ticks = interval(TURN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = clock.monotonic();
    loop {
        served.pages.publish(view);
        served.health.turned();
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.triggered() => return Ok(()),
        }
        let now = clock.monotonic();
        let simulated = due(now.saturating_duration_since(last), options.speed);
        last = now;
        (world, view) = advance(world, simulated, clock.clone(), shutdown.clone()).await?;
        let seconds = clock.monotonic().saturating_duration_since(now).as_secs_f64();
        debug!(seconds, simulated_seconds = simulated.as_secs(), "turned");
    }
}

/// How much simulated time follows from real time.
fn due(elapsed: Duration, speed: u32) -> Duration {
    elapsed.min(CATCH_UP) * speed
}

/// Builds the world away from the threads that answer requests.
async fn begin(options: &DemoOptions) -> anyhow::Result<(World, FleetView)> {
    let spec = FleetSpec {
        nodes: options.nodes,
        seed: options.seed,
        ..FleetSpec::default()
    };
    let built = spawn_blocking(move || {
        let world = World::new(&spec)?;
        let view = world.observe();
        Ok((world, view))
    });
    built.await.context("failed to build the simulated fleet")?
}

/// Moves the world on; it travels to the computing thread and back, so that exactly one place owns it.
async fn advance(
    mut world: World,
    simulated: Duration,
    clock: Arc<dyn Clock>,
    shutdown: Shutdown,
) -> anyhow::Result<(World, FleetView)> {
    let moved = spawn_blocking(move || {
        let begun = clock.monotonic();
        let mut left = simulated;
        while !left.is_zero() && !shutdown.is_triggered() {
            let step = left.min(STEP);
            world.advance(step);
            left -= step;
            if clock.monotonic().saturating_duration_since(begun) > BUDGET {
                debug!(
                    skipped_seconds = left.as_secs(),
                    "this machine is too slow for the asked speed"
                );
                break;
            }
        }
        let view = world.observe();
        (world, view)
    });
    moved.await.context("failed to move the simulated fleet on")
}

#[cfg(test)]
mod tests;

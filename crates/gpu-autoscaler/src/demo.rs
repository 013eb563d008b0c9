//! `gpu-autoscaler demo`: a simulated fleet behind the real pages.

mod turn;
mod welcome;

use std::sync::Arc;
use std::time::Duration;

use gpu_model::ClusterId;
use gpu_runtime::http::{Limits, Listener, serve};
use gpu_runtime::{Shutdown, SystemClock, Tasks, Terminal, stop_on_signals};
use tracing::info;

use crate::api::{self, Health, Metrics, Served};
use crate::cli::DemoOptions;
use crate::control::Control;
use crate::decisions::DecisionLog;
use crate::pages::Pages;

/// The loop publishes once a second.
const TURN: Duration = Duration::from_secs(1);

/// Ctrl-C means now: open requests get this long, and the person at the terminal waits less than a second.
const DRAIN: Duration = Duration::from_millis(300);

/// A little more than the server's own time to drain, so that it ends by itself.
const GRACE: Duration = Duration::from_millis(600);

/// Runs until a signal comes or a task gives up.
pub(crate) async fn run(options: DemoOptions) -> anyhow::Result<()> {
    let shutdown = Shutdown::new();
    stop_on_signals(&shutdown)?;
    let listener = Arc::new(Listener::bind(options.listen, "--listen").await?);
    let address = listener.address();

    let mut tasks = Tasks::new(shutdown.clone());
    let pages = Arc::new(Pages::default());
    let health = Arc::new(Health::new(tasks.board(), Arc::new(SystemClock), TURN));
    let cluster = ClusterId::new("simulated").expect("a valid id");
    let served = Served {
        pages: pages.clone(),
        health: health.clone(),
        control: Arc::new(Control::new("sim")),
        decisions: Arc::new(DecisionLog::new(cluster, None)),
        metrics: Metrics::Fleet,
        clock: Arc::new(SystemClock),
    };
    start_fleet(&mut tasks, &options, served.clone(), shutdown.clone());
    start_server(&mut tasks, listener, served, shutdown);

    info!(%address, nodes = options.nodes, seed = options.seed, speed = options.speed, "serving a simulated fleet");
    let terminal = Terminal::stdout();
    terminal.say(welcome::text(terminal, &options, address));
    tasks.finish(GRACE).await?;
    terminal.say("stopped\n");
    Ok(())
}

fn start_fleet(tasks: &mut Tasks, options: &DemoOptions, served: Served, shutdown: Shutdown) {
    let options = options.clone();
    tasks.start("fleet", move || {
        let (options, served, shutdown) = (options.clone(), served.clone(), shutdown.clone());
        async move { turn::run(&options, &served, Arc::new(SystemClock), &shutdown).await }
    });
}

fn start_server(tasks: &mut Tasks, listener: Arc<Listener>, served: Served, shutdown: Shutdown) {
    tasks.start("server", move || {
        let (listener, app) = (listener.clone(), api::router(served.clone()));
        let shutdown = shutdown.clone();
        let limits = Limits {
            drain_time: DRAIN,
            ..Limits::default()
        };
        async move {
            serve(&listener, app, &limits, &shutdown).await;
            Ok(())
        }
    });
}

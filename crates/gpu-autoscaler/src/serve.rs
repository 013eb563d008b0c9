//! `gpu-autoscaler serve`: the control plane. This room wires: settings become parts, parts become tasks.

mod ground;
mod leading;
mod observe;
mod past;
mod source;
mod telling;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use gpu_runtime::http::{Limits, Listener, serve as serve_http};
use gpu_runtime::{Clock, Shutdown, SystemClock, Tasks, Terminal, stop_on_signals};
use gpu_waste::{Deviations, Patterns, Settings, WindowSettings, Windows};
use tracing::info;

use crate::api::{self, Health, Metrics, Served};
use crate::cli::serve::{Role, ServeOptions, SourceKind};
use crate::control::Control;
use crate::decisions::DecisionLog;
use crate::own_metrics::OwnMetrics;
use crate::pages::Pages;
use crate::watch;
use ground::Ground;
use leading::Fatal;
use observe::Observer;
use past::Past;
use telling::Telling;
use turn::Turner;

/// Open requests get this long at the end.
const DRAIN: Duration = Duration::from_secs(1);

/// The lease is let go and the store closed within it; a little more than the server's own time.
const GRACE: Duration = Duration::from_secs(5);

/// What a round leaves of its interval for the judgement.
const JUDGEMENT: Duration = Duration::from_secs(5);

/// Runs until a signal comes or a task gives up.
pub(crate) async fn run(options: ServeOptions) -> anyhow::Result<()> {
    let shutdown = Shutdown::new();
    stop_on_signals(&shutdown)?;
    // First of all, so that a taken port is told before anything is touched.
    let listener = Arc::new(Listener::bind(options.listen, "--listen").await?);
    let address = listener.address();
    let ground = tokio::select! {
        ground = Ground::prepare(&options) => ground?,
        () = shutdown.triggered() => return Ok(()),
    };
    let mut tasks = Tasks::new(shutdown.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let control = Arc::new(Control::new(match options.source.metrics_source {
        SourceKind::Direct => "direct",
        SourceKind::Prometheus => "prometheus",
    }));
    let own = Arc::new(OwnMetrics::default());
    let health = Health::new(tasks.board(), clock.clone(), options.analysis.analysis_interval);
    let served = Served {
        pages: Arc::new(Pages::default()),
        health: Arc::new(health),
        control: control.clone(),
        decisions: Arc::new(DecisionLog::new(
            ground.cluster.clone(),
            Some(ground.store.clone()),
        )),
        metrics: Metrics::Own(own.clone()),
        clock: clock.clone(),
    };
    start_server(&mut tasks, listener, served.clone(), shutdown.clone());
    let fatal = Fatal::default();
    let outcome = start_work(&options, &ground, &served, &own, &fatal, &mut tasks, &shutdown).await;
    if let Err(error) = outcome {
        shutdown.trigger();
        let _ = tasks.finish(GRACE).await;
        return Err(error);
    }
    info!(%address, cluster = %ground.cluster, "serving");
    Terminal::stdout().say(format!("gpu-autoscaler serves on http://{address}/\n"));
    tasks.finish(GRACE).await?;
    if let Some(refused) = fatal.take() {
        return Err(refused);
    }
    ground.store.close().await.context("failed to close the store")?;
    Ok(())
}

/// Starts everything that works behind the pages.
async fn start_work(
    options: &ServeOptions,
    ground: &Ground,
    served: &Served,
    own: &Arc<OwnMetrics>,
    fatal: &Fatal,
    tasks: &mut Tasks,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    if !options.roles.contains(&Role::Observe) {
        served.control.set_serving(None);
        return Ok(());
    }
    let interval = options.analysis.analysis_interval;
    let desk = ground.price_desk(options, tasks, shutdown)?;
    let watched = ground
        .client
        .clone()
        .map(|client| watch::start(tasks, client, ground.cluster.clone(), shutdown.clone()));
    let round = interval.saturating_sub(JUDGEMENT).max(interval / 2);
    let source = source::open(&options.source, round, ground.client.as_ref(), tasks, shutdown)?;
    let lead = leading::start(options, ground, fatal, tasks, shutdown).await?;
    let observer = Observer {
        source,
        watch: watched,
        cluster: ground.cluster.clone(),
        windows: Some(Windows::new(WindowSettings {
            window: options.analysis.analysis_window,
            interval,
        })),
        settings: settings(options),
        desk,
        control: served.control.clone(),
        data_at: None,
        patterns: options.analysis.deviations.then(Patterns::default),
        harvest: None,
        keeps_harvest: false,
    };
    let telling = Telling::new(options, ground, lead.as_ref(), &served.clock, tasks, shutdown)?;
    let past = Past::new(ground.store.clone(), ground.cluster.clone());
    let turner = Turner::new(
        options,
        observer,
        served.clone(),
        own.clone(),
        lead,
        telling,
        past,
    );
    turner.start(tasks, shutdown.clone());
    Ok(())
}

fn settings(options: &ServeOptions) -> Settings {
    let analysis = &options.analysis;
    Settings {
        threshold: gpu_model::Permille::clamped(analysis.waste_threshold),
        after: analysis.waste_after,
        least_score: analysis.waste_score,
        warm_up: analysis.warm_up,
        deviations: match analysis.deviations {
            true => Deviations::Reported,
            false => Deviations::Ignored,
        },
        ..Settings::default()
    }
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
            serve_http(&listener, app, &limits, &shutdown).await;
            Ok(())
        }
    });
}

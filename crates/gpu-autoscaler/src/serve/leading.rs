//! Standing for election and watching the switch for all writes. Without Kubernetes there is nothing to lead.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use gpu_runtime::{Chain, Shutdown, SystemClock, Tasks};
use tracing::error;

use super::ground::Ground;
use crate::cli::serve::ServeOptions;
use crate::lead::{
    Election, ElectionSettings, Leadership, LeaseTimes, Mode, PauseState, PauseWatch, StoreKind, WriteLimits,
    Writer, check_store_sharing, client_for_writes, new_identity,
};

/// The name of the lease.
const LEASE: &str = "gpu-autoscaler";

/// How often the switch is looked at; a pause holds on every replica within this.
const LOOK_AT_PAUSE: Duration = Duration::from_secs(5);

/// What ends a replica that may not go on, for the one who waits for its end.
#[derive(Debug, Clone, Default)]
pub(super) struct Fatal(Arc<Mutex<Option<anyhow::Error>>>);

impl Fatal {
    pub(super) fn take(&self) -> Option<anyhow::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, error: anyhow::Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

/// What a replica of several holds.
#[derive(Clone)]
pub(super) struct Lead {
    pub(super) leadership: Leadership,
    pub(super) pause: PauseWatch,
    config: kube::Config,
}

impl Lead {
    /// A way to write, live or dry.
    pub(super) fn writer(&self, mode: Mode) -> anyhow::Result<Writer> {
        let client =
            client_for_writes(self.config.clone()).context("failed to prepare the client for writes")?;
        Ok(Writer::new(
            client,
            self.leadership.clone(),
            self.pause.clone(),
            mode,
            WriteLimits::default(),
        ))
    }

    pub(super) fn pause_state(&self) -> PauseState {
        self.pause.state()
    }
}

/// Starts the tasks. A second replica that could not share the store is refused here, before it does anything.
pub(super) async fn start(
    options: &ServeOptions,
    ground: &Ground,
    fatal: &Fatal,
    tasks: &mut Tasks,
    shutdown: &Shutdown,
) -> anyhow::Result<Option<Lead>> {
    let (Some(config), Some(client)) = (&ground.config, &ground.client) else {
        return Ok(None);
    };
    let settings = ElectionSettings {
        namespace: ground.namespace.clone(),
        lease: LEASE.to_owned(),
        identity: new_identity(&host()),
        times: LeaseTimes::default(),
        store: StoreKind::from(&ground.address),
    };
    tokio::select! {
        shared = check_store_sharing(client.clone(), &settings) => shared.context("this replica may not start")?,
        () = shutdown.triggered() => return Ok(None),
    }
    let clock = Arc::new(SystemClock);
    let (election, leadership) =
        Election::new(client.clone(), settings, clock.clone()).context("cannot stand for election")?;
    let election = Arc::new(election);
    let (stop, fatal) = (shutdown.clone(), fatal.clone());
    tasks.start("election", move || {
        let (election, stop, fatal) = (election.clone(), stop.clone(), fatal.clone());
        async move {
            if let Err(refused) = election.run(&stop).await {
                // Starting again would not make it right: the other replica is still there.
                error!(error = %Chain(&refused), "this replica must end");
                fatal.set(anyhow::Error::new(refused));
                stop.trigger();
            }
            Ok(())
        }
    });
    let pause = PauseWatch::new(clock, LOOK_AT_PAUSE.min(options.analysis.analysis_interval));
    let (watch, client, namespace, stop) = (
        pause.clone(),
        client.clone(),
        ground.namespace.clone(),
        shutdown.clone(),
    );
    tasks.start("pause", move || {
        let (watch, client, namespace, stop) =
            (watch.clone(), client.clone(), namespace.clone(), stop.clone());
        async move {
            watch.run(&client, &namespace, &stop).await;
            Ok(())
        }
    });
    Ok(Some(Lead {
        leadership,
        pause,
        config: config.clone(),
    }))
}

/// The pod's name, which is also its host name.
fn host() -> String {
    std::env::var("HOSTNAME")
        .ok()
        .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "gpu-autoscaler".to_owned())
}

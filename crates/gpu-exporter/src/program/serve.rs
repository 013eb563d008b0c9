//! The long run: collects, serves, listens to signals, and ends when it is told to or when only a new process can go on.
//!
//! Signals: TERM and INT end the program, HUP reads the settings again, USR1 lets the driver go so that it can be upgraded
//! and GPUs can be reset, USR2 takes it again.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use gpu_runtime::http::{Limits, Listener, serve_secured};
use gpu_runtime::{Shutdown, Tasks, stop_on_signals};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info, warn};

use super::applications::{WithApplications, applications, start_scraping, start_textfiles};
use super::followers::Followers;
use super::reload::{Bell, Reloader};
use super::{Notes, Outcome, Parts, WithNotes, bind, start_collector, until};
use crate::api::{History, HistorySettings};
use crate::applications::scrape::Newest;
use crate::collect::{Collector, Hold};
use crate::kmsg::KernelLog;
use crate::page::PageCache;
use crate::settings::{Flags, Settings, unmet_label_wish};
use crate::web::config::WebConfig;
use crate::web::{Door, Pulse, Site};

/// The kernel's log where it is not configured.
const KERNEL_LOG: &str = "/dev/kmsg";
/// After the shutdown, beside the time that open requests have.
const GRACE: Duration = Duration::from_secs(6);

pub(super) async fn serve(
    flags: &Flags,
    settings: Settings,
    host: &str,
    parts: &Parts,
) -> anyhow::Result<Outcome> {
    let shutdown = Shutdown::new();
    // Before anything slow: until they are heard, these signals would end the process.
    stop_on_signals(&shutdown)?;
    let wishes = Wishes::listen()?;
    let web = web_config(&settings)?;
    tell(flags, &settings, &web);
    let listener = Arc::new(bind::bind(settings.address).await?);
    let scheme = if web.tls.is_some() { "https" } else { "http" };
    let notes = Notes::default();
    let mut tasks = Tasks::new(shutdown.clone());
    let owners = (parts.attribution)(&settings, &mut tasks, &shutdown);
    let applications = applications(&settings);
    let owners = Box::new(WithApplications::new(owners, &applications));
    let owners = WithNotes::new(owners, notes.clone());
    let collector = start_collector(&settings, parts, Box::new(owners))?;
    let _kernel_log = kernel_log(&settings, &collector, &notes);
    let newest = Arc::clone(&collector);
    let newest: Newest = Arc::new(move || newest.snapshot());
    let pages = PageCache::with_applications(settings.page.clone(), Arc::clone(&applications));
    start_textfiles(&settings.applications, &applications, Arc::clone(&newest))?;
    start_scraping(
        &settings.applications,
        &applications,
        Arc::clone(&newest),
        &mut tasks,
        &shutdown,
    );
    let site = Site {
        newest,
        pages: Arc::new(pages),
        history: Arc::new(Mutex::new(History::new(HistorySettings::default()))),
        pulse: Arc::new(Pulse::new(settings.sample_interval)),
        metrics_path: settings.metrics_path.as_str().into(),
        door: Arc::new(Door::new(web)),
    };
    let interval = settings.sample_interval;
    let followers = Followers::new(&settings)?;
    until::watch(&settings.until, &settings.procfs, &collector, &shutdown)?;
    let bell = Reloader::new(flags, settings, host, &site, notes).start()?;
    let keeper = Keeper {
        collector: Arc::clone(&collector),
        site: site.clone(),
        followers,
        interval,
    };
    start_keeper(&mut tasks, keeper, &shutdown);
    start_wishes(&mut tasks, wishes, bell, &collector, &shutdown);
    let address = listener.address();
    start_server(&mut tasks, listener, site, &shutdown);
    info!(%address, scheme, "serving");
    tasks.finish(GRACE).await?;
    if collector.must_restart() {
        return Ok(Outcome::DriverChanged);
    }
    info!("stopped");
    Ok(Outcome::Done)
}

fn web_config(settings: &Settings) -> anyhow::Result<WebConfig> {
    let Some(path) = &settings.web_config_file else {
        return Ok(WebConfig::default());
    };
    WebConfig::load(path).with_context(|| format!("web configuration `{}`", path.display()))
}

/// Says what was accepted and does nothing, so that nobody believes it does.
fn tell(flags: &Flags, settings: &Settings, web: &WebConfig) {
    let without_meaning = flags.dcgm.without_meaning.given();
    if !without_meaning.is_empty() {
        warn!(flags = ?without_meaning, "these flags of dcgm-exporter have no effect here");
    }
    if let Some(problem) = unmet_label_wish(flags) {
        warn!(problem, "labels of pods were asked for");
    }
    for skipped in settings.page.counters.iter().flat_map(|file| &file.skipped) {
        warn!(entry = %skipped, "left out an entry of the counters file");
    }
    for note in settings.page.amd.iter().flat_map(|config| &config.notes) {
        warn!(%note, "configuration of AMD's exporter");
    }
    for note in &web.notes {
        warn!(%note, "web configuration");
    }
}

fn kernel_log(settings: &Settings, collector: &Arc<Collector>, notes: &Notes) -> Option<KernelLog> {
    let name = "kernel_log";
    let path = settings.kernel_log.as_deref().unwrap_or(Path::new(KERNEL_LOG));
    let counted = Arc::clone(collector);
    match KernelLog::start(path, move |fault| counted.record_fault(fault)) {
        Ok(log) => {
            notes.open(name);
            Some(log)
        }
        Err(error) if settings.kernel_log.is_some() => {
            warn!(%error, path = %path.display(), "cannot read the kernel's log");
            let problem = "the kernel's log cannot be read; mount it and grant CAP_SYSLOG, or leave it out";
            notes.bad(name, "open", problem);
            None
        }
        Err(error) => {
            info!(%error, "faults come from the driver alone: the kernel's log cannot be read");
            None
        }
    }
}

/// Follows the snapshots: feels the pulse, keeps the history, and ends the program when only a new one can go on.
struct Keeper {
    collector: Arc<Collector>,
    site: Site,
    followers: Followers,
    interval: Duration,
}

impl Keeper {
    fn look(&self, shutdown: &Shutdown) {
        let snapshot = self.collector.snapshot();
        let quiet = self.site.pulse.feel(snapshot.sequence);
        self.followers.follow(&snapshot, quiet);
        self.site
            .history
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .record(&snapshot);
        if self.collector.must_restart() {
            error!(
                exit_code = super::EXIT_DRIVER_CHANGED,
                "the driver was replaced by another version; ending so that a new process loads it"
            );
            shutdown.trigger();
        }
    }
}

fn start_keeper(tasks: &mut Tasks, keeper: Keeper, shutdown: &Shutdown) {
    let (keeper, shutdown) = (Arc::new(keeper), shutdown.clone());
    tasks.start("keeper", move || {
        let (keeper, shutdown) = (Arc::clone(&keeper), shutdown.clone());
        async move {
            loop {
                tokio::select! {
                    () = shutdown.triggered() => {
                        keeper.followers.finish(&keeper.collector.snapshot());
                        return Ok(());
                    }
                    () = tokio::time::sleep(keeper.interval) => keeper.look(&shutdown),
                }
            }
        }
    });
}

fn start_server(tasks: &mut Tasks, listener: Arc<Listener>, site: Site, shutdown: &Shutdown) {
    let door = Arc::clone(&site.door);
    let (app, shutdown) = (site.router(), shutdown.clone());
    let limits = Limits {
        // Scrapers and a few people. A client that reads slowly keeps the page it was sent in memory: with every connection
        // in such hands, and a page of 150 KB, that is 40 MB at most.
        connections: 256,
        // No page takes a body; this much lets a client that sends one read its refusal.
        body_bytes: 64 * 1024,
        ..Limits::default()
    };
    tasks.start("server", move || {
        let (listener, door) = (Arc::clone(&listener), Arc::clone(&door));
        let (app, limits, shutdown) = (app.clone(), limits.clone(), shutdown.clone());
        async move {
            serve_secured(&listener, app, &limits, door.tls(), &shutdown).await;
            Ok(())
        }
    });
}

/// The signals that ask for something else than the end.
struct Wishes {
    reload: Signal,
    release: Signal,
    take: Signal,
}

impl Wishes {
    fn listen() -> anyhow::Result<Self> {
        let hear = |kind| signal(kind).context("failed to listen for signals");
        Ok(Self {
            reload: hear(SignalKind::hangup())?,
            release: hear(SignalKind::user_defined1())?,
            take: hear(SignalKind::user_defined2())?,
        })
    }
}

fn start_wishes(
    tasks: &mut Tasks,
    wishes: Wishes,
    bell: Bell,
    collector: &Arc<Collector>,
    shutdown: &Shutdown,
) {
    let (collector, shutdown) = (Arc::clone(collector), shutdown.clone());
    let wishes = Arc::new(tokio::sync::Mutex::new(wishes));
    tasks.start("signals", move || {
        let (wishes, bell) = (Arc::clone(&wishes), bell.clone());
        let (collector, shutdown) = (Arc::clone(&collector), shutdown.clone());
        async move {
            let mut wishes = wishes.lock().await;
            let wishes = &mut *wishes;
            loop {
                tokio::select! {
                    () = shutdown.triggered() => return Ok(()),
                    _ = wishes.reload.recv() => bell.ring(),
                    _ = wishes.release.recv() => {
                        info!("letting the driver go; SIGUSR2 takes it again");
                        collector.hold(Hold::Released);
                    }
                    _ = wishes.take.recv() => {
                        info!("taking the driver again");
                        collector.hold(Hold::Held);
                    }
                }
            }
        }
    });
}

//! The workloads' own numbers, for the program: who reads them, and how their sources are shown beside the others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use gpu_runtime::{Shutdown, Tasks};
use jiff::Timestamp;
use tracing::error;

#[cfg(feature = "kubernetes-labels")]
use crate::applications::scrape::AnnotatedPods;
use crate::applications::scrape::{Finder, Newest, Scraper};
use crate::applications::{Applications, HoldingPods, Layout, Part, Rules, SourceState, Textfiles, Way};
use crate::collect::Attribution;
use crate::settings::{ApplicationSettings, Settings, TextfileSettings};
use crate::snapshot::{DeviceSnapshot, LabelSet, NodeSnapshot, SourceStatus, Workload};

/// Pods that come are noticed within this time, whatever the interval.
const LOOK: Duration = Duration::from_secs(1);
/// A page of at most half a megabyte is parsed on it, without recursion.
const STACK_BYTES: usize = 512 * 1024;

/// Where the workloads' numbers are put.
pub(super) fn applications(settings: &Settings) -> Arc<Applications> {
    let settings = &settings.applications;
    let rules = Rules::new(settings.families.clone());
    Arc::new(Applications::new(rules, settings.max_series))
}

/// Starts to read the textfile directory, if there is one, on a thread of its own: a file system that hangs holds up nobody else.
pub(super) fn start_textfiles(
    settings: &ApplicationSettings,
    applications: &Arc<Applications>,
    newest: Newest,
) -> anyhow::Result<()> {
    let Some(textfiles) = settings.textfiles.clone() else {
        return Ok(());
    };
    let (applications, interval) = (Arc::clone(applications), settings.interval);
    std::thread::Builder::new()
        .name("textfiles".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || read_textfiles(&textfiles, interval, &applications, &newest))
        .context("failed to start the thread that reads textfiles")?;
    Ok(())
}

/// Starts to scrape pods, if the settings say which.
pub(super) fn start_scraping(
    settings: &ApplicationSettings,
    applications: &Arc<Applications>,
    newest: Newest,
    tasks: &mut Tasks,
    shutdown: &Shutdown,
) {
    let finder = finder(settings, tasks, shutdown);
    if settings.scrape_rules.is_empty() && finder.is_none() {
        return;
    }
    let scraper = Scraper {
        rules: settings.scrape_rules.clone(),
        finder,
        interval: settings.interval,
        applications: Arc::clone(applications),
        newest,
    };
    let shutdown = shutdown.clone();
    tasks.start("scrape", move || {
        let (scraper, shutdown) = (scraper.clone(), shutdown.clone());
        async move {
            scraper.run(&shutdown).await;
            Ok(())
        }
    });
}

#[cfg(feature = "kubernetes-labels")]
fn finder(settings: &ApplicationSettings, tasks: &mut Tasks, shutdown: &Shutdown) -> Option<Arc<dyn Finder>> {
    let pods = Arc::new(AnnotatedPods::new(settings.scrape_node.clone()?));
    let (watching, shutdown) = (Arc::clone(&pods), shutdown.clone());
    tasks.start("pods", move || {
        let (pods, shutdown) = (Arc::clone(&watching), shutdown.clone());
        async move {
            pods.find_and_run(&shutdown).await;
            Ok(())
        }
    });
    Some(pods)
}

/// Settings refuse the wish in this build.
#[cfg(not(feature = "kubernetes-labels"))]
fn finder(
    _settings: &ApplicationSettings,
    _tasks: &mut Tasks,
    _shutdown: &Shutdown,
) -> Option<Arc<dyn Finder>> {
    None
}

/// Reads the directory once.
pub(super) fn read_once(
    settings: &ApplicationSettings,
    applications: &Applications,
    snapshot: &NodeSnapshot,
) {
    if let Some(textfiles) = &settings.textfiles {
        let (layout, holding) = (Layout::of(snapshot), HoldingPods::of(snapshot));
        let part = reader(textfiles).read(&layout, &holding, &applications.rules(), Timestamp::now());
        applications.put(Way::Textfile, part);
    }
}

fn reader(settings: &TextfileSettings) -> Textfiles {
    Textfiles::new(settings.directory.clone(), settings.max_age)
}

/// Ends with the program.
fn read_textfiles(
    settings: &TextfileSettings,
    interval: Duration,
    applications: &Applications,
    newest: &Newest,
) {
    let mut textfiles = reader(settings);
    let mut last: Option<(Instant, HoldingPods, Arc<Rules>)> = None;
    loop {
        let snapshot = newest();
        let (layout, holding) = (Layout::of(&snapshot), HoldingPods::of(&snapshot));
        let rules = applications.rules();
        let is_due = last.as_ref().is_none_or(|(at, pods, by)| {
            at.elapsed() >= interval || *pods != holding || !Arc::ptr_eq(by, &rules)
        });
        if is_due {
            let read = AssertUnwindSafe(|| textfiles.read(&layout, &holding, &rules, Timestamp::now()));
            let part = catch_unwind(read).unwrap_or_else(|_| {
                error!("reading the textfiles failed in a way that it must not; starting anew");
                textfiles = reader(settings);
                broken()
            });
            applications.put(Way::Textfile, part);
            last = Some((Instant::now(), holding, rules));
        }
        std::thread::sleep(LOOK.min(interval));
    }
}

fn broken() -> Part {
    Part {
        source: SourceState {
            problem: Some("the textfiles could not be read; the log says more".into()),
            errors: [("panic", 1)].into(),
            ..SourceState::default()
        },
        ..Part::default()
    }
}

/// An attribution that reports the applications' sources beside its own.
pub(super) struct WithApplications {
    inner: Box<dyn Attribution>,
    applications: Arc<Applications>,
}

impl WithApplications {
    pub(super) fn new(inner: Box<dyn Attribution>, applications: &Arc<Applications>) -> Self {
        Self {
            inner,
            applications: Arc::clone(applications),
        }
    }
}

impl Attribution for WithApplications {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]) {
        self.inner.attribute(devices);
    }

    fn status(&self) -> Vec<SourceStatus> {
        let mut all = self.inner.status();
        all.extend(self.applications.statuses(Instant::now()));
        all
    }

    fn node_labels(&self) -> Option<LabelSet> {
        self.inner.node_labels()
    }

    fn workload(&self) -> Option<Arc<Workload>> {
        self.inner.workload()
    }

    fn shows(&self, device: &DeviceSnapshot) -> bool {
        self.inner.shows(device)
    }
}

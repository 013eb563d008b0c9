//! What workloads say of themselves: pages in a directory, and pages that pods serve. They are read apart from the GPUs,
//! within bounds, and kept as the bytes that go on the metrics page. Nothing here touches a driver, and nothing here runs while
//! a page is served.

mod content;
mod names;
mod rules;
pub mod scrape;
mod textfile;

pub use content::{Content, ContentFamily, Line, Reason, Refusal};
pub use names::NameList;
pub use rules::{OWN_LABELS, Rules};
pub use textfile::{FileProblem, Layout, TEXTFILE, Textfiles};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwap;
use gpu_model::{ContainerName, Namespace, PodName};
use jiff::Timestamp;

use crate::snapshot::{NodeSnapshot, SourceStatus};

/// Whose numbers a page holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The machine, or what runs on it and is no pod.
    Node,
    Pod {
        namespace: Namespace,
        pod: PodName,
        /// Only where somebody said so: which container of a pod serves a page is not known.
        container: Option<ContainerName>,
    },
}

/// How a page came here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Textfile,
    Scrape,
}

impl Way {
    /// The value of the `source` label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Textfile => TEXTFILE,
            Self::Scrape => "scrape",
        }
    }
}

/// One page of one owner. Sheets are ordered by it, so that of two that contradict each other the same one always wins.
#[derive(Debug, Clone)]
pub struct Sheet {
    pub owner: Owner,
    pub way: Way,
    /// The file's name; empty for a page that was scraped.
    pub name: String,
    /// From then on what it says is too old to be shown.
    pub valid_until: Timestamp,
    pub content: Arc<Content>,
}

/// How an owner's pages of one way are doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageStatus {
    pub owner: Owner,
    pub way: Way,
    /// All of them could be taken when they were last looked at.
    pub up: bool,
    /// When the oldest of them was written or scraped.
    pub at: Option<Timestamp>,
    /// From then on that is too long ago.
    pub valid_until: Timestamp,
}

/// Everything that came by one way.
#[derive(Debug, Clone, Default)]
pub struct Part {
    pub sheets: Vec<Sheet>,
    pub pages: Vec<PageStatus>,
    pub source: SourceState,
}

/// How a way as a whole is doing.
#[derive(Debug, Clone, Default)]
pub struct SourceState {
    /// What failed and what to do, for people.
    pub problem: Option<Arc<str>>,
    pub succeeded_at: Option<Instant>,
    /// By class, since the start.
    pub errors: BTreeMap<&'static str, u64>,
}

/// All pages that are known now, in order.
#[derive(Debug, Default)]
pub struct Shelf {
    /// Grows with every change.
    pub sequence: u64,
    /// Whether applications are looked at: where they are not, the page does not speak of them.
    pub is_open: bool,
    pub sheets: Vec<Sheet>,
    pub pages: Vec<PageStatus>,
    pub most_series: usize,
}

/// The pages of applications: readers put in what they found, and the metrics page takes what is there.
pub struct Applications {
    rules: ArcSwap<Rules>,
    most_series: usize,
    parts: Mutex<BTreeMap<Way, Part>>,
    shelf: ArcSwap<Shelf>,
}

impl Default for Applications {
    fn default() -> Self {
        Self::new(Rules::default(), 0)
    }
}

impl Applications {
    /// Nothing is known until a reader has put something in.
    pub fn new(rules: Rules, most_series: usize) -> Self {
        Self {
            rules: ArcSwap::from_pointee(rules),
            most_series,
            parts: Mutex::default(),
            shelf: ArcSwap::default(),
        }
    }

    /// By which pages are read now.
    pub fn rules(&self) -> Arc<Rules> {
        self.rules.load_full()
    }

    /// Takes over which label names the operator adds to every series. What was read before stays away until it is read
    /// again.
    pub fn reserve<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let rules = self.rules().reserving(names);
        self.rules.store(Arc::new(rules));
    }

    /// Replaces all that came by one way.
    pub fn put(&self, way: Way, part: Part) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.insert(way, part);
        let mut sheets: Vec<Sheet> = parts.values().flat_map(|part| part.sheets.clone()).collect();
        let order = |sheet: &Sheet| (sheet.owner.clone(), sheet.way, sheet.name.clone());
        sheets.sort_by_cached_key(order);
        let mut pages: Vec<PageStatus> = parts.values().flat_map(|part| part.pages.clone()).collect();
        pages.sort_by_key(|page| (page.way, page.owner.clone()));
        self.shelf.store(Arc::new(Shelf {
            sequence: self.shelf.load().sequence + 1,
            is_open: true,
            sheets,
            pages,
            most_series: self.most_series,
        }));
    }

    pub fn shelf(&self) -> Arc<Shelf> {
        self.shelf.load_full()
    }

    /// How each way is doing.
    pub fn statuses(&self, now: Instant) -> Vec<SourceStatus> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let status = |(way, part): (&Way, &Part)| SourceStatus {
            name: way.as_str(),
            up: part.source.problem.is_none(),
            problem: part.source.problem.clone(),
            last_success_age: part
                .source
                .succeeded_at
                .map(|at| now.saturating_duration_since(at)),
            last_duration: None,
            errors: part.source.errors.clone(),
        };
        parts.iter().map(status).collect()
    }
}

/// The pods that hold a GPU; pages of others are not ours to show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldingPods(BTreeSet<(Namespace, PodName)>);

impl HoldingPods {
    pub fn of(snapshot: &NodeSnapshot) -> Self {
        let holders = snapshot.devices.iter().flat_map(|device| &device.holders);
        let holders = holders.map(|holder| (holder.namespace.clone(), holder.pod.clone()));
        // A sidecar speaks for its own pod, whatever that holds.
        let own = snapshot.workload.iter();
        let own = own.map(|workload| (workload.namespace.clone(), workload.pod.clone()));
        Self(holders.chain(own).collect())
    }

    pub fn has(&self, namespace: &Namespace, pod: &PodName) -> bool {
        self.0.contains(&(namespace.clone(), pod.clone()))
    }

    pub fn iter(&self) -> impl Iterator<Item = &(Namespace, PodName)> {
        self.0.iter()
    }
}

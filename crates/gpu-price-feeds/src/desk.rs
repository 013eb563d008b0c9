//! The one place where prices come together: the table that comes with the program, the clouds' live lists, and what people of
//! the cluster wrote. Readers get the whole book of the moment for the price of a pointer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use gpu_cost::PriceBook;
use gpu_cost::prices::{NodeSplit, PriceVersion, TableError, bundled_prices};
use gpu_runtime::{Clock, Shutdown, Tasks};
use jiff::Timestamp;
use tokio::sync::watch;

use crate::document::{Document, DocumentSource, watch as document_watch};
use crate::feeds::aws_offer::{AwsOffer, AwsOfferSettings};
use crate::feeds::azure_retail::{AzureRetail, AzureRetailSettings};
use crate::feeds::gcp_catalog::{GcpCatalog, GcpCatalogSettings};
use crate::feeds::runner::Runner;
use crate::feeds::{Feed, FeedSettingsError, Schedule};
use crate::{SourceStatus, Wanted};

/// Where prices come from. What is absent is not asked.
#[derive(Debug, Clone, Default)]
pub struct DeskSettings {
    /// Whether the table that comes with the program is in the book.
    pub bundled: Bundled,
    /// AWS's public offer files.
    pub aws_offer: Option<AwsOfferSettings>,
    /// AWS's spot prices, which need credentials.
    #[cfg(feature = "aws")]
    pub aws_spot: Option<crate::feeds::aws_spot::AwsSpotSettings>,
    /// Google's catalogue.
    pub gcp_catalog: Option<GcpCatalogSettings>,
    /// Azure's retail prices.
    pub azure_retail: Option<AzureRetailSettings>,
    /// How often lists are read; those of spot prices have an interval of their own. Twelve hours where absent.
    pub interval: Option<Duration>,
    /// How often spot prices are read. A quarter of an hour where absent.
    #[cfg(feature = "aws")]
    pub spot_interval: Option<Duration>,
    /// What people of the cluster wrote.
    pub document: Option<DocumentSource>,
    /// A directory in which fetched prices outlive the process.
    pub state: Option<PathBuf>,
}

/// Whether the table that comes with the program is in the book.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bundled {
    /// It stands in where nothing better is known, with its age.
    #[default]
    Included,
    /// Machines that no other source knows have no price.
    Left,
}

/// Why prices cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The table that comes with the program is wrong.
    #[error("failed to read the bundled price table")]
    Bundled(#[from] TableError),
    /// A feed's settings are wrong.
    #[error("cannot set up the price feed `{feed}`")]
    Feed {
        /// Which one.
        feed: &'static str,
        /// What is wrong.
        source: FeedSettingsError,
    },
}

/// Lists change every few weeks; asking twice a day costs little, because an unchanged one is not sent again.
const INTERVAL: Duration = Duration::from_secs(12 * 3600);
/// Spot prices drift over hours.
#[cfg(feature = "aws")]
const SPOT_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// Gives the book of the moment. Clones share it.
#[derive(Clone)]
pub struct PriceDesk {
    shared: Arc<Shared>,
    wanted: Arc<watch::Sender<Arc<Wanted>>>,
    clock: Arc<dyn Clock>,
}

impl PriceDesk {
    /// Starts all sources as tasks and returns at once; the book holds the bundled table, and what an earlier process kept.
    pub fn start(
        settings: DeskSettings,
        clock: Arc<dyn Clock>,
        tasks: &mut Tasks,
        shutdown: &Shutdown,
    ) -> Result<Self, DeskError> {
        let desk = Self::new(settings.bundled, clock)?;
        let schedule = Schedule::every(settings.interval.unwrap_or(INTERVAL));
        let named = |feed: &'static str| move |source| DeskError::Feed { feed, source };
        let mut starter = Starter {
            desk: &desk,
            tasks,
            shutdown,
            state: settings.state,
        };
        if let Some(settings) = settings.aws_offer {
            let feed = AwsOffer::new(settings).map_err(named("aws-offer"))?;
            starter.start(feed, schedule);
        }
        #[cfg(feature = "aws")]
        if let Some(spot) = settings.aws_spot {
            let feed = crate::feeds::aws_spot::AwsSpot::new(spot, Arc::clone(&desk.clock))
                .map_err(named("aws-spot"))?;
            let every = settings.spot_interval.unwrap_or(SPOT_INTERVAL);
            starter.start(feed, Schedule::every(every));
        }
        if let Some(settings) = settings.gcp_catalog {
            let feed = GcpCatalog::new(settings).map_err(named("gcp-catalog"))?;
            starter.start(feed, schedule);
        }
        if let Some(settings) = settings.azure_retail {
            let feed = AzureRetail::new(settings).map_err(named("azure-retail"))?;
            starter.start(feed, schedule);
        }
        if let Some(source) = settings.document {
            document_watch::start(source, &desk.shared, &desk.clock, tasks, shutdown);
        }
        Ok(desk)
    }

    /// A desk without sources of its own.
    fn new(bundled: Bundled, clock: Arc<dyn Clock>) -> Result<Self, DeskError> {
        let table = match bundled {
            Bundled::Included => bundled_prices()?,
            Bundled::Left => Vec::new(),
        };
        Ok(Self {
            shared: Arc::new(Shared::new(table)),
            wanted: Arc::new(watch::Sender::new(Arc::default())),
            clock,
        })
    }

    /// Starts a feed of one's own beside those of the settings.
    pub fn start_feed<F: Feed>(
        &self,
        feed: F,
        schedule: Schedule,
        state: Option<PathBuf>,
        tasks: &mut Tasks,
        shutdown: &Shutdown,
    ) {
        let mut starter = Starter {
            desk: self,
            tasks,
            shutdown,
            state,
        };
        starter.start(feed, schedule);
    }

    /// The book of the moment.
    pub fn book(&self) -> Arc<PriceBook> {
        self.shared.book.load_full()
    }

    /// How a node's price is divided, as the document says; the default where it says nothing.
    pub fn split(&self) -> NodeSplit {
        self.shared
            .parts()
            .document
            .current
            .as_ref()
            .and_then(|document| document.split)
            .unwrap_or_default()
    }

    /// Tells which prices are of interest. Telling the same again changes nothing.
    pub fn want(&self, wanted: Wanted) {
        self.wanted.send_if_modified(|current| {
            let news = **current != wanted;
            if news {
                *current = Arc::new(wanted);
            }
            news
        });
    }

    /// How each source fares, in a fixed order.
    pub fn status(&self) -> Vec<SourceStatus> {
        let now = self.clock.now();
        let parts = self.shared.parts();
        let feeds = parts.feeds.values().flat_map(|feed| &feed.statuses);
        let document = parts.document.status.as_ref();
        self.shared
            .bundled
            .iter()
            .chain(document)
            .chain(feeds)
            .map(|status| status.clone().at(now))
            .collect()
    }

    /// The age of each source for a gauge by source: that of its oldest list. A source without any list that was ever read is
    /// left out.
    pub fn ages(&self) -> BTreeMap<&'static str, Duration> {
        let mut ages = BTreeMap::new();
        for status in self.status() {
            if let Some(age) = status.age {
                let oldest = ages.entry(status.source).or_insert(age);
                *oldest = age.max(*oldest);
            }
        }
        ages
    }

    /// Counts the books so far; a change of it is a change of prices.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.shared.revision.subscribe()
    }
}

/// What starting a feed needs.
struct Starter<'a> {
    desk: &'a PriceDesk,
    tasks: &'a mut Tasks,
    shutdown: &'a Shutdown,
    state: Option<PathBuf>,
}

impl Starter<'_> {
    fn start<F: Feed>(&mut self, feed: F, schedule: Schedule) {
        let source = feed.source();
        let shared = Arc::clone(&self.desk.shared);
        let clock = Arc::clone(&self.desk.clock);
        let runner = Arc::new(Runner::new(feed, schedule, shared, clock, self.state.clone()));
        let (wanted, shutdown) = (self.desk.wanted.clone(), self.shutdown.clone());
        self.tasks.start(source, move || {
            let (runner, wanted, shutdown) = (Arc::clone(&runner), wanted.subscribe(), shutdown.clone());
            async move {
                runner.run(wanted, &shutdown).await;
                Ok(())
            }
        });
    }
}

/// What the sources write and the readers read.
pub(crate) struct Shared {
    /// The book of the table alone, from which every other is made.
    base: PriceBook,
    bundled: Option<SourceStatus>,
    parts: Mutex<Parts>,
    book: ArcSwap<PriceBook>,
    revision: watch::Sender<u64>,
}

#[derive(Default)]
struct Parts {
    feeds: BTreeMap<&'static str, FeedPart>,
    document: DocumentPart,
}

#[derive(Default)]
struct FeedPart {
    versions: Vec<PriceVersion>,
    statuses: Vec<SourceStatus>,
}

#[derive(Default)]
struct DocumentPart {
    current: Option<Document>,
    status: Option<SourceStatus>,
}

impl Shared {
    fn new(table: Vec<PriceVersion>) -> Self {
        let bundled = table
            .iter()
            .map(|version| version.as_of)
            .max()
            .map(|newest| SourceStatus {
                confirmed_at: Some(newest.timestamp()),
                versions: table.len(),
                ..SourceStatus::new("bundled", None)
            });
        let mut base = PriceBook::new();
        base.add_versions(table);
        Self {
            book: ArcSwap::from_pointee(base.clone()),
            base,
            bundled,
            parts: Mutex::default(),
            revision: watch::Sender::new(0),
        }
    }

    /// Takes the prices of a feed, unless they are the same as before, and how its lists fare.
    pub(crate) fn put_feed(
        &self,
        source: &'static str,
        versions: Option<Vec<PriceVersion>>,
        statuses: Vec<SourceStatus>,
    ) {
        let mut parts = self.parts();
        let feed = parts.feeds.entry(source).or_default();
        feed.statuses = statuses;
        if let Some(versions) = versions
            && feed.versions != versions
        {
            feed.versions = versions;
            self.rebuild(&parts);
        }
    }

    /// Takes a document, or none any more, in place of the one before.
    pub(crate) fn put_document(&self, document: Option<Document>, status: SourceStatus) {
        let mut parts = self.parts();
        parts.document.status = Some(status);
        if parts.document.current != document {
            parts.document.current = document;
            self.rebuild(&parts);
        }
    }

    /// Notes that a document was refused. The one before stays in force.
    pub(crate) fn refuse_document(&self, change: impl FnOnce(&mut SourceStatus)) {
        let mut parts = self.parts();
        let status = parts
            .document
            .status
            .get_or_insert_with(|| SourceStatus::new("document", None));
        change(status);
    }

    /// When the document in force was last confirmed.
    pub(crate) fn confirm_document(&self, at: Timestamp) {
        if let Some(status) = &mut self.parts().document.status
            && status.last_error.is_none()
        {
            status.confirmed_at = Some(at);
        }
    }

    fn rebuild(&self, parts: &Parts) {
        let mut book = self.base.clone();
        book.add_versions(
            parts
                .feeds
                .values()
                .flat_map(|feed| feed.versions.iter().cloned()),
        );
        if let Some(document) = &parts.document.current {
            document.enter(&mut book);
        }
        self.book.store(Arc::new(book));
        self.revision.send_modify(|revision| *revision += 1);
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Reads the lists of a feed again and again: each on an interval with jitter, after a failure with growing pauses, and at once
//! when something is wanted that it was not read for.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gpu_cost::Moment;
use gpu_runtime::{Chain, Clock, Shutdown};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{info, warn};

use super::state::{List, Lists};
use super::{Answer, Division, Feed, FeedError, ListRequest};
use crate::desk::Shared;
use crate::{Problem, Wanted};

/// When lists are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// From one reading to the next, give or take a tenth, so that clusters do not all ask at the same moment.
    pub interval: Duration,
    /// The pause after the first failure; it doubles with every further one.
    pub first_pause: Duration,
    /// The longest of those pauses.
    pub longest_pause: Duration,
    /// How long to wait after a change of what is wanted: nodes arrive one after the other, and each list is read once for all.
    pub gather: Duration,
    /// How long a price that was followed by another is kept, so that its time can be settled anew.
    pub keep: Duration,
}

impl Schedule {
    /// The usual pauses around an interval.
    pub const fn every(interval: Duration) -> Self {
        Self {
            interval,
            first_pause: Duration::from_secs(30),
            longest_pause: Duration::from_secs(30 * 60),
            gather: Duration::from_secs(10),
            // A month and some days: what a monthly report may have to correct.
            keep: Duration::from_secs(35 * 24 * 3600),
        }
    }
}

/// Nothing is due: something may become wanted, and that is noticed without this.
const IDLE: Duration = Duration::from_secs(3600);

/// A feed with all that it remembers.
pub(crate) struct Runner<F> {
    feed: F,
    schedule: Schedule,
    lists: Mutex<Lists>,
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    directory: Option<PathBuf>,
}

impl<F: Feed> Runner<F> {
    /// Takes up what an earlier process left in `directory`.
    pub(crate) fn new(
        feed: F,
        schedule: Schedule,
        shared: Arc<Shared>,
        clock: Arc<dyn Clock>,
        directory: Option<PathBuf>,
    ) -> Self {
        let lists = directory
            .as_deref()
            .map(|directory| Lists::load(directory, feed.source()))
            .unwrap_or_default();
        let runner = Self {
            feed,
            schedule,
            lists: Mutex::new(lists),
            shared,
            clock,
            directory,
        };
        runner.take_up();
        runner
    }

    /// Reads lists until the shutdown.
    pub(crate) async fn run(&self, mut wanted: watch::Receiver<Arc<Wanted>>, shutdown: &Shutdown) {
        let work = async {
            loop {
                let requests = self.requests(&wanted.borrow_and_update().clone());
                while let Some(request) = self.first_due(&requests) {
                    let changed = self.refresh(request).await;
                    self.publish(&requests, changed);
                    if wanted.has_changed().unwrap_or(false) {
                        break;
                    }
                }
                self.publish(&requests, Changed::No);
                tokio::select! {
                    () = sleep_until(self.next_due(&requests)) => {}
                    changed = wanted.changed() => match changed {
                        Ok(()) => sleep(self.schedule.gather).await,
                        // Nobody can want anything else any more; what is wanted is still kept fresh.
                        Err(_) => sleep_until(self.next_due(&requests)).await,
                    }
                }
            }
        };
        tokio::select! {
            () = work => {}
            () = shutdown.triggered() => {}
        }
    }

    /// The lists that are needed for what is wanted.
    fn requests(&self, wanted: &Wanted) -> Vec<ListRequest> {
        let cloud = self.feed.cloud();
        match self.feed.division() {
            Division::ByRegion => wanted
                .regions(cloud)
                .map(|(region, _)| ListRequest {
                    region: Some(region.to_owned()),
                    wanted: wanted.part(cloud, Some(region)),
                })
                .collect(),
            Division::Whole => {
                let wanted = wanted.part(cloud, None);
                let request = ListRequest { region: None, wanted };
                (!request.wanted.is_empty())
                    .then_some(request)
                    .into_iter()
                    .collect()
            }
        }
    }

    fn first_due<'a>(&self, requests: &'a [ListRequest]) -> Option<&'a ListRequest> {
        let now = Instant::now();
        requests
            .iter()
            .find(|request| self.due(request).is_none_or(|due| due <= now))
    }

    fn next_due(&self, requests: &[ListRequest]) -> Instant {
        let now = Instant::now();
        let earliest = requests
            .iter()
            .map(|request| self.due(request).unwrap_or(now))
            .min();
        earliest.unwrap_or(now + IDLE)
    }

    /// When a list is to be read; absent means at once.
    fn due(&self, request: &ListRequest) -> Option<Instant> {
        let lists = self.lists();
        let list = lists.by_region.get(&request.region)?;
        list.due.filter(|_| list.tried_for.covers(&request.wanted))
    }

    /// Reads one list and notes what came of it. What was known before stays known whatever happens.
    async fn refresh(&self, request: &ListRequest) -> Changed {
        let known = {
            let lists = self.lists();
            lists
                .by_region
                .get(&request.region)
                .filter(|list| list.confirmed_at.is_some() && list.read_for.covers(&request.wanted))
                .map(|list| list.validators.clone())
        };
        let outcome = match self.feed.fetch(request, known.as_ref()).await {
            Ok(Answer::Prices { points, .. }) if points.is_empty() => Err(FeedError::Empty {
                wanted: request.wanted.len(),
            }),
            other => other,
        };
        self.note(request, outcome)
    }

    fn note(&self, request: &ListRequest, outcome: Result<Answer, FeedError>) -> Changed {
        let now = self.clock.now();
        let mut lists = self.lists();
        let list = lists.by_region.entry(request.region.clone()).or_default();
        list.tried_for = request.wanted.clone();
        let mut changed = Changed::No;
        match outcome {
            Ok(answer) => {
                if let Answer::Prices { points, validators } = answer {
                    changed = Changed::when(list.history.learn(points, Moment::from(now)));
                    list.read_for = request.wanted.clone();
                    list.validators = validators;
                }
                let kept_since = now.saturating_sub(self.schedule.keep).unwrap_or(now);
                list.history.prune(&request.wanted, Moment::from(kept_since));
                list.confirmed_at = Some(now);
                list.problem = None;
                list.failures = 0;
                list.due = Some(Instant::now() + jittered(self.schedule.interval));
                info!(source = self.feed.source(), region = ?request.region, prices = list.history.len(), "read a price list");
            }
            Err(error) => {
                let pause = self.pause(list, &error);
                list.failures = list.failures.saturating_add(1);
                list.due = Some(Instant::now() + pause);
                list.problem = Some(Problem {
                    class: error.class(),
                    message: Chain(&error).to_string(),
                    at: now,
                });
                warn!(source = self.feed.source(), region = ?request.region, error = %Chain(&error),
                    pause_seconds = pause.as_secs(), "failed to read a price list; what it said before stands");
            }
        }
        let fine = list.failures == 0;
        if let Some(directory) = self.directory.as_ref().filter(|_| fine)
            && let Err(error) = lists.save(directory, self.feed.source())
        {
            warn!(source = self.feed.source(), %error, "failed to keep prices for the next start");
        }
        changed
    }

    /// Doubles with every failure; a server that names a time is not asked before it, within a day.
    fn pause(&self, list: &List, error: &FeedError) -> Duration {
        let doubled = self.schedule.first_pause * 2u32.saturating_pow(list.failures.min(16));
        let ours = jittered(doubled.min(self.schedule.longest_pause));
        let theirs = error.retry_after().unwrap_or_default();
        ours.max(theirs.min(Duration::from_secs(24 * 3600)))
    }

    /// Puts the prices of an earlier process into the book before anything is fetched.
    fn take_up(&self) {
        let versions = self.lists().versions();
        self.shared
            .put_feed(self.feed.source(), Some(versions), Vec::new());
    }

    /// Tells the desk how the lists fare, and their prices if those changed.
    fn publish(&self, requests: &[ListRequest], changed: Changed) {
        let lists = self.lists();
        let source = self.feed.source();
        let statuses = requests
            .iter()
            .filter_map(|request| Some((&request.region, lists.by_region.get(&request.region)?)))
            .map(|(region, list)| list.status(source, region.as_ref()))
            .collect();
        let versions = (changed == Changed::Yes).then(|| lists.versions());
        self.shared.put_feed(source, versions, statuses);
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Yes,
    No,
}

impl Changed {
    fn when(changed: bool) -> Self {
        if changed { Self::Yes } else { Self::No }
    }
}

/// A time give or take a tenth.
fn jittered(time: Duration) -> Duration {
    // The seed of a hash table is the randomness that std offers.
    let random = RandomState::new().build_hasher().finish() % 201;
    let thousandths = 900 + u32::try_from(random).unwrap_or(100);
    time / 1000 * thousandths
}

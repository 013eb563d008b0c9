//! The keeper: one round after the other, with a store that may be slow or away.
//!
//! Long work runs on a thread of its own, and the store is asked by a task that a round waits for only a little. So neither a large
//! fleet nor a lost database makes the rounds late, which would make the ledger blind.

use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_cost::{EndedPod, Moment, PriceBook};
use gpu_model::{ClusterId, ClusterPicture, FleetView, GpuUuid};
use gpu_runtime::Chain;
use gpu_store::error::ErrorClass;
use gpu_store::{Store, StoreError};
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tracing::{error, info, warn};

use super::desk::{Desk, Receipt};
use super::kept::{self, Kept};
use super::settings::LedgerSettings;
use super::status::{LedgerState, LedgerStatus};
use super::writing::{Done, retain, write};

/// A store that comes back after hours has some fifty windows to take; a round writes so many and leaves the rest to the next.
const MOST_WRITES: usize = 24;
/// How often old rows are dropped.
const RETAIN_EVERY_MS: i64 = 3_600_000;

/// One round over the fleet.
#[derive(Debug, Clone)]
pub struct LedgerLook {
    pub view: Arc<FleetView>,
    /// What the API says; absent for fleets without one.
    pub picture: Option<Arc<ClusterPicture>>,
    /// GPUs that are not fit to be handed out.
    pub unhealthy: Arc<BTreeSet<GpuUuid>>,
    /// Pods that ended since the last round, as the API told.
    pub ended: Vec<EndedPod>,
}

impl LedgerLook {
    pub fn new(view: Arc<FleetView>, picture: Option<Arc<ClusterPicture>>) -> Self {
        Self {
            view,
            picture,
            unhealthy: Arc::default(),
            ended: Vec::new(),
        }
    }
}

/// Keeps the ledger of one cluster.
pub struct LedgerKeeper {
    cluster: ClusterId,
    store: Arc<dyn Store>,
    settings: Arc<LedgerSettings>,
    /// Away while a thread works on it; lost where that thread failed.
    desk: Option<Box<Desk>>,
    link: Link,
    was_writer: bool,
    polled_at: Option<Moment>,
    retained_at: Option<Moment>,
    status: LedgerStatus,
}

/// How it stands with the store.
enum Link {
    /// Where the ledger ends has to be asked.
    Closed,
    Loading(JoinHandle<Result<Option<Kept>, StoreError>>),
    Open,
    Writing(JoinHandle<(Receipt, Result<Done, StoreError>)>),
    Polling(JoinHandle<Result<Option<Moment>, StoreError>>),
    Retaining(JoinHandle<Result<(), StoreError>>),
}

/// What the rest of a round has to go by.
struct Turn<'a> {
    prices: &'a Arc<PriceBook>,
    now: Moment,
    may_write: bool,
}

/// Whether a round has more to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

impl LedgerKeeper {
    pub fn new(cluster: ClusterId, store: Arc<dyn Store>, settings: LedgerSettings) -> Self {
        let settings = Arc::new(settings);
        Self {
            desk: Some(Box::new(Desk::new(cluster.clone(), settings.clone()))),
            cluster,
            store,
            settings,
            link: Link::Closed,
            was_writer: false,
            polled_at: None,
            retained_at: None,
            status: LedgerStatus::default(),
        }
    }

    pub fn status(&self) -> &LedgerStatus {
        &self.status
    }

    /// Takes a round in, and writes what is due where this replica may write.
    ///
    /// `now` is the program's clock; in a simulated fleet it is the fleet's.
    pub async fn round(
        &mut self,
        look: LedgerLook,
        prices: &Arc<PriceBook>,
        now: Timestamp,
        may_write: bool,
    ) -> &LedgerStatus {
        let turn = Turn {
            prices,
            now: Moment::from(now),
            may_write,
        };
        self.on_desk(move |desk| {
            let picture = look.picture.as_deref();
            desk.look(&look.view, picture, &look.unhealthy, &look.ended);
        })
        .await;
        if may_write && !self.was_writer && matches!(self.link, Link::Open) {
            // Others may have written since: where the ledger ends now is asked anew.
            self.link = Link::Closed;
        }
        self.was_writer = may_write;
        let deadline = Instant::now() + self.settings.patience;
        for _ in 0..MOST_WRITES {
            if self.step(&turn, deadline).await == Next::Stop {
                break;
            }
        }
        self.update_status(&turn);
        &self.status
    }

    /// Waits for what is under way, so that nothing is left half told when the program ends.
    pub async fn finish(&mut self) {
        let link = std::mem::replace(&mut self.link, Link::Open);
        if let Link::Writing(task) = link
            && let Ok((receipt, done)) = task.await
        {
            self.wrote(receipt, done, Moment(0)).await;
        }
    }

    /// Does one thing with the store.
    async fn step(&mut self, turn: &Turn<'_>, deadline: Instant) -> Next {
        match std::mem::replace(&mut self.link, Link::Closed) {
            Link::Closed => {
                let load = kept::load(self.store.clone(), self.cluster.clone());
                self.link = Link::Loading(tokio::spawn(load));
                Next::GoOn
            }
            Link::Loading(mut task) => match timeout_at(deadline, &mut task).await {
                Err(_) => self.wait(Link::Loading(task), turn),
                Ok(Ok(Ok(kept))) => {
                    self.opened(kept, turn).await;
                    Next::GoOn
                }
                Ok(Ok(Err(error))) => self.failed("read the ledger's end", &error, Link::Closed, turn),
                Ok(Err(error)) => self.failed("read the ledger's end", &error, Link::Closed, turn),
            },
            Link::Open => self.next_task(turn).await,
            Link::Writing(mut task) => match timeout_at(deadline, &mut task).await {
                Err(_) => self.wait(Link::Writing(task), turn),
                Ok(Ok((receipt, done))) => {
                    self.link = Link::Open;
                    self.wrote(receipt, done, turn.now).await
                }
                // What was to be written is lost with the task; where the ledger ends is read again.
                Ok(Err(error)) => {
                    self.desk = None;
                    self.failed("write the ledger", &error, Link::Closed, turn)
                }
            },
            Link::Polling(mut task) => match timeout_at(deadline, &mut task).await {
                Err(_) => self.wait(Link::Polling(task), turn),
                Ok(Ok(Ok(until))) => {
                    self.link = Link::Open;
                    self.status.settle();
                    if let Some(until) = until {
                        self.on_desk(move |desk| desk.follow(until)).await;
                    }
                    Next::GoOn
                }
                Ok(Ok(Err(error))) => self.failed("read the ledger's end", &error, Link::Open, turn),
                Ok(Err(error)) => self.failed("read the ledger's end", &error, Link::Open, turn),
            },
            Link::Retaining(mut task) => match timeout_at(deadline, &mut task).await {
                Err(_) => self.wait(Link::Retaining(task), turn),
                Ok(Ok(Ok(()))) => {
                    self.link = Link::Open;
                    Next::GoOn
                }
                Ok(Ok(Err(error))) => self.failed("drop old rows", &error, Link::Open, turn),
                Ok(Err(error)) => self.failed("drop old rows", &error, Link::Open, turn),
            },
        }
    }

    /// Starts what is due.
    async fn next_task(&mut self, turn: &Turn<'_>) -> Next {
        self.link = Link::Open;
        let is_past = |then: Option<Moment>, every: i64| then.is_none_or(|then| turn.now.0 - then.0 >= every);
        if !turn.may_write {
            if is_past(self.polled_at, self.settings.settle.grain.milliseconds()) {
                self.polled_at = Some(turn.now);
                let poll = kept::settled_until(self.store.clone(), self.cluster.clone());
                self.link = Link::Polling(tokio::spawn(poll));
                return Next::GoOn;
            }
            return Next::Stop;
        }
        let (prices, now) = (turn.prices.clone(), turn.now);
        let work = self.on_desk(move |desk| desk.next_work(&prices, now)).await;
        if let Some(work) = work.flatten() {
            let write = write(self.store.clone(), self.cluster.clone(), work);
            self.link = Link::Writing(tokio::spawn(write));
            return Next::GoOn;
        }
        if is_past(self.retained_at, RETAIN_EVERY_MS) {
            self.retained_at = Some(turn.now);
            let retain = retain(self.store.clone(), self.settings.retention, turn.now);
            self.link = Link::Retaining(tokio::spawn(retain));
            return Next::GoOn;
        }
        Next::Stop
    }

    async fn opened(&mut self, kept: Option<Kept>, turn: &Turn<'_>) {
        self.link = Link::Open;
        self.status.settle();
        let now = turn.now;
        if kept.is_none() && !turn.may_write {
            // The first leader begins the ledger; until then there is none to follow.
            self.link = Link::Closed;
            return;
        }
        let until = kept.as_ref().map(|kept| kept.settled_until.timestamp());
        self.on_desk(move |desk| desk.open(kept, now)).await;
        info!(settled_until = ?until, may_write = turn.may_write, "opened the ledger");
    }

    async fn wrote(&mut self, receipt: Receipt, done: Result<Done, StoreError>, now: Moment) -> Next {
        match done {
            Ok(done) => {
                self.status.settle();
                self.status.rows_written += done.rows;
                self.status.windows_corrected += done.corrected;
                self.on_desk(move |desk| desk.written(receipt)).await;
                Next::GoOn
            }
            Err(failure) => {
                let is_refused = failure.class() == ErrorClass::Refused;
                let is_given_up = self
                    .on_desk(move |desk| desk.not_written(receipt, is_refused))
                    .await
                    .unwrap_or(false);
                if is_given_up {
                    self.status.windows_set_aside += 1;
                    error!(error = %Chain(&failure), "set a window of the ledger aside, because the store refuses it");
                } else {
                    warn!(error = %Chain(&failure), "failed to write the ledger; it waits in memory");
                }
                self.status
                    .say(format!("the ledger cannot be written: {}", Chain(&failure)), now);
                Next::Stop
            }
        }
    }

    /// The store takes its time; the round goes on without.
    fn wait(&mut self, link: Link, turn: &Turn<'_>) -> Next {
        self.link = link;
        self.status
            .say("the store has not answered yet".to_owned(), turn.now);
        Next::Stop
    }

    fn failed(
        &mut self,
        act: &str,
        error: &(dyn std::error::Error + 'static),
        link: Link,
        turn: &Turn<'_>,
    ) -> Next {
        self.link = link;
        warn!(error = %Chain(error), act, "the store did not do what the ledger needs; trying again");
        self.status
            .say(format!("failed to {act}: {}", Chain(error)), turn.now);
        Next::Stop
    }

    /// Works on the books on a thread of their own. None where the thread failed: the books are begun anew from the store.
    async fn on_desk<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Desk) -> T + Send + 'static,
    ) -> Option<T> {
        let mut desk = match self.desk.take() {
            Some(desk) => desk,
            None => {
                self.link = Link::Closed;
                Box::new(Desk::new(self.cluster.clone(), self.settings.clone()))
            }
        };
        let worked = tokio::task::spawn_blocking(move || {
            let answer = work(&mut desk);
            (desk, answer)
        });
        match worked.await {
            Ok((desk, answer)) => {
                self.desk = Some(desk);
                Some(answer)
            }
            Err(failure) => {
                error!(error = %Chain(&failure), "lost the books in memory; going on from the store");
                self.status.set_aside += 1;
                None
            }
        }
    }

    fn update_status(&mut self, turn: &Turn<'_>) {
        if let Some(desk) = &self.desk {
            self.status.settled_until = desk.settled_until().map(Moment::timestamp);
            self.status.set_aside = self.status.set_aside.max(desk.set_aside);
            self.status.blind_seconds = u64::try_from(desk.blind_ms / 1000).unwrap_or(0);
        }
        self.status.state = match (&self.status.problem, turn.may_write) {
            (Some(_), true) => LedgerState::Holding,
            (None, true) => LedgerState::Keeping,
            (_, false) if self.status.settled_until.is_some() => LedgerState::Following,
            (_, false) => LedgerState::Opening,
        };
    }
}

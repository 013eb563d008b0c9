//! A turn of the control plane: one round of seeing, then what this replica may do about it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gpu_model::GpuUuid;
use gpu_price_feeds::Wanted;
use gpu_runtime::{Chain, Shutdown, Tasks};
use gpu_waste::{Cause, Report, Subject};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{debug, warn};

use super::leading::Lead;
use super::observe::Observer;
use super::past::Past;
use super::telling::Telling;
use crate::api::Served;
use crate::cli::serve::{Role as ServeRole, ServeOptions};
use crate::control::Role;
use crate::decisions::{Standing, changes};
use crate::lead::PauseState;
use crate::ledger::{LedgerKeeper, LedgerLook, LedgerSettings};
use crate::own_metrics::OwnMetrics;
use crate::pages::Round;
use crate::rates;
use crate::watch::{Access, KindStatus};
use crate::wire::status::PauseLine;

/// Everything a turn needs. One task owns it; a turn that failed is followed by the next one with the same memory.
pub(super) struct Turner {
    interval: Duration,
    window: Duration,
    observer: Observer,
    served: Served,
    own: Arc<OwnMetrics>,
    lead: Option<Lead>,
    standing: Standing,
    has_history: bool,
    telling: Telling,
    past: Past,
    /// Absent where this program has another role.
    ledger: Option<LedgerKeeper>,
}

impl Turner {
    pub(super) fn new(
        options: &ServeOptions,
        mut observer: Observer,
        served: Served,
        own: Arc<OwnMetrics>,
        lead: Option<Lead>,
        telling: Telling,
        past: Past,
    ) -> Self {
        observer.keeps_harvest = telling.wants_harvest();
        let keeper = ledger(options, &served, &observer);
        Self {
            telling,
            past,
            interval: options.analysis.analysis_interval,
            window: options.analysis.analysis_window,
            observer,
            served,
            own,
            lead,
            standing: Standing::new(),
            has_history: false,
            ledger: keeper,
        }
    }

    /// Turns until the shutdown.
    pub(super) fn start(self, tasks: &mut Tasks, shutdown: Shutdown) {
        let shared = Arc::new(Mutex::new(self));
        tasks.start("observe", move || {
            let (turner, shutdown) = (shared.clone(), shutdown.clone());
            async move {
                let mut turner = turner.lock().await;
                turner.run(&shutdown).await;
                Ok(())
            }
        });
    }

    async fn run(&mut self, shutdown: &Shutdown) {
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = shutdown.triggered() => return,
            }
            self.note_leadership();
            tokio::select! {
                () = self.turn() => {}
                () = shutdown.triggered() => return,
            }
            if self.served.pages.current().is_none() {
                // The cluster is not known yet: look again soon, so that the first page does not wait for a whole interval.
                ticks.reset_after(FIRST_LOOKS.min(self.interval));
            }
        }
    }

    async fn turn(&mut self) {
        let clock = self.served.clock.clone();
        let (begun, now) = (clock.monotonic(), clock.now());
        if !self.has_history && self.observer.is_ready(now) {
            self.recall(now).await;
            self.has_history = true;
        }
        let outcome = self.observer.round(now).await;
        let took = clock.monotonic().saturating_duration_since(begun);
        self.own.turned("observe", took, now, outcome.is_err());
        self.note_watches();
        match outcome {
            Ok(round) => {
                self.served.control.set_serving(None);
                self.served.health.turned();
                self.act(round, now).await;
            }
            Err(error) => {
                let words = Chain(&error).to_string();
                if self.served.pages.current().is_none() {
                    self.served.control.set_serving(Some(words.clone()));
                }
                debug!(error = %words, "made no round");
            }
        }
        debug!(seconds = took.as_secs_f64(), "turned");
    }

    /// What follows from a round: pages for readers first, then records and words for owners, which may wait for others.
    async fn act(&mut self, round: Round, now: Timestamp) {
        self.own.collected(&round.targets);
        self.note_prices(&round);
        let round = self.served.pages.publish(round);
        let (mut lines, standing) = changes(&self.standing, &round.report);
        self.standing = standing;
        if let Some(picture) = &round.picture {
            let harvest = self.observer.harvest.take();
            lines.extend(self.telling.cycle(&round, harvest.as_ref(), picture, now).await);
            self.telling.note(&self.own);
        }
        self.served.decisions.note(&lines);
        if self.may_write() {
            let kept = self.served.decisions.keep(&lines).await;
            let outcome = kept.map_err(|error| Chain(&error).to_string());
            if let Err(words) = &outcome {
                warn!(error = %words, "failed to keep decisions");
            }
            self.served.control.set_dependency("store", outcome);
            self.keep_past(now).await;
        }
        if self.ledger.is_some() {
            let look = self.ledger_look(&round);
            self.keep_ledger(look, now).await;
        }
    }

    /// Keeps the small facts of the windows for the next start, now and then.
    async fn keep_past(&mut self, now: Timestamp) {
        let Some(windows) = self.observer.windows.as_ref().filter(|_| self.past.is_due(now)) else {
            return;
        };
        let term = self.lead.as_ref().and_then(|lead| lead.leadership.term());
        let term = term.map_or(0, |term| term.number());
        if let Err(error) = self.past.write(windows.memory(), term, now).await {
            warn!(error = %Chain(&error), "failed to keep what the windows know");
        }
    }

    /// Takes up what was kept before this start, and what the source itself remembers.
    async fn recall(&mut self, now: Timestamp) {
        match self.past.read().await {
            Ok(memory) => {
                if let Some(windows) = &mut self.observer.windows {
                    windows.restore(memory);
                }
            }
            Err(error) => {
                warn!(error = %Chain(&error), "failed to read what the windows knew; they begin anew")
            }
        }
        self.observer.remember(now, self.window, self.interval).await;
    }

    fn ledger_look(&self, round: &Round) -> LedgerLook {
        let view = Arc::new(round.view.clone());
        let mut look = LedgerLook::new(view, round.picture.clone());
        look.unhealthy = Arc::new(unhealthy(&round.report));
        if let Some(watch) = &self.observer.watch {
            look.ended = watch.take_ended();
        }
        look
    }

    /// The ledger is no part of the cluster: a pause of writes does not stop the bill.
    async fn keep_ledger(&mut self, look: LedgerLook, now: Timestamp) {
        let may_write = self.may_write();
        let prices = self.observer.desk.book();
        let Some(keeper) = &mut self.ledger else { return };
        let status = keeper.round(look, &prices, now, may_write).await;
        self.served.control.set_dependency("ledger", status.check());
        let set_aside = status.set_aside;
        self.own.set_aside("ledger", set_aside);
    }

    /// Without an election this replica is alone, and its own store is its own.
    fn may_write(&self) -> bool {
        self.lead.as_ref().is_none_or(|lead| lead.leadership.is_leader())
    }

    fn note_leadership(&self) {
        let Some(lead) = &self.lead else { return };
        let control = &self.served.control;
        let role = if lead.leadership.is_leader() {
            Role::Leader
        } else {
            Role::Follower
        };
        let holder = (role == Role::Leader).then(|| lead.leadership.identity().to_owned());
        control.set_leadership(role, holder);
        let (paused, outcome) = match lead.pause_state() {
            PauseState::Running => (None, Ok(())),
            PauseState::Paused(pause) => {
                let line = PauseLine {
                    by: pause.by,
                    reason: Some(pause.why),
                    since: pause.since,
                };
                (Some(line), Ok(()))
            }
            PauseState::Unknown => (
                None,
                Err("it is not known whether writes are paused: nothing is written".to_owned()),
            ),
        };
        control.set_paused(paused);
        control.set_dependency("pause switch", outcome);
    }

    fn note_watches(&self) {
        let Some(watch) = &self.observer.watch else { return };
        let mut set_aside = 0;
        for status in watch.status() {
            set_aside += u64::try_from(status.set_aside.count).unwrap_or(u64::MAX);
            let name = format!("watch {}", status.kind.name());
            self.served.control.set_dependency(&name, access(&status));
        }
        self.own.set_aside("watch", set_aside);
    }

    fn note_prices(&self, round: &Round) {
        let desk = &self.observer.desk;
        let machines: Vec<_> = round
            .view
            .nodes
            .iter()
            .map(|node| rates::machine(node, round.picture.as_deref()))
            .collect();
        desk.want(Wanted::of(&machines));
        let mut ages = std::collections::BTreeMap::new();
        for status in desk.status() {
            if let Some(age) = status.age {
                let oldest: &mut f64 = ages.entry(status.source.to_owned()).or_default();
                *oldest = oldest.max(age.as_secs_f64());
            }
            let name = match &status.region {
                Some(region) => format!("prices {} {region}", status.source),
                None => format!("prices {}", status.source),
            };
            let outcome = status.last_error.map_or(Ok(()), |problem| Err(problem.message));
            self.served.control.set_dependency(&name, outcome);
        }
        self.own.set_price_ages(ages);
    }
}

fn ledger(options: &ServeOptions, served: &Served, observer: &Observer) -> Option<LedgerKeeper> {
    if !options.roles.contains(&ServeRole::Cost) {
        return None;
    }
    let interval = options.analysis.analysis_interval.as_millis();
    let mut settings = LedgerSettings::every(i64::try_from(interval).unwrap_or(i64::MAX));
    settings.settle.split = observer.desk.split();
    let store = served.decisions.store()?.clone();
    Some(LedgerKeeper::new(
        served.decisions.cluster().clone(),
        store,
        settings,
    ))
}

/// GPUs whose fault is their own: nobody should be given them.
fn unhealthy(report: &Report) -> BTreeSet<GpuUuid> {
    let findings = report
        .findings
        .iter()
        .filter(|finding| finding.cause == Cause::Unhealthy);
    findings
        .filter_map(|finding| match &finding.subject {
            Subject::Gpu { uuid, .. } => Some(uuid.clone()),
            Subject::Pod { .. } | Subject::Node { .. } => None,
        })
        .collect()
}

/// What is wrong with a watch. A kind that the cluster does not have, or that we may do without, is no fault.
fn access(status: &KindStatus) -> Result<(), String> {
    match &status.access {
        Access::NotAsked | Access::Watching | Access::Missing { .. } => Ok(()),
        Access::Forbidden { why, since } if status.kind.is_mandatory() => {
            Err(format!("the account may not watch it since {since}: {why}"))
        }
        Access::Forbidden { .. } => Ok(()),
        Access::Failing { why, since } => Err(format!("it fails since {since}: {why}")),
    }
}

/// Until the cluster is known.
const FIRST_LOOKS: Duration = Duration::from_secs(1);

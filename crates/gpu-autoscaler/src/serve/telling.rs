//! What the leader says after a round: events, notices and the health of GPUs, each in its own mode.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context as _;
use gpu_model::{ClusterPicture, Harvest, NanoUsd};
use gpu_runtime::{Chain, Clock, Shutdown, Tasks};
use gpu_store::{RecordKind, RecordQuery, Store};
use jiff::Timestamp;
use tracing::warn;

use super::ground::Ground;
use super::leading::Lead;
use crate::cli::serve::{ServeOptions, Switch};
use crate::lead::{Mode, WriteError, Writer};
use crate::own_metrics::OwnMetrics;
use crate::pages::Round;
use crate::tell::diary::TellSettings;
use crate::tell::gpu_health::{HealthSettings, node_facts};
use crate::tell::notices::{Notices, read_channels};
use crate::tell::teller::{CycleError, Teller, Tracking};
use crate::wire::decisions::DecisionLine;

/// The parts that write, each absent where its switch is off.
pub(super) struct Telling {
    findings: Option<Teller>,
    health: Option<Teller>,
    writers: Vec<Writer>,
    notices: Notices,
    store: Arc<dyn Store>,
    /// What users' changes save in a month, read once from the store and added to from then on.
    saved: Option<i128>,
}

/// Savings are some a day; more than these pages of them are years.
const PAGES_OF_SAVINGS: usize = 20;

impl Telling {
    /// Nothing tells without a cluster: there is no one to write to.
    pub(super) fn new(
        options: &ServeOptions,
        ground: &Ground,
        lead: Option<&Lead>,
        clock: &Arc<dyn Clock>,
        tasks: &mut Tasks,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Self> {
        let telling = &options.telling;
        let notices = match &telling.notices_file {
            Some(path) => open_notices(path, tasks, shutdown)?,
            None => Notices::default(),
        };
        let mut parts = Self {
            findings: None,
            health: None,
            writers: Vec::new(),
            notices,
            store: ground.store.clone(),
            saved: None,
        };
        let Some(lead) = lead else { return Ok(parts) };
        let settings = TellSettings {
            window: options.analysis.analysis_window,
            event_after: telling.event_after,
            money_floor: NanoUsd(i64::from(telling.money_floor).saturating_mul(1_000_000_000)),
            ..TellSettings::default()
        };
        let health = HealthSettings {
            // As many rounds as a driver's restart takes at the usual interval.
            settle: options.analysis.analysis_interval.saturating_mul(10),
            ..HealthSettings::default()
        };
        let tracking = match telling.annotations {
            Switch::Off => Tracking::Off,
            Switch::On | Switch::DryRun => Tracking::Annotations,
        };
        let mut teller =
            |switch: Switch, tracking: Tracking, notices: Notices| -> anyhow::Result<Option<Teller>> {
                let Some(mode) = mode(switch) else { return Ok(None) };
                let writer = lead.writer(mode)?;
                parts.writers.push(writer.clone());
                Ok(Some(Teller::new(
                    writer,
                    ground.store.clone(),
                    clock.clone(),
                    ground.cluster.clone(),
                    settings,
                    health,
                    tracking,
                    notices,
                )))
            };
        let findings = teller(telling.events, tracking, parts.notices.clone())?;
        let health = teller(telling.node_conditions, Tracking::Off, Notices::default())?;
        parts.findings = findings;
        parts.health = health;
        Ok(parts)
    }

    /// Whether the raw round is needed after the join.
    pub(super) fn wants_harvest(&self) -> bool {
        self.health.is_some()
    }

    /// Tells what is due. Answers with what was done, for the decision log.
    pub(super) async fn cycle(
        &mut self,
        round: &Round,
        harvest: Option<&Harvest>,
        picture: &ClusterPicture,
        now: Timestamp,
    ) -> Vec<DecisionLine> {
        let mut lines = Vec::new();
        if self.saved.is_none() {
            self.saved = saved_before(&*self.store).await;
        }
        if let Some(teller) = &mut self.findings {
            let exempted: BTreeSet<_> = round
                .report
                .exempted
                .iter()
                .map(|exempted| exempted.pod.clone())
                .collect();
            let sights = crate::tell::sights::Sights::of(picture, &round.view, &exempted);
            match teller.tell(&round.report.findings, &sights, now).await {
                Ok(told) => {
                    if let Some(saved) = &mut self.saved {
                        let new = told.savings.iter().filter_map(|saving| saving.saved_monthly);
                        *saved += new.map(|amount| i128::from(amount.0)).sum::<i128>();
                    }
                    lines.extend(told.savings.iter().map(|saving| DecisionLine {
                        at: now,
                        subject: saving.owner.clone(),
                        verdict: "resolved".to_owned(),
                        reason: format!("{}: {}", saving.cause.as_str(), saving.outcome.as_str()),
                    }));
                }
                Err(error) => complain(&error, "findings"),
            }
        }
        if let (Some(teller), Some(harvest)) = (&mut self.health, harvest) {
            let facts = node_facts(picture, harvest, teller.boots());
            match teller.tell_health(harvest, &facts, now).await {
                Ok(_) => {}
                Err(error) => complain(&error, "the health of GPUs"),
            }
        }
        lines
    }

    pub(super) fn note(&self, own: &OwnMetrics) {
        let mut writes = std::collections::BTreeMap::new();
        for (pair, count) in self.writers.iter().flat_map(|writer| writer.counts().all()) {
            *writes.entry(pair).or_insert(0) += count;
        }
        own.set_writes(writes);
        own.set_notices(self.notices.totals());
        if let Some(saved) = self.saved {
            own.set_savings(NanoUsd(i64::try_from(saved).unwrap_or(i64::MAX)));
        }
    }
}

/// The sum of what is written down; nothing while the store does not answer.
async fn saved_before(store: &dyn Store) -> Option<i128> {
    let mut sum = 0;
    let mut query = RecordQuery::of(RecordKind::Saving);
    for _ in 0..PAGES_OF_SAVINGS {
        let page = store.records(query.clone()).await.ok()?;
        for record in &page.records {
            let saved = record
                .body
                .pointer("/body/savedMonthly")
                .and_then(serde_json::Value::as_i64);
            sum += i128::from(saved.unwrap_or(0));
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    Some(sum)
}

/// A replica that does not lead, and a pause, are no faults.
fn complain(error: &CycleError, what: &str) {
    if let CycleError::Write(WriteError::NotLeader | WriteError::Paused(_) | WriteError::PauseUnknown) = error
    {
        return;
    }
    warn!(error = %Chain(error), what, "failed to tell");
}

fn mode(switch: Switch) -> Option<Mode> {
    match switch {
        Switch::On => Some(Mode::Live),
        Switch::DryRun => Some(Mode::DryRun),
        Switch::Off => None,
    }
}

fn open_notices(path: &std::path::Path, tasks: &mut Tasks, shutdown: &Shutdown) -> anyhow::Result<Notices> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("failed to read the notice channels of `{}`", path.display()))?;
    let base = path.parent().unwrap_or_else(|| std::path::Path::new("."));
    let settings = read_channels(&text, base)
        .with_context(|| format!("cannot use the notice channels of `{}`", path.display()))?;
    let (notices, runners) = Notices::new(settings).context("cannot prepare a notice channel")?;
    let runners = Arc::new(tokio::sync::Mutex::new(Some(runners)));
    let stop = shutdown.clone();
    tasks.start("notices", move || {
        let (runners, stop) = (runners.clone(), stop.clone());
        async move {
            // Each channel bounds and retries by itself; the set ends with the shutdown.
            if let Some(runners) = runners.lock().await.take() {
                let mut running = Notices::spawn(runners, &stop);
                while running.join_next().await.is_some() {}
            }
            stop.triggered().await;
            Ok(())
        }
    });
    Ok(notices)
}

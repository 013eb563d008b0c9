//! The loop that sees and understands: collect, join, judge, publish. It writes nothing to the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use gpu_model::{ClusterId, ClusterPicture, FleetView, Harvest, NodeName, TargetReport};
use gpu_price_feeds::PriceDesk;
use gpu_waste::{GpuRate, Patterns, Report, Settings, Surroundings, Windows, detect};
use jiff::Timestamp;
use tokio::task::spawn_blocking;

use crate::control::Control;
use crate::fleet::join;
use crate::pages::Round;
use crate::rates;
use crate::sources::MetricsSource;
use crate::watch::ClusterWatch;

/// What one loop owns: the source, the windows, and the way to the picture.
pub(crate) struct Observer {
    pub(crate) source: Box<dyn MetricsSource>,
    /// Absent where there is no Kubernetes.
    pub(crate) watch: Option<ClusterWatch>,
    pub(crate) cluster: ClusterId,
    pub(crate) windows: Option<Windows>,
    pub(crate) settings: Settings,
    pub(crate) desk: PriceDesk,
    pub(crate) control: Arc<Control>,
    pub(crate) data_at: Option<Timestamp>,
    /// What workloads usually do, where leaving it is to be reported.
    pub(crate) patterns: Option<Patterns>,
    /// The newest round as it came in, where somebody wants it after the join.
    pub(crate) harvest: Option<Harvest>,
    pub(crate) keeps_harvest: bool,
}

/// Why a round was not made. Nothing was judged, and what stood before stands with its age.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoRound {
    #[error("the cluster is not known yet: waiting for {0}")]
    NotSynced(String),
    #[error("the judgement of a round did not finish")]
    Unfinished(#[source] anyhow::Error),
}

impl Observer {
    /// Whether there is a picture to judge by.
    pub(crate) fn is_ready(&self, now: Timestamp) -> bool {
        self.picture(now).is_ok()
    }

    /// Fills the window from the source's own memory, where it has one, so that a restart does not begin with nothing.
    pub(crate) async fn remember(&mut self, now: Timestamp, window: Duration, step: Duration) {
        let from = now.checked_sub(window).unwrap_or(now);
        for harvest in self.source.backfill(from, now, step).await {
            let Ok(picture) = self.picture(harvest.at) else {
                return;
            };
            let view = join(&picture, harvest);
            if let Some(windows) = &mut self.windows {
                windows.observe(&view);
            }
        }
    }

    /// One round. Everything of it is of this instant, or says how old it is.
    pub(crate) async fn round(&mut self, now: Timestamp) -> Result<Round, NoRound> {
        let picture = self.picture(now)?;
        let harvest = self.source.collect(now).await;
        self.note_targets(&harvest.targets, now);
        let newest = harvest.gpus.iter().map(|report| report.taken_at).max();
        self.data_at = self.data_at.max(newest);
        let problems = self.control.problems();
        let targets = harvest.targets.clone();
        self.harvest = self.keeps_harvest.then(|| harvest.clone());
        let judged = self.judge(picture.clone(), harvest, now).await?;
        Ok(Round {
            view: judged.view,
            picture: self.watch.is_some().then_some(picture),
            report: judged.report,
            rates: judged.rates,
            targets,
            data_at: self.data_at,
            problems,
        })
    }

    fn picture(&self, now: Timestamp) -> Result<Arc<ClusterPicture>, NoRound> {
        let Some(watch) = &self.watch else {
            return Ok(Arc::new(ClusterPicture::empty(self.cluster.clone(), now)));
        };
        match watch.picture(now) {
            Ok(picture) => {
                self.control.set_dependency("cluster", Ok(()));
                Ok(picture)
            }
            Err(waiting) => {
                let words = waiting.to_string();
                self.control.set_dependency("cluster", Err(words.clone()));
                Err(NoRound::NotSynced(words))
            }
        }
    }

    /// Joining, windows and rules are computation: they run away from the threads that answer.
    async fn judge(
        &mut self,
        picture: Arc<ClusterPicture>,
        harvest: Harvest,
        now: Timestamp,
    ) -> Result<Judged, NoRound> {
        let mut windows = self
            .windows
            .take()
            .context("a round before this one did not finish");
        let (book, split, settings) = (self.desk.book(), self.desk.split(), self.settings);
        let has_cluster = self.watch.is_some();
        let mut patterns = self.patterns.take();
        let work = spawn_blocking(move || {
            let view = join(&picture, harvest);
            let known = has_cluster.then_some(picture.as_ref());
            let rates = rates::rates(&view, known, &book, &split, now);
            let report = windows.as_mut().ok().map(|windows| {
                windows.observe(&view);
                let surroundings = Surroundings {
                    picture: known,
                    rates: &rates,
                    patterns: patterns.as_ref(),
                };
                let report = detect(windows, &surroundings, &settings, now);
                // After the judgement: a look must not be measured by a pattern that it is part of.
                if let Some(patterns) = &mut patterns {
                    patterns.learn(windows, now);
                }
                report
            });
            (windows, patterns, view, rates, report)
        });
        let (windows, patterns, view, rates, report) =
            work.await.map_err(|error| NoRound::Unfinished(error.into()))?;
        let windows = windows.map_err(NoRound::Unfinished)?;
        self.windows = Some(windows);
        self.patterns = patterns;
        let report = report
            .context("a round without windows")
            .map_err(NoRound::Unfinished)?;
        Ok(Judged { view, rates, report })
    }

    /// Says in words how the source fares: losing it never takes anything away but freshness.
    fn note_targets(&self, targets: &[TargetReport], now: Timestamp) {
        let failing: Vec<&TargetReport> = targets.iter().filter(|target| target.failure.is_some()).collect();
        let outcome = if targets.is_empty() {
            Err(
                "no exporter was found: check --exporter-service, --exporter-selector or --targets"
                    .to_owned(),
            )
        } else if failing.len() == targets.len() {
            let age = self.data_at.map_or_else(
                || "nothing was ever measured".to_owned(),
                |at| {
                    format!(
                        "the newest measurement is {} s old",
                        now.duration_since(at).as_secs().max(0)
                    )
                },
            );
            Err(format!("no target answers ({}); {age}", first_words(&failing)))
        } else if failing.is_empty() {
            Ok(())
        } else {
            // Some GPUs are not seen; the rest is served. It is a problem that people should know and no outage.
            Err(format!(
                "{} of {} targets do not answer ({})",
                failing.len(),
                targets.len(),
                first_words(&failing)
            ))
        };
        self.control.set_dependency("metrics source", outcome);
    }
}

fn first_words(failing: &[&TargetReport]) -> String {
    let first = failing
        .first()
        .and_then(|target| Some((target, target.failure.as_ref()?)));
    first.map_or_else(String::new, |(target, failure)| {
        format!("{}: {}", target.name, failure.message)
    })
}

struct Judged {
    view: FleetView,
    rates: BTreeMap<NodeName, GpuRate>,
    report: Report,
}

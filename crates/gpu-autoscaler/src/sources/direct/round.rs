//! One round over all targets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use gpu_model::{Harvest, TargetFailure, TargetReport};
use gpu_runtime::http::client::Limits;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};
use tracing::debug;

use super::super::dialects::{Draft, Mixture, Origin, PageReader, merge};
use super::super::discover::Target;
use super::{DirectSource, Known, scrape};

/// A target that keeps failing is asked in every fourth round: its return is noticed within two minutes.
const LONGEST_WAIT: u32 = 3;
/// A restart of an exporter is over within this many rounds, and should not cost more freshness than it has to.
const PATIENCE: u32 = 2;

pub(super) async fn run(source: &mut DirectSource, now: Timestamp) -> Harvest {
    let targets = source.book.current();
    forget_gone(&mut source.known, &targets);
    source.rounds = source.rounds.wrapping_add(1);
    let (due, waiting) = order(&mut source.known, targets, source.rounds);
    let mut round = Round {
        begun: Instant::now(),
        now,
        known: &mut source.known,
        drafts: Vec::new(),
        reports: BTreeMap::new(),
    };
    let limits = Limits {
        timeout: source.settings.timeout,
        stall_time: source.settings.timeout,
        max_bytes: source.settings.page_bytes,
    };
    let (plain, secured) = (&source.plain, &source.secured);
    let mut answers = stream::iter(due.clone())
        .map(|target| async move {
            let client = if target.url.scheme() == "https" {
                secured
            } else {
                plain
            };
            let answer = scrape::scrape(client, &target, limits).await;
            (target, answer)
        })
        .buffer_unordered(source.settings.concurrency.max(1));
    let deadline = round.begun + source.settings.round;
    while let Ok(Some((target, answer))) = timeout_at(deadline, answers.next()).await {
        round.settle(&target, answer);
    }
    drop(answers);
    for target in due {
        if !round.reports.contains_key(&target.name) {
            round.leave(&target, Some(not_reached()));
        }
    }
    for target in waiting {
        round.leave(&target, None);
    }
    round.end()
}

fn forget_gone(known: &mut BTreeMap<String, Known>, targets: &[Arc<Target>]) {
    let names: BTreeSet<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    known.retain(|name, _| names.contains(name.as_str()));
}

/// Who is asked, those that answered before first, and who is left alone this time.
fn order(
    known: &mut BTreeMap<String, Known>,
    targets: Vec<Arc<Target>>,
    rounds: usize,
) -> (Vec<Arc<Target>>, Vec<Arc<Target>>) {
    let mut due = Vec::with_capacity(targets.len());
    let mut waiting = Vec::new();
    for target in targets {
        let known = known.entry(target.name.clone()).or_default();
        if known.wait > 0 {
            known.wait -= 1;
            waiting.push(target);
        } else {
            due.push((known.failures > 0, target));
        }
    }
    // Where the round ends too early, it does not end on the same targets every time.
    if !due.is_empty() {
        let first = rounds % due.len();
        due.rotate_left(first);
    }
    due.sort_by_key(|(has_failed, _)| *has_failed);
    (due.into_iter().map(|(_, target)| target).collect(), waiting)
}

fn not_reached() -> TargetFailure {
    TargetFailure {
        class: "timeout",
        message:
            "the round ended before the target had answered; others hang, or there are too many for one round"
                .to_owned(),
    }
}

struct Round<'s> {
    begun: Instant,
    now: Timestamp,
    known: &'s mut BTreeMap<String, Known>,
    drafts: Vec<Draft>,
    reports: BTreeMap<String, TargetReport>,
}

impl Round<'_> {
    /// The time of the round's clock, moved on by what has passed since.
    fn time(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.begun.elapsed()).unwrap_or_default();
        self.now.checked_add(passed).unwrap_or(self.now)
    }

    fn settle(&mut self, target: &Target, answer: Result<PageReader, TargetFailure>) {
        let at = self.time();
        let known = self.known.entry(target.name.clone()).or_default();
        let mut report = empty(target, known.last_success);
        match answer {
            Ok(page) => {
                let origin = Origin {
                    node: target.node.as_ref(),
                    host: target.url.host_str().unwrap_or(&target.name),
                    at,
                    exporter: None,
                    mixture: Mixture::OneScrape,
                };
                let outcome = page.finish(&origin, &mut known.memory);
                known.succeed(at);
                report.last_success = Some(at);
                report.skipped_lines = outcome.skipped;
                report.skewed_samples = outcome.skewed;
                report.gpus = u32::try_from(outcome.gpus()).unwrap_or(u32::MAX);
                if report.node.is_none() {
                    report.node = outcome.node();
                }
                self.drafts.extend(outcome.drafts);
            }
            Err(failure) => {
                debug!(target = %target.name, class = failure.class, message = %failure.message, "failed to scrape a target");
                known.fail(failure.clone());
                report.failure = Some(failure);
            }
        }
        self.reports.insert(target.name.clone(), report);
    }

    /// A target that was not asked to the end: because the round ended, which is not its fault, or because it is left alone this
    /// time after it failed.
    fn leave(&mut self, target: &Target, failure: Option<TargetFailure>) {
        let known = self.known.entry(target.name.clone()).or_default();
        let report = TargetReport {
            failure: failure.or_else(|| known.last_failure.clone()),
            ..empty(target, known.last_success)
        };
        self.reports.insert(target.name.clone(), report);
    }

    fn end(self) -> Harvest {
        Harvest {
            at: self.time(),
            gpus: merge(self.drafts),
            targets: self.reports.into_values().collect(),
        }
    }
}

fn empty(target: &Target, last_success: Option<Timestamp>) -> TargetReport {
    TargetReport {
        name: target.name.clone(),
        node: target.node.clone(),
        last_success,
        failure: None,
        skipped_lines: 0,
        skewed_samples: 0,
        warnings: Vec::new(),
        gpus: 0,
    }
}

impl Known {
    fn succeed(&mut self, at: Timestamp) {
        self.last_success = Some(at);
        self.last_failure = None;
        self.failures = 0;
        self.wait = 0;
    }

    fn fail(&mut self, failure: TargetFailure) {
        self.last_failure = Some(failure);
        self.failures = self.failures.saturating_add(1);
        self.wait = self.failures.saturating_sub(PATIENCE).min(LONGEST_WAIT);
    }
}

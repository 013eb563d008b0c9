//! One round: a question, its series sorted by target, and what each target said.

use std::collections::BTreeMap;
use std::time::Duration;

use gpu_model::{Harvest, TargetFailure, TargetReport};
use jiff::{SignedDuration, Timestamp};
use tracing::warn;

use super::super::dialects::{Mixture, Origin, PageReader, Picked, find_field, merge};
use super::answer::{self, Said};
use super::query;
use super::series::{Sample, Series};
use super::{Known, PrometheusSource};

/// The name of the server among the targets.
const SERVER: &str = "prometheus";

/// Far more than a server scrapes; series of further targets are not read.
const MOST_TARGETS: usize = 50_000;

/// Rounds of the past that are asked for at once: each holds all its values until the answer has ended.
const STEPS_AT_ONCE: u32 = 5;

/// A day in steps of half a minute; who asks for more would wait for minutes.
const MOST_STEPS: u32 = 2880;

/// What is known of one scraped target while an answer is read.
#[derive(Debug, Default)]
struct Page {
    reader: PageReader,
    /// Whether Prometheus could scrape it, where it says so.
    is_up: Option<bool>,
    /// The pod that answers, from the target's own labels.
    exporter: Option<(String, String)>,
    has_gpus: bool,
}

/// All targets of one round, by job, then by instance.
#[derive(Debug, Default)]
struct Pages(BTreeMap<String, BTreeMap<String, Page>>);

pub(super) async fn run(source: &mut PrometheusSource, now: Timestamp) -> Harvest {
    let settings = &source.settings;
    let question = query::newest(settings.lookback, &settings.matchers, settings.timeout);
    let mut pages = Pages::default();
    let answered = answer::ask(source, &question, |series| {
        if let Some(sample) = series.values.last() {
            pages.take(series, sample);
        }
    });
    match answered.await {
        Ok(said) => {
            source.last_success = Some(now);
            pages.harvest(source, now, Mixture::Several, said)
        }
        Err(failure) => {
            warn!(class = failure.class, message = %failure.message, "failed to ask Prometheus");
            failed(source, now, failure)
        }
    }
}

/// Nothing is known, and nothing is made up.
fn failed(source: &PrometheusSource, now: Timestamp, failure: TargetFailure) -> Harvest {
    Harvest {
        at: now,
        gpus: Vec::new(),
        targets: vec![TargetReport {
            failure: Some(failure),
            ..server(source.last_success)
        }],
    }
}

fn server(last_success: Option<Timestamp>) -> TargetReport {
    TargetReport {
        name: SERVER.to_owned(),
        node: None,
        last_success,
        failure: None,
        skipped_lines: 0,
        skewed_samples: 0,
        warnings: Vec::new(),
        gpus: 0,
    }
}

/// The rounds from `from` to `to`, some at a time. What cannot be had ends it: the newest rounds matter least to be complete.
pub(super) async fn backfill(
    source: &mut PrometheusSource,
    from: Timestamp,
    to: Timestamp,
    step: Duration,
) -> Vec<Harvest> {
    let mut harvests = Vec::new();
    let Ok(step_signed) = SignedDuration::try_from(step) else {
        return harvests;
    };
    if step_signed < SignedDuration::from_secs(1) {
        return harvests;
    }
    let mut first = from;
    let mut steps = 0;
    while first <= to && steps < MOST_STEPS {
        let mut times = vec![first];
        while let Some(next) = times.last().and_then(|last| last.checked_add(step_signed).ok()) {
            if next > to || times.len() >= usize::try_from(STEPS_AT_ONCE).unwrap_or(1) {
                break;
            }
            times.push(next);
        }
        match some_steps(source, &times, step).await {
            Ok(some) => harvests.extend(some),
            Err(failure) => {
                warn!(class = failure.class, message = %failure.message, "failed to ask Prometheus for the past");
                return harvests;
            }
        }
        steps += STEPS_AT_ONCE;
        let next = times.last().and_then(|last| last.checked_add(step_signed).ok());
        let Some(next) = next else { break };
        first = next;
    }
    harvests
}

async fn some_steps(
    source: &mut PrometheusSource,
    times: &[Timestamp],
    step: Duration,
) -> Result<Vec<Harvest>, TargetFailure> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Ok(Vec::new());
    };
    let settings = &source.settings;
    let question = query::past(*first, *last, step, &settings.matchers, settings.timeout);
    let mut rounds: Vec<Pages> = times.iter().map(|_| Pages::default()).collect();
    let step_millis = i64::try_from(step.as_millis()).unwrap_or(i64::MAX).max(1);
    answer::ask(source, &question, |series| {
        for sample in &series.values {
            // Servers round times, so the nearest step is meant.
            let after = sample.millis().saturating_sub(first.as_millisecond());
            let at = after.saturating_add(step_millis / 2).div_euclid(step_millis);
            if let Some(pages) = usize::try_from(at).ok().and_then(|at| rounds.get_mut(at)) {
                pages.take(series, sample);
            }
        }
    })
    .await?;
    let told = times.iter().zip(rounds);
    let harvests = told.map(|(at, pages)| pages.harvest(source, *at, Mixture::Several, Said::default()));
    Ok(harvests.collect())
}

impl Pages {
    fn take(&mut self, series: &Series<'_>, sample: &Sample<'_>) {
        let labels = &series.metric;
        let name = labels.get("__name__");
        let Some(page) = self.page(labels.get("job"), labels.get("instance")) else {
            return;
        };
        if name == "up" {
            page.is_up = Some(sample.value() > 0.5);
            let (namespace, pod) = (labels.get("namespace"), labels.get("pod"));
            if !pod.is_empty() {
                page.exporter = Some((namespace.to_owned(), pod.to_owned()));
            }
            return;
        }
        let Some(field) = find_field(name.as_bytes()) else {
            return;
        };
        let mut picked = Picked::default();
        for (name, value) in &labels.0 {
            picked.set(name, std::borrow::Cow::Borrowed(value));
        }
        page.has_gpus = true;
        page.reader
            .sample(field, &picked, sample.value(), Some(sample.millis()));
    }

    fn page(&mut self, job: &str, instance: &str) -> Option<&mut Page> {
        let is_known = self
            .0
            .get(job)
            .is_some_and(|instances| instances.contains_key(instance));
        if !is_known {
            let count: usize = self.0.values().map(BTreeMap::len).sum();
            if count >= MOST_TARGETS {
                return None;
            }
            let instances = self.0.entry(job.to_owned()).or_default();
            instances.insert(instance.to_owned(), Page::default());
        }
        self.0.get_mut(job)?.get_mut(instance)
    }

    fn harvest(self, source: &mut PrometheusSource, at: Timestamp, mixture: Mixture, said: Said) -> Harvest {
        let mut before = std::mem::take(&mut source.known);
        let mut drafts = Vec::new();
        let mut reports: BTreeMap<String, TargetReport> = BTreeMap::new();
        for (job, instances) in self.0 {
            // `up` is there for everything the server scrapes; only jobs that tell of GPUs are ours to report.
            if !instances.values().any(|page| page.has_gpus) {
                continue;
            }
            for (instance, page) in instances {
                let key = (job.clone(), instance);
                let mut known = before.remove(&key).unwrap_or_default();
                let (report, told) = page.settle(&key, at, mixture, &mut known);
                drafts.extend(told);
                reports.insert(report.name.clone(), report);
                source.known.insert(key, known);
            }
        }
        let gpus = merge(drafts);
        let own = TargetReport {
            skipped_lines: said.skipped,
            warnings: said.warnings,
            gpus: u32::try_from(gpus.len()).unwrap_or(u32::MAX),
            ..server(Some(at))
        };
        reports.insert(own.name.clone(), own);
        Harvest {
            at,
            gpus,
            targets: reports.into_values().collect(),
        }
    }
}

impl Page {
    fn settle(
        self,
        key: &(String, String),
        at: Timestamp,
        mixture: Mixture,
        known: &mut Known,
    ) -> (TargetReport, Vec<super::super::dialects::Draft>) {
        let (job, instance) = key;
        let host = host(instance);
        let exporter = self.exporter.as_ref();
        let origin = Origin {
            node: None,
            host: if host.is_empty() { job } else { host },
            at,
            exporter: exporter.map(|(namespace, pod)| (namespace.as_str(), pod.as_str())),
            mixture,
        };
        let outcome = self.reader.finish(&origin, &mut known.memory);
        let is_down = self.is_up == Some(false);
        if !is_down && !outcome.drafts.is_empty() {
            known.last_success = Some(at);
        }
        let report = TargetReport {
            name: format!("{job}/{instance}"),
            node: outcome.node(),
            last_success: known.last_success,
            failure: is_down.then(|| TargetFailure {
                class: "other",
                message: "Prometheus cannot scrape the target; its page of targets says why".to_owned(),
            }),
            skipped_lines: outcome.skipped,
            skewed_samples: outcome.skewed,
            warnings: Vec::new(),
            gpus: u32::try_from(outcome.gpus()).unwrap_or(u32::MAX),
        };
        // The last samples of a target that is down are as old as its trouble, and so is what they say.
        let drafts = if is_down { Vec::new() } else { outcome.drafts };
        (report, drafts)
    }
}

/// `10.0.0.5:9400` and `[fd00::1]:9400` without the port.
fn host(instance: &str) -> &str {
    match instance.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            host.trim_start_matches('[').trim_end_matches(']')
        }
        _ => instance,
    }
}

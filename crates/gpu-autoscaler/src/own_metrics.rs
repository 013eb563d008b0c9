//! The metrics of the control plane itself: its loops, its sources, what it found. Exporters tell of GPUs, this page does not.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gpu_exposition::{FamilyMeta, Format, LabelBlock, PageWriter, WriteError};
use gpu_model::NanoUsd;
use gpu_waste::{Finding, Subject};
use jiff::Timestamp;

use crate::catalog;
use crate::control::Control;
use crate::fleet::Totals;
use crate::pages::Round;
use crate::wire::waste::age;

/// Counters that live as long as the process; everything else is read from the newest round.
#[derive(Debug, Default)]
pub(crate) struct OwnMetrics {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    loops: BTreeMap<&'static str, LoopCounts>,
    /// By class of failure.
    target_failures: BTreeMap<&'static str, u64>,
    skipped_lines: u64,
    skewed_samples: u64,
    set_aside: BTreeMap<&'static str, u64>,
    writes: BTreeMap<(&'static str, &'static str), u64>,
    notices: BTreeMap<(String, &'static str), u64>,
    price_ages: BTreeMap<String, f64>,
    savings: Option<NanoUsd>,
}

#[derive(Debug, Default, Clone, Copy)]
struct LoopCounts {
    turns: u64,
    errors: u64,
    seconds: f64,
    last_seconds: f64,
    last_at: Option<Timestamp>,
}

/// One figure of a loop, once there is one.
type ReadLoop = fn(&LoopCounts) -> Option<f64>;

impl OwnMetrics {
    /// Notes a turn of a loop.
    pub(crate) fn turned(&self, name: &'static str, took: Duration, at: Timestamp, failed: bool) {
        let mut counts = self.lock();
        let counts = counts.loops.entry(name).or_default();
        counts.turns += 1;
        counts.errors += u64::from(failed);
        counts.seconds += took.as_secs_f64();
        counts.last_seconds = took.as_secs_f64();
        counts.last_at = Some(at);
    }

    /// Notes how the targets of a round fared.
    pub(crate) fn collected(&self, targets: &[gpu_model::TargetReport]) {
        let mut counts = self.lock();
        for target in targets {
            if let Some(failure) = &target.failure {
                *counts.target_failures.entry(failure.class).or_default() += 1;
            }
            counts.skipped_lines += target.skipped_lines;
            counts.skewed_samples += target.skewed_samples;
        }
    }

    /// Notes how many objects a loop has set aside by now.
    pub(crate) fn set_aside(&self, name: &'static str, objects: u64) {
        self.lock().set_aside.insert(name, objects);
    }

    /// Notes the writes to the cluster so far, by kind and result.
    pub(crate) fn set_writes(&self, writes: impl IntoIterator<Item = ((&'static str, &'static str), u64)>) {
        self.lock().writes = writes.into_iter().collect();
    }

    /// Notes the notices so far, by channel and result.
    pub(crate) fn set_notices(&self, notices: impl IntoIterator<Item = ((String, &'static str), u64)>) {
        self.lock().notices = notices.into_iter().collect();
    }

    /// Notes how old each source of prices is.
    pub(crate) fn set_price_ages(&self, ages: BTreeMap<String, f64>) {
        self.lock().price_ages = ages;
    }

    /// Notes what users' changes save in a month.
    pub(crate) fn set_savings(&self, monthly: NanoUsd) {
        self.lock().savings = Some(monthly);
    }

    /// The page.
    pub(crate) fn page(
        &self,
        round: Option<&Round>,
        control: &Control,
        now: Timestamp,
        format: Format,
    ) -> Result<String, WriteError> {
        let mut page = String::with_capacity(16 * 1024);
        let mut writer = PageWriter::new(&mut page, format);
        self.loops(&mut writer)?;
        self.work(&mut writer, control)?;
        if let Some(round) = round {
            fleet(&mut writer, round)?;
            sources(&mut writer, round, now)?;
            waste(&mut writer, round)?;
        }
        writer.finish();
        Ok(page)
    }

    fn loops(&self, writer: &mut PageWriter<'_>) -> Result<(), WriteError> {
        let loops = self.lock().loops.clone();
        writer
            .family(&catalog::BUILD_INFO)?
            .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1)?;
        let families: [(&FamilyMeta<'_>, ReadLoop); 5] = [
            (&catalog::RECONCILE_ERRORS, |counts| Some(counts.errors as f64)),
            (&catalog::CONTROLLER_RECONCILE_ERRORS, |counts| {
                Some(counts.errors as f64)
            }),
            (&catalog::CONTROLLER_RECONCILE_DURATION, |counts| {
                Some(counts.last_seconds)
            }),
            (&catalog::LAST_RECONCILE, |counts| {
                Some(counts.last_at?.as_second() as f64)
            }),
            (&catalog::RECONCILES, |counts| Some(counts.turns as f64)),
        ];
        for (meta, read) in families {
            let mut family = writer.family(meta)?;
            for (name, counts) in &loops {
                if let Some(value) = read(counts) {
                    family.sample(&[("loop", *name)], value)?;
                }
            }
        }
        let mut durations = writer.family(&catalog::RECONCILE_DURATION)?;
        for (name, counts) in &loops {
            durations.sum(&[("loop", *name)], counts.seconds)?;
            durations.count(&[("loop", *name)], counts.turns)?;
        }
        Ok(())
    }

    fn work(&self, writer: &mut PageWriter<'_>, control: &Control) -> Result<(), WriteError> {
        let none: [(&str, &str); 0] = [];
        writer
            .family(&catalog::LEADER)?
            .sample(&none, i32::from(control.is_leader()))?;
        writer
            .family(&catalog::PAUSED)?
            .sample(&none, i32::from(control.paused().is_some()))?;
        let mut up = writer.family(&catalog::DEPENDENCY_UP)?;
        for (name, outcome) in control.dependencies() {
            up.sample(&[("dependency", name.as_str())], i32::from(outcome.is_ok()))?;
        }
        let counts = self.lock();
        let mut failures = writer.family(&catalog::SOURCE_FAILURES)?;
        for (class, count) in &counts.target_failures {
            failures.sample(&[("class", *class)], *count)?;
        }
        writer
            .family(&catalog::SOURCE_SKIPPED)?
            .sample(&none, counts.skipped_lines)?;
        writer
            .family(&catalog::SOURCE_SKEWED)?
            .sample(&none, counts.skewed_samples)?;
        let mut set_aside = writer.family(&catalog::OBJECTS_SET_ASIDE)?;
        for (name, objects) in &counts.set_aside {
            set_aside.sample(&[("loop", *name)], *objects)?;
        }
        let mut writes = writer.family(&catalog::WRITES)?;
        for ((kind, result), count) in &counts.writes {
            writes.sample(&[("kind", *kind), ("result", *result)], *count)?;
        }
        let mut notices = writer.family(&catalog::NOTICES)?;
        for ((channel, result), count) in &counts.notices {
            notices.sample(&[("channel", channel.as_str()), ("result", *result)], *count)?;
        }
        let mut ages = writer.family(&catalog::PRICE_AGE)?;
        for (source, seconds) in &counts.price_ages {
            ages.sample(&[("source", source.as_str())], *seconds)?;
        }
        if let Some(savings) = counts.savings {
            writer
                .family(&catalog::TOTAL_SAVINGS)?
                .sample(&none, dollars(savings))?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Every change is a plain sum or assignment, so poisoned counts are still whole.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fleet(writer: &mut PageWriter<'_>, round: &Round) -> Result<(), WriteError> {
    let none: [(&str, &str); 0] = [];
    let totals = Totals::of(&round.view);
    if let Some(mean) = totals.utilization {
        writer
            .family(&catalog::CLUSTER_UTILIZATION)?
            .sample(&none, mean.as_ratio())?;
    }
    writer
        .family(&catalog::PENDING_PODS)?
        .sample(&none, count(totals.pending_pods))?;
    writer
        .family(&catalog::NODE_COUNT)?
        .sample(&none, count(round.view.nodes.len()))?;
    let mut gpus = writer.family(&catalog::GPU_COUNT)?;
    gpus.sample(&[("state", "allocated")], count(totals.allocated))?;
    gpus.sample(
        &[("state", "free")],
        count(totals.gpus.saturating_sub(totals.allocated)),
    )?;
    let mut rate: Option<i128> = None;
    for node in &round.view.nodes {
        if let Some(hour) = round
            .rates
            .get(&node.node.name)
            .and_then(|rate| rate.per_gpu_hour)
        {
            let gpus = i128::try_from(node.gpus.len()).unwrap_or(0);
            rate = Some(rate.unwrap_or(0) + i128::from(hour.0) * gpus);
        }
    }
    if let Some(rate) = rate {
        let rate = dollars(NanoUsd(i64::try_from(rate).unwrap_or(i64::MAX)));
        writer.family(&catalog::HOURLY_COST)?.sample(&none, rate)?;
        writer
            .family(&catalog::MONTHLY_COST)?
            .sample(&none, rate * HOURS_A_MONTH)?;
    }
    Ok(())
}

const HOURS_A_MONTH: f64 = 730.0;

fn sources(writer: &mut PageWriter<'_>, round: &Round, now: Timestamp) -> Result<(), WriteError> {
    let mut ages = writer.family(&catalog::SOURCE_AGE)?;
    for target in &round.targets {
        // A target that never answered has no age; its failures are counted.
        if let Some(at) = target.last_success {
            ages.sample(&[("target", target.name.as_str())], age(at, now))?;
        }
    }
    let mut up = writer.family(&catalog::SOURCE_UP)?;
    for target in &round.targets {
        up.sample(
            &[("target", target.name.as_str())],
            i32::from(target.failure.is_none()),
        )?;
    }
    Ok(())
}

/// Series of single pods on one page; the dearest are kept, and how many are not is a series of its own.
const MOST_PODS: usize = 2_000;

fn waste(writer: &mut PageWriter<'_>, round: &Round) -> Result<(), WriteError> {
    let none: [(&str, &str); 0] = [];
    let findings = &round.report.findings;
    let mut by_cause: BTreeMap<&str, u64> = gpu_waste::Cause::ALL
        .iter()
        .map(|cause| (cause.as_str(), 0))
        .collect();
    let mut money: BTreeMap<(&str, &str), i128> = BTreeMap::new();
    for finding in findings {
        *by_cause.entry(finding.cause.as_str()).or_default() += 1;
        if let Some(monthly) = finding.monthly {
            *money
                .entry((namespace(finding), finding.cause.as_str()))
                .or_default() += i128::from(monthly.0);
        }
    }
    let mut family = writer.family(&catalog::WASTE_FINDINGS)?;
    for (cause, count) in &by_cause {
        family.sample(&[("cause", *cause)], *count)?;
    }
    let mut family = writer.family(&catalog::WASTE_COST)?;
    for ((namespace, cause), nanos) in &money {
        let amount = dollars(NanoUsd(i64::try_from(*nanos).unwrap_or(i64::MAX)));
        family.sample(&[("namespace", *namespace), ("cause", *cause)], amount)?;
    }
    let mut gpus = writer.family(&catalog::WASTE_GPUS)?;
    for total in &round.report.account {
        gpus.sample(
            &[("what", total.bucket.as_str())],
            total.milligpus as f64 / 1000.0,
        )?;
    }
    let mut family = writer.family(&catalog::WASTE_SCORE)?;
    let mut shown = 0;
    let mut dropped = 0u64;
    for finding in findings {
        let Subject::Pod { pod, .. } = &finding.subject else {
            continue;
        };
        if shown == MOST_PODS {
            dropped += 1;
            continue;
        }
        shown += 1;
        let labels = LabelBlock::new([
            ("namespace", pod.namespace.as_str()),
            ("pod", pod.name.as_str()),
            ("cause", finding.cause.as_str()),
        ])?;
        family.sample(&labels, i32::from(finding.score))?;
    }
    writer.family(&catalog::SERIES_DROPPED)?.sample(&none, dropped)?;
    Ok(())
}

fn namespace(finding: &Finding) -> &str {
    match &finding.subject {
        Subject::Pod { pod, .. } => pod.namespace.as_str(),
        Subject::Gpu { .. } | Subject::Node { .. } => "",
    }
}

/// For the page alone: a float holds cents exactly up to nine quadrillion dollars.
fn dollars(amount: NanoUsd) -> f64 {
    amount.0 as f64 / 1e9
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

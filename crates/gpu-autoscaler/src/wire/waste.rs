//! The document of `GET /api/v1/waste`: what is wasted, why, whose it is, what it costs and what to do.

use std::collections::BTreeMap;

use gpu_model::{NanoUsd, Permille, Source};
use gpu_waste::{
    Bucket, Cause, CauseTotal, Evidence, Finding, Fix, FixKind, Report, Signal, Speaks, Subject,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WasteDocument {
    /// When the findings were made.
    pub timestamp: Timestamp,
    /// `sim` where everything is simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
    pub cluster: String,
    /// How old the newest measurement is behind any of it, in seconds; absent before the first.
    pub data_age_seconds: Option<f64>,
    /// What cannot be told at present, and why.
    pub problems: Vec<String>,
    pub totals: Vec<CauseLine>,
    /// The dearest first. Cut to the limit that was asked for; `found` counts all that match.
    pub findings: Vec<FindingLine>,
    pub found: usize,
}

/// All GPUs of the fleet by what became of them. The lines add up to the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseLine {
    pub what: String,
    pub is_waste: bool,
    pub findings: usize,
    pub gpus: f64,
    pub monthly_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingLine {
    pub id: String,
    pub cause: Cause,
    /// `pod/NAMESPACE/NAME`, `gpu/NODE/UUID` or `node/NAME`; `explain` takes the first and the last.
    pub subject: String,
    pub score: u8,
    /// 0 to 1.
    pub confidence: f64,
    pub namespace: Option<String>,
    pub pod: Option<String>,
    pub workload: Option<WorkloadName>,
    pub node: Option<String>,
    pub gpus: Vec<PartLine>,
    pub since: Timestamp,
    pub seen_at: Timestamp,
    pub data_age_seconds: f64,
    pub wasted_gpus: f64,
    pub wasted_gpu_hours: f64,
    pub monthly_usd: Option<f64>,
    pub price: String,
    pub explanation: String,
    pub evidence: Vec<EvidenceLine>,
    pub fix: Option<FixLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadName {
    pub kind: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartLine {
    pub uuid: String,
    pub device_id: String,
    pub model: String,
    /// Of its GPU, 0 to 1.
    pub share: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceLine {
    pub signal: Signal,
    pub unit: String,
    pub speaks: Speaks,
    pub words: String,
    /// Seconds since 1970 and the value.
    pub series: Vec<(i64, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FixLine {
    pub kind: FixKind,
    pub text: String,
    pub commands: Vec<String>,
    pub manifest: Option<String>,
    pub saves_monthly_usd: Option<f64>,
}

/// Which findings are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WasteQuery {
    pub namespace: Option<String>,
    pub cause: Option<Cause>,
    pub min_score: Option<u8>,
    pub limit: Option<usize>,
}

/// A page of findings that people scroll; scripts that want more ask for more.
const USUAL_LIMIT: usize = 500;
/// Some 20 MB of JSON with all evidence.
const MOST_AT_ONCE: usize = 10_000;

impl WasteQuery {
    fn wants(&self, finding: &Finding) -> bool {
        let namespace = match &finding.subject {
            Subject::Pod { pod, .. } => Some(pod.namespace.as_str()),
            Subject::Gpu { .. } | Subject::Node { .. } => None,
        };
        self.namespace
            .as_deref()
            .is_none_or(|wanted| namespace == Some(wanted))
            && self.cause.is_none_or(|cause| finding.cause == cause)
            && self.min_score.is_none_or(|score| finding.score >= score)
    }
}

impl WasteDocument {
    pub fn new(
        report: &Report,
        cluster: &str,
        source: Source,
        problems: Vec<String>,
        now: Timestamp,
        query: &WasteQuery,
    ) -> Self {
        let wanted: Vec<&Finding> = report
            .findings
            .iter()
            .filter(|finding| query.wants(finding))
            .collect();
        let newest = report.findings.iter().map(|finding| finding.seen_at).max();
        let limit = query.limit.unwrap_or(USUAL_LIMIT).min(MOST_AT_ONCE);
        Self {
            timestamp: report.at,
            source: (source == Source::Simulated).then(|| "sim".to_owned()),
            cluster: cluster.to_owned(),
            data_age_seconds: newest.map(|newest| age(newest, now)),
            problems,
            totals: totals(report),
            found: wanted.len(),
            findings: wanted
                .into_iter()
                .take(limit)
                .map(|finding| FindingLine::new(finding, now))
                .collect(),
        }
    }
}

/// What a line of the account holds besides GPUs: the findings behind it and their money.
fn totals(report: &Report) -> Vec<CauseLine> {
    let mut behind: BTreeMap<Cause, (usize, Option<i128>)> = BTreeMap::new();
    for finding in &report.findings {
        let (count, money) = behind.entry(finding.cause).or_default();
        *count += 1;
        if let Some(monthly) = finding.monthly {
            *money = Some(money.unwrap_or(0) + i128::from(monthly.0));
        }
    }
    let line = |total: &CauseTotal| {
        let cause = match total.bucket {
            Bucket::Waste(cause) => Some(cause),
            Bucket::Used | Bucket::StandBy | Bucket::TooEarly | Bucket::Exempt | Bucket::Unknown => None,
        };
        let (findings, money) = cause
            .and_then(|cause| behind.get(&cause).copied())
            .unwrap_or_default();
        CauseLine {
            what: total.bucket.as_str().to_owned(),
            is_waste: cause.is_some_and(Cause::is_waste),
            findings,
            gpus: thousandths(total.milligpus),
            monthly_usd: money.map(|nanos| usd(NanoUsd(i64::try_from(nanos).unwrap_or(i64::MAX)))),
        }
    };
    report.account.iter().map(line).collect()
}

impl FindingLine {
    pub fn new(finding: &Finding, now: Timestamp) -> Self {
        let (namespace, pod, workload) = match &finding.subject {
            Subject::Pod { pod, workload, .. } => (
                Some(pod.namespace.to_string()),
                Some(pod.name.to_string()),
                workload.as_ref().map(|workload| WorkloadName {
                    kind: workload.kind.clone(),
                    name: workload.name.clone(),
                }),
            ),
            Subject::Gpu { .. } | Subject::Node { .. } => (None, None, None),
        };
        let parts = finding.gpus.iter().map(|part| PartLine {
            uuid: part.uuid.to_string(),
            device_id: part.device_id.to_string(),
            model: part.model.clone(),
            share: part.share.as_ratio(),
        });
        Self {
            id: finding.id.to_string(),
            cause: finding.cause,
            subject: crate::decisions::subject(finding),
            score: finding.score,
            confidence: finding.confidence.as_ratio(),
            namespace,
            pod,
            workload,
            node: finding.node.as_ref().map(ToString::to_string),
            gpus: parts.collect(),
            since: finding.since,
            seen_at: finding.seen_at,
            data_age_seconds: age(finding.seen_at, now),
            wasted_gpus: thousandths(finding.wasted_milligpus),
            wasted_gpu_hours: thousandths(finding.wasted_milligpu_hours),
            monthly_usd: finding.monthly.map(usd),
            price: finding.price_note.clone(),
            explanation: finding.explanation.clone(),
            evidence: finding.evidence.iter().map(EvidenceLine::new).collect(),
            fix: finding.fix.as_ref().map(FixLine::new),
        }
    }
}

impl EvidenceLine {
    fn new(evidence: &Evidence) -> Self {
        let (unit, scale) = unit(evidence.signal);
        Self {
            signal: evidence.signal,
            unit: unit.to_owned(),
            speaks: evidence.speaks,
            words: evidence.words.clone(),
            series: evidence
                .series
                .iter()
                .map(|(at, value)| (at.as_second(), *value as f64 / scale))
                .collect(),
        }
    }
}

/// The unit in which people read a signal, and how many of its own units that is.
fn unit(signal: Signal) -> (&'static str, f64) {
    match signal {
        Signal::Utilization | Signal::SmActive | Signal::TensorActive | Signal::DramActive => {
            ("percent", 10.0)
        }
        Signal::MemoryUsed => ("MiB", 1.0),
        Signal::Power => ("watts", 1000.0),
        Signal::Processes | Signal::Faults => ("count", 1.0),
        Signal::PcieTraffic => ("bytes/s", 1.0),
        Signal::Throttling => ("seconds", 1.0),
    }
}

impl FixLine {
    fn new(fix: &Fix) -> Self {
        Self {
            kind: fix.kind,
            text: fix.text.clone(),
            commands: fix.commands.clone(),
            manifest: fix.manifest.clone(),
            saves_monthly_usd: fix.saves.map(usd),
        }
    }
}

/// Seconds from an instant to now. A clock that stepped back makes nothing younger than now.
pub fn age(at: Timestamp, now: Timestamp) -> f64 {
    now.duration_since(at).as_secs_f64().max(0.0)
}

/// Whole cents, as a number that JSON can hold.
pub fn usd(amount: NanoUsd) -> f64 {
    let cents = (i128::from(amount.0) + 5_000_000).div_euclid(10_000_000);
    cents as f64 / 100.0
}

fn thousandths(amount: u64) -> f64 {
    amount as f64 / 1000.0
}

/// A share in percent with one digit.
pub fn percent(share: Permille) -> f64 {
    f64::from(share.get()) / 10.0
}

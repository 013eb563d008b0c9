//! What was decided and why: a short log in memory that pages read, and the lasting one in the store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use gpu_cost::Moment;
use gpu_model::ClusterId;
use gpu_store::entries::Decision;
use gpu_store::{Batch, RecordKind, RecordQuery, Store, StoreError};
use gpu_waste::{Finding, FindingId, Report, Subject};
use jiff::Timestamp;

use crate::wire::decisions::DecisionLine;

/// Some hours of a busy fleet; the store has the rest.
const MOST_IN_MEMORY: usize = 2_000;
/// A page that people scroll.
const MOST_AT_ONCE: usize = 500;

/// The log. Every replica keeps the short one; the leader alone writes to the store.
pub(crate) struct DecisionLog {
    cluster: ClusterId,
    recent: Mutex<VecDeque<DecisionLine>>,
    store: Option<Arc<dyn Store>>,
}

impl DecisionLog {
    pub(crate) fn new(cluster: ClusterId, store: Option<Arc<dyn Store>>) -> Self {
        Self {
            cluster,
            recent: Mutex::new(VecDeque::new()),
            store,
        }
    }

    pub(crate) fn cluster(&self) -> &ClusterId {
        &self.cluster
    }

    /// The store behind it, which the ledger is in too; absent where nothing lasts.
    pub(crate) fn store(&self) -> Option<&Arc<dyn Store>> {
        self.store.as_ref()
    }

    /// Takes note in memory.
    pub(crate) fn note(&self, lines: &[DecisionLine]) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines {
            if recent.len() >= MOST_IN_MEMORY {
                recent.pop_front();
            }
            recent.push_back(line.clone());
        }
    }

    /// Writes to the store. A line that is there already is left alone, so that a second leader may repeat the first.
    pub(crate) async fn keep(&self, lines: &[DecisionLine]) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        if lines.is_empty() {
            return Ok(());
        }
        let mut records = Vec::with_capacity(lines.len());
        for line in lines {
            records.push(self.entry(line).record()?);
        }
        let batch = Batch {
            records,
            ..Batch::default()
        };
        store.append(batch).await.map(|_| ())
    }

    fn entry(&self, line: &DecisionLine) -> Decision {
        let at = Moment::from(line.at);
        let subject: String = line.subject.chars().take(LONGEST_SUBJECT).collect();
        Decision {
            cluster: self.cluster.clone(),
            id: format!("{}/{}/{}", line.verdict, at.0, subject),
            at,
            subject,
            verdict: line.verdict.clone(),
            reasons: serde_json::json!({ "reason": line.reason }),
        }
    }

    /// The newest lines first, of one subject or of all.
    pub(crate) async fn read(
        &self,
        subject: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError> {
        let limit = limit.min(MOST_AT_ONCE);
        let Some(store) = &self.store else {
            return Ok(self.remembered(subject, limit));
        };
        let mut query = RecordQuery::of(RecordKind::Decision);
        query.cluster = Some(self.cluster.clone());
        query.subject = subject.map(str::to_owned);
        query.limit = limit;
        let page = store.records(query).await?;
        let mut lines = Vec::with_capacity(page.records.len());
        for record in &page.records {
            let decision = Decision::read(record)?;
            let reason = decision.reasons.get("reason").and_then(|reason| reason.as_str());
            lines.push(DecisionLine {
                at: decision.at.timestamp(),
                subject: decision.subject,
                verdict: decision.verdict,
                reason: reason.unwrap_or_default().to_owned(),
            });
        }
        Ok(lines)
    }

    fn remembered(&self, subject: Option<&str>, limit: usize) -> Vec<DecisionLine> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |line: &&DecisionLine| subject.is_none_or(|subject| line.subject == subject);
        recent.iter().rev().filter(wanted).take(limit).cloned().collect()
    }
}

/// The longest names of namespace and pod, and a little more; the store refuses more than 400 bytes.
const LONGEST_SUBJECT: usize = 300;

/// What of a finding is remembered to see that it came or went.
pub(crate) type Standing = BTreeMap<FindingId, (String, String)>;

/// The lines for findings that are new and for those that are gone, and what stands now.
pub(crate) fn changes(before: &Standing, report: &Report) -> (Vec<DecisionLine>, Standing) {
    let mut lines = Vec::new();
    let mut now = Standing::new();
    for finding in &report.findings {
        let subject = subject(finding);
        if !before.contains_key(&finding.id) {
            lines.push(DecisionLine {
                at: report.at,
                subject: subject.clone(),
                verdict: "found".to_owned(),
                reason: format!(
                    "{}, score {}: {}",
                    finding.cause.as_str(),
                    finding.score,
                    finding.explanation
                ),
            });
        }
        now.insert(finding.id.clone(), (subject, finding.cause.as_str().to_owned()));
    }
    for (id, (subject, cause)) in before {
        if !now.contains_key(id) {
            lines.push(gone(report.at, subject, cause));
        }
    }
    (lines, now)
}

fn gone(at: Timestamp, subject: &str, cause: &str) -> DecisionLine {
    DecisionLine {
        at,
        subject: subject.to_owned(),
        verdict: "no-longer-found".to_owned(),
        reason: format!("{cause}: the newest window does not show it any more"),
    }
}

/// What a finding is about, as `explain` and the log name it.
pub(crate) fn subject(finding: &Finding) -> String {
    match &finding.subject {
        Subject::Pod { pod, .. } => format!("pod/{}/{}", pod.namespace, pod.name),
        Subject::Gpu { node, uuid } => format!("gpu/{node}/{uuid}"),
        Subject::Node { name } => format!("node/{name}"),
    }
}

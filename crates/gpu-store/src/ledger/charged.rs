//! What a row of the ledger is charged to, and which rows can be kept at all. A row is never changed; a wrong one is undone by its
//! reversal and written anew under another key.

use std::sync::Arc;

use gpu_cost::{CommitmentName, Entry, Holder, LedgerRow, Machine, RowKey, Slot, Span, Subject};
use gpu_model::ClusterId;
use serde::{Deserialize, Serialize};

/// Rows are found by their start, so a search has to look back by the longest row there can be. Settlement cuts at least at every
/// day.
pub const LONGEST_ROW_MS: i64 = 24 * 3_600_000;
/// 2500-01-01: a row after it was made with a clock that is wrong.
const END_OF_TIME_MS: i64 = 16_725_225_600_000;

/// All that many rows have in common and a cost can be asked by. It is kept once, and rows carry its number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimensions {
    pub cluster: ClusterId,
    pub subject: Subject,
    pub slot: Slot,
    pub holder: Option<Arc<Holder>>,
}

impl Dimensions {
    pub fn of(row: &LedgerRow) -> Self {
        Self {
            cluster: row.cluster.clone(),
            subject: row.subject.clone(),
            slot: row.slot.clone(),
            holder: row.holder.clone(),
        }
    }

    /// Whether both name the same things. More may have been learnt of a machine between two writings of a row.
    pub fn names_the_same(&self, other: &Self) -> bool {
        self.cluster == other.cluster
            && self.subject.id() == other.subject.id()
            && self.slot == other.slot
            && self.holder == other.holder
    }
}

/// How dimensions are written down.
#[derive(Serialize, Deserialize)]
struct Written {
    cluster: ClusterId,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    machine: Option<Machine>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    commitment: Option<CommitmentName>,
    slot: Slot,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    holder: Option<Holder>,
}

impl Serialize for Dimensions {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (machine, commitment) = match &self.subject {
            Subject::Machine(machine) => (Some((**machine).clone()), None),
            Subject::Commitment(commitment) => (None, Some((**commitment).clone())),
        };
        Written {
            cluster: self.cluster.clone(),
            machine,
            commitment,
            slot: self.slot.clone(),
            holder: self.holder.as_deref().cloned(),
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for Dimensions {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(from)?;
        let subject = match (written.machine, written.commitment) {
            (Some(machine), None) => Subject::Machine(Arc::new(machine)),
            (None, Some(commitment)) => Subject::Commitment(Arc::new(commitment)),
            (Some(_), Some(_)) | (None, None) => {
                return Err(serde::de::Error::custom(
                    "a row is about one machine or one commitment",
                ));
            }
        };
        Ok(Self {
            cluster: written.cluster,
            subject,
            slot: written.slot,
            holder: written.holder.map(Arc::new),
        })
    }
}

/// Why a row cannot be part of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("row `{key}` starts before 1970: the clock that made it is wrong")]
    BeforeTime { key: RowKey },
    #[error("row `{key}` ends after the year 2500: the clock that made it is wrong")]
    AfterTime { key: RowKey },
    #[error("row `{key}` from {} to {} has no length", span.start, span.end)]
    NoLength { key: RowKey, span: Span },
    #[error("row `{key}` from {} to {} is longer than a day: cut it", span.start, span.end)]
    TooLong { key: RowKey, span: Span },
    #[error("row `{key}` holds {what} with {length} bytes; at most {most} are kept")]
    TooLarge {
        key: RowKey,
        what: &'static str,
        length: usize,
        most: usize,
    },
    #[error("row `{key}` holds {what} with a control character: remove it")]
    ControlCharacter { key: RowKey, what: &'static str },
    #[error("row `{key}` has {count} labels; at most 32 are kept, name the ones to charge by")]
    TooManyLabels { key: RowKey, count: usize },
    #[error("an amount of row `{key}` is out of range")]
    Range { key: RowKey },
}

/// Labels kept with a row are the few that somebody asked for; this keeps a pod from turning the ledger into a copy of itself.
const MOST_LABELS: usize = 32;
/// Kubernetes ends names at 253 and label values at 63; the path of a workflow's step is longer.
const LONGEST_TEXT: usize = 512;

/// The key of the row that a row takes back.
pub(crate) fn reverses(row: &LedgerRow) -> Option<RowKey> {
    match row.entry {
        Entry::Charge => None,
        Entry::Reversal { of } => Some(of),
    }
}

/// Whether the row can be kept and summed up.
pub fn check_row(row: &LedgerRow) -> Result<(), RowError> {
    let (key, span) = (row.key, row.span);
    if span.start.0 < 0 {
        return Err(RowError::BeforeTime { key });
    }
    if span.end.0 > END_OF_TIME_MS {
        return Err(RowError::AfterTime { key });
    }
    if span.is_empty() {
        return Err(RowError::NoLength { key, span });
    }
    if span.milliseconds() > LONGEST_ROW_MS {
        return Err(RowError::TooLong { key, span });
    }
    let amounts = row.amounts.unwrap_or_default();
    let numbers = [
        row.time.held_ms,
        row.time.used_ms,
        row.time.unmeasured_ms,
        amounts.list.0,
        amounts.allocated.0,
        amounts.used.0,
        amounts.unused.0,
        amounts.unmeasured.0,
    ];
    if numbers.contains(&i64::MIN) {
        return Err(RowError::Range { key });
    }
    Ok(())
}

/// Whether the names of the row can be kept. Asked once for each new set of dimensions, not for each row.
pub(crate) fn check_names(row: &LedgerRow) -> Result<(), RowError> {
    let key = row.key;
    for text in subject_names(&row.subject).into_iter().flatten() {
        check_text(key, "a name", text)?;
    }
    let Some(holder) = &row.holder else {
        return Ok(());
    };
    let names = &holder.dimensions;
    if names.labels.len() > MOST_LABELS {
        return Err(RowError::TooManyLabels {
            key,
            count: names.labels.len(),
        });
    }
    let texts = [
        &names.team,
        &names.project,
        &names.cost_center,
        &names.experiment_id,
        &names.workflow,
        &names.step,
        &names.application,
    ];
    for text in texts.into_iter().flatten() {
        check_text(key, "a name", text)?;
    }
    if let Some(owner) = &names.owner {
        check_text(key, "an owner", &owner.kind)?;
        check_text(key, "an owner", &owner.name)?;
    }
    for (name, value) in &names.labels {
        check_text(key, "a label", name)?;
        check_text(key, "a label", value)?;
    }
    Ok(())
}

fn subject_names(subject: &Subject) -> [Option<&String>; 5] {
    match subject {
        Subject::Machine(machine) => [
            machine.instance_type.as_ref(),
            machine.region.as_ref(),
            machine.zone.as_ref(),
            machine.pool.as_ref(),
            machine.gpu_model.as_ref(),
        ],
        Subject::Commitment(commitment) => [
            Some(&commitment.id),
            commitment.region.as_ref(),
            commitment.instance_type.as_ref(),
            None,
            None,
        ],
    }
}

fn check_text(key: RowKey, what: &'static str, text: &str) -> Result<(), RowError> {
    if text.len() > LONGEST_TEXT {
        return Err(RowError::TooLarge {
            key,
            what,
            length: text.len(),
            most: LONGEST_TEXT,
        });
    }
    if text.chars().any(char::is_control) {
        return Err(RowError::ControlCharacter { key, what });
    }
    Ok(())
}

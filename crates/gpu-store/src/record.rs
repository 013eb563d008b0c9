//! Small things that are written seldom and found by subject or by time: prices, usage windows, decisions, intents, refusals, open
//! intervals, memories, savings. Each kind has a type in [`crate::entries`]; here they are all the same.

use gpu_cost::Moment;
use gpu_model::ClusterId;
use serde::{Deserialize, Serialize};

/// A page of records.
pub const MOST_RECORDS: usize = 5_000;
const LONGEST_KEY: usize = 400;
/// A decision with every candidate it weighed is some ten kilobytes.
const LONGEST_BODY: usize = 256 * 1024;

/// The kinds. The numbers are what a database holds: they are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(i16)]
pub enum RecordKind {
    Price = 1,
    Usage = 2,
    Decision = 3,
    Intent = 4,
    Refusal = 5,
    Opening = 6,
    /// What a loop must remember over a restart and from leader to leader, such as which findings were told.
    Memory = 7,
    /// What somebody's change saved, before and after.
    Saving = 8,
}

impl RecordKind {
    pub const ALL: [Self; 8] = [
        Self::Price,
        Self::Usage,
        Self::Decision,
        Self::Intent,
        Self::Refusal,
        Self::Opening,
        Self::Memory,
        Self::Saving,
    ];

    pub fn code(self) -> i16 {
        self as i16
    }

    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// What was written stays as it is; the others describe something that goes on.
    pub fn is_final(self) -> bool {
        match self {
            Self::Price | Self::Usage | Self::Decision | Self::Saving => true,
            Self::Intent | Self::Refusal | Self::Opening | Self::Memory => false,
        }
    }
}

/// A record. The key is made by its writer from what it is about, so that writing it twice is writing it once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub cluster: ClusterId,
    pub kind: RecordKind,
    pub key: String,
    pub at: Moment,
    /// What it is about: a pod, a template, a node group.
    pub subject: String,
    pub is_open: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<Moment>,
    pub body: serde_json::Value,
}

/// Why a record cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("the key of a {kind:?} has {length} bytes; give it 1 to 400")]
    Key { kind: RecordKind, length: usize },
    #[error("the subject of {kind:?} `{key}` has {length} bytes; at most 400 are kept")]
    Subject {
        kind: RecordKind,
        key: String,
        length: usize,
    },
    #[error("the body of {kind:?} `{key}` has {length} bytes; at most 262144 are kept")]
    Body {
        kind: RecordKind,
        key: String,
        length: usize,
    },
    #[error("{kind:?} `{key}` is final: write a new one instead of replacing it")]
    Final { kind: RecordKind, key: String },
}

impl Record {
    /// Checks the bounds and gives the body as the text that is kept.
    pub fn checked_body(&self) -> Result<String, RecordError> {
        let (kind, key) = (self.kind, self.key.clone());
        if key.is_empty() || key.len() > LONGEST_KEY {
            return Err(RecordError::Key {
                kind,
                length: key.len(),
            });
        }
        if self.subject.len() > LONGEST_KEY {
            return Err(RecordError::Subject {
                kind,
                key,
                length: self.subject.len(),
            });
        }
        let body = self.body.to_string();
        if body.len() > LONGEST_BODY {
            return Err(RecordError::Body {
                kind,
                key,
                length: body.len(),
            });
        }
        Ok(body)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// Which records, page by page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordQuery {
    pub kind: RecordKind,
    pub cluster: Option<ClusterId>,
    pub subject: Option<String>,
    pub is_open: Option<bool>,
    /// Only records whose time lies in this window; the end is not part of it.
    pub from: Option<Moment>,
    pub to: Option<Moment>,
    pub order: Order,
    /// The `next` of the page before.
    pub after: Option<RecordCursor>,
    pub limit: usize,
}

impl RecordQuery {
    pub fn of(kind: RecordKind) -> Self {
        Self {
            kind,
            cluster: None,
            subject: None,
            is_open: None,
            from: None,
            to: None,
            order: Order::default(),
            after: None,
            limit: MOST_RECORDS,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCursor {
    pub at: Moment,
    pub cluster: ClusterId,
    pub key: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordPage {
    pub records: Vec<Record>,
    pub next: Option<RecordCursor>,
}

impl RecordPage {
    /// A page from up to one record more than it may hold, which tells whether there is another page.
    pub(crate) fn cut(mut records: Vec<Record>, limit: usize) -> Self {
        let has_more = records.len() > limit;
        records.truncate(limit);
        let next = records.last().filter(|_| has_more).map(|last| RecordCursor {
            at: last.at,
            cluster: last.cluster.clone(),
            key: last.key.clone(),
        });
        Self { records, next }
    }
}

//! What a store says when it cannot. Messages name the object and the way out, and never an address's password.

use std::path::PathBuf;

use gpu_cost::{Moment, RowKey};

use crate::ledger::{RowError, WindowError};
use crate::record::{RecordError, RecordKind};
use crate::retention::RetentionError;

/// Why a store refused or failed. [`StoreError::class`] says what a caller can do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Row(#[from] RowError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Window(#[from] WindowError),
    #[error(transparent)]
    Retention(#[from] RetentionError),

    #[error("row `{key}` is in the ledger with another content; a correction is a reversal and a new row")]
    RowDiffers { key: RowKey },
    #[error("row `{key}` reverses `{of}`, which is not in the ledger")]
    NothingToReverse { key: RowKey, of: RowKey },
    #[error("row `{key}` reverses `{of}`, but is not that row with every amount negated")]
    NoReversal { key: RowKey, of: RowKey },
    #[error("row `{key}` reverses `{of}`, which another row has reversed already")]
    ReversedTwice { key: RowKey, of: RowKey },
    #[error("row `{key}` starts at {start}, and the books before {floor} are closed")]
    TooLate {
        key: RowKey,
        start: Moment,
        floor: Moment,
    },
    #[error("{kind:?} `{key}` is there with another content; write a new one under another key")]
    RecordDiffers { kind: RecordKind, key: String },
    #[error("a batch of {count} rows is too large; write at most {most} at once")]
    BatchTooLarge { count: usize, most: usize },
    #[error("asked by {count} dimensions; at most {most} give a readable answer")]
    TooManyGroups { count: usize, most: usize },
    #[error(
        "the answer has more than {most} lines; narrow it by a filter, a shorter window or fewer dimensions"
    )]
    TooManyLines { most: usize },
    #[error("steps of {step} need a window that starts and ends at one; {edge} does not")]
    StepEdge { step: &'static str, edge: Moment },
    #[error("a sum left the range of nine billion dollars: a row carries a wrong amount")]
    Overflow,

    #[error(
        "`{path}` is in use by {holder}; an embedded store has exactly one process: stop that one, or move to PostgreSQL"
    )]
    InUse { path: PathBuf, holder: String },
    #[error(
        "the store has schema {found}, this program knows up to {known}: run the newer program, or restore a backup made before"
    )]
    NewerSchema { found: i64, known: i64 },
    #[error("`{path}` is damaged ({detail}): restore a backup; the damaged file is left as it is")]
    Damaged { path: PathBuf, detail: String },
    #[error("`{path}` holds a database that is not a store of this program: name another file")]
    NotAStore { path: PathBuf },
    #[error(
        "the disk of `{path}` is full: nothing of this batch was written; make room, and the store goes on"
    )]
    DiskFull { path: PathBuf },
    #[error("the store is not empty: name an empty one, or say that it may be replaced")]
    NotEmpty,
    #[error("a restore into this store did not finish: run it again and let it replace what is there")]
    HalfRestored,
    #[error("the dump is not whole: {detail}")]
    Dump { detail: String },
    #[error("the store is closed")]
    Closed,
    #[error("the store did not answer within {seconds} s")]
    Unavailable {
        seconds: u64,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("failed to {act}")]
    Failed {
        act: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The same call may work later.
    Again,
    /// The call is wrong and stays wrong.
    Refused,
    /// A person has to look.
    Broken,
}

impl StoreError {
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Row(_)
            | Self::Record(_)
            | Self::Window(_)
            | Self::Retention(_)
            | Self::RowDiffers { .. }
            | Self::NothingToReverse { .. }
            | Self::NoReversal { .. }
            | Self::ReversedTwice { .. }
            | Self::TooLate { .. }
            | Self::RecordDiffers { .. }
            | Self::BatchTooLarge { .. }
            | Self::TooManyGroups { .. }
            | Self::TooManyLines { .. }
            | Self::StepEdge { .. }
            | Self::NotEmpty
            | Self::Dump { .. } => ErrorClass::Refused,
            Self::DiskFull { .. } | Self::Unavailable { .. } => ErrorClass::Again,
            Self::InUse { .. }
            | Self::Overflow
            | Self::NewerSchema { .. }
            | Self::Damaged { .. }
            | Self::NotAStore { .. }
            | Self::HalfRestored
            | Self::Closed
            | Self::Failed { .. } => ErrorClass::Broken,
        }
    }

    pub(crate) fn failed(
        act: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Failed {
            act,
            source: source.into(),
        }
    }
}

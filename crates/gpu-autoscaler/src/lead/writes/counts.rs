//! How many changes were made, refused or held back.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Refusal, WriteError, WriteKind, Written};

/// How a change ended: the value of a metric's label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteResult {
    Written,
    Planned,
    Exists,
    Conflict,
    Gone,
    NotLeader,
    Paused,
    Denied,
    Unreachable,
}

impl WriteResult {
    pub const ALL: [Self; 9] = [
        Self::Written,
        Self::Planned,
        Self::Exists,
        Self::Conflict,
        Self::Gone,
        Self::NotLeader,
        Self::Paused,
        Self::Denied,
        Self::Unreachable,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Planned => "planned",
            Self::Exists => "exists",
            Self::Conflict => "conflict",
            Self::Gone => "gone",
            Self::NotLeader => "not-leader",
            Self::Paused => "paused",
            Self::Denied => "denied",
            Self::Unreachable => "unreachable",
        }
    }

    pub(super) fn of(outcome: &Result<Written, WriteError>) -> Self {
        match outcome {
            Ok(Written::Done(_)) => Self::Written,
            Ok(Written::Planned) => Self::Planned,
            Ok(Written::Refused(Refusal::Exists)) => Self::Exists,
            Ok(Written::Refused(Refusal::Conflict)) => Self::Conflict,
            Ok(Written::Refused(Refusal::Gone)) => Self::Gone,
            Err(WriteError::NotLeader) => Self::NotLeader,
            Err(WriteError::Paused(_) | WriteError::PauseUnknown) => Self::Paused,
            Err(WriteError::Denied { .. }) => Self::Denied,
            Err(WriteError::Unreachable { .. }) => Self::Unreachable,
        }
    }
}

/// Counters of all kinds and results.
#[derive(Debug, Default)]
pub struct WriteCounts {
    cells: [[AtomicU64; WriteResult::ALL.len()]; WriteKind::ALL.len()],
}

impl WriteCounts {
    pub(super) fn add(&self, kind: WriteKind, result: WriteResult) {
        if let Some(cell) = self.cell(kind, result) {
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn of(&self, kind: WriteKind, result: WriteResult) -> u64 {
        self.cell(kind, result)
            .map_or(0, |cell| cell.load(Ordering::Relaxed))
    }

    /// Every pair of labels that was counted at least once.
    pub fn all(&self) -> impl Iterator<Item = ((&'static str, &'static str), u64)> {
        WriteKind::ALL.into_iter().flat_map(move |kind| {
            WriteResult::ALL.into_iter().filter_map(move |result| {
                let count = self.of(kind, result);
                (count > 0).then_some(((kind.as_str(), result.as_str()), count))
            })
        })
    }

    fn cell(&self, kind: WriteKind, result: WriteResult) -> Option<&AtomicU64> {
        let row = WriteKind::ALL.iter().position(|each| *each == kind)?;
        let column = WriteResult::ALL.iter().position(|each| *each == result)?;
        Some(&self.cells[row][column])
    }
}

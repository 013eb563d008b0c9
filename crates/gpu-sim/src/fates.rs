//! What will become of a workload: drawn once when it is born, and never shown to the outside.

use crate::noise::{Dice, Question};
use crate::shapes::Class;
use crate::truth::WorkloadKind;

/// The story of a workload's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Works as intended to its end.
    Works,
    /// Works, but its input cannot keep up.
    StarvesForInput,
    /// Works, then stops for good and keeps what it holds.
    DiesHolding,
    /// Works, then its members wait for each other.
    Stalls,
    /// Does little for the size of its GPU.
    TooSmall,
    /// Waits for traffic that does not come.
    StandsBy,
    /// Never starts to use what it was given.
    NeverStarts,
}

const FATE: Question = 101;
const LIFE: Question = 102;
const GAP: Question = 103;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

impl Fate {
    pub(crate) fn draw(kind: WorkloadKind, class: Class, family: Dice, dice: Dice) -> Self {
        // A service is small as a whole: its replicas share its few requests. Nothing is too small for a part that
        // cannot be had any smaller.
        if kind == WorkloadKind::Inference && class.could_be_smaller() && family.chance(FATE, 0, 220) {
            return Fate::TooSmall;
        }
        let odds: &[(Fate, i64)] = match kind {
            WorkloadKind::Training => &[
                (Fate::StarvesForInput, 100),
                (Fate::Stalls, 60),
                (Fate::NeverStarts, 30),
            ],
            WorkloadKind::Inference => &[
                (Fate::StandsBy, 130),
                (Fate::DiesHolding, 40),
                (Fate::NeverStarts, 20),
            ],
            WorkloadKind::Notebook => &[(Fate::NeverStarts, 140), (Fate::DiesHolding, 80)],
            WorkloadKind::Batch => &[
                (Fate::StarvesForInput, 90),
                (Fate::DiesHolding, 40),
                (Fate::NeverStarts, 20),
            ],
            WorkloadKind::WorkflowStep => &[(Fate::StarvesForInput, 50)],
        };
        let draw = dice.between(FATE, 0, 0, 999);
        let mut edge = 0;
        for (fate, permille) in odds {
            edge += permille;
            if draw < edge {
                return *fate;
            }
        }
        Fate::Works
    }

    /// How long the workload keeps its GPUs, in seconds. What went wrong is usually noticed late.
    pub(crate) fn life(self, kind: WorkloadKind, dice: Dice) -> i64 {
        let (shortest, longest) = match (kind, self) {
            (WorkloadKind::Batch, Fate::DiesHolding | Fate::NeverStarts) => (2 * HOUR, 14 * HOUR),
            (WorkloadKind::Training, Fate::NeverStarts) => (HOUR, 8 * HOUR),
            (WorkloadKind::Training, _) => (3 * HOUR, 40 * HOUR),
            (WorkloadKind::Inference, _) => (12 * HOUR, 6 * DAY),
            (WorkloadKind::Notebook, _) => (4 * HOUR, 60 * HOUR),
            (WorkloadKind::Batch, _) => (5 * MINUTE, 90 * MINUTE),
            (WorkloadKind::WorkflowStep, _) => (2 * MINUTE, 20 * MINUTE),
        };
        dice.between(LIFE, 0, shortest, longest)
    }
}

/// How long after its end the next workload of the same demand arrives, in seconds.
pub(crate) fn gap(kind: WorkloadKind, dice: Dice) -> i64 {
    let (shortest, longest) = match kind {
        WorkloadKind::Training => (5 * MINUTE, 2 * HOUR),
        WorkloadKind::Inference => (20, 4 * MINUTE),
        WorkloadKind::Notebook => (10 * MINUTE, 6 * HOUR),
        WorkloadKind::Batch => (30, 25 * MINUTE),
        WorkloadKind::WorkflowStep => (5, 8 * MINUTE),
    };
    dice.between(GAP, 0, shortest, longest)
}

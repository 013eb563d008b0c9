//! Right, wrong and missed, and what follows from them.

use std::collections::BTreeMap;

use gpu_waste::Cause;
use serde::Serialize;

use crate::replay::labels::Label;

/// How one detector did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub(crate) right: u64,
    pub(crate) wrong: u64,
    pub(crate) missed: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, label: &Label, says: bool) {
        match (label, says) {
            (Label::Waste(_), true) => self.right += 1,
            (Label::Waste(_), false) => self.missed += 1,
            (Label::Fine, true) => self.wrong += 1,
            (Label::Fine, false) | (Label::Open, _) => {}
        }
    }

    /// Of what was found, how much is waste; absent when nothing was found.
    pub(crate) fn precision(self) -> Option<f64> {
        ratio(self.right, self.right + self.wrong)
    }

    /// Of what is waste, how much was found.
    pub(crate) fn recall(self) -> Option<f64> {
        ratio(self.right, self.right + self.missed)
    }

    /// The harmonic mean of both.
    pub(crate) fn f1(self) -> Option<f64> {
        ratio(2 * self.right, 2 * self.right + self.wrong + self.missed)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a replay are far below 2^52, and this is a figure for people"
)]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// How one detector did, in all and by cause.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    pub(crate) held: Tally,
    /// A cause is right where the label allows it, wrong where it does not, and missed where it is the first that the
    /// label names and none of the allowed ones was found.
    pub(crate) by_cause: BTreeMap<Cause, Tally>,
}

impl Marks {
    pub(crate) fn add(&mut self, label: &Label, found: &[Cause], is_held: bool) {
        if is_held {
            self.held.add(label, !found.is_empty());
        }
        for cause in found {
            let tally = self.by_cause.entry(*cause).or_default();
            match label {
                Label::Waste(allowed) if allowed.contains(cause) => tally.right += 1,
                Label::Waste(_) | Label::Fine => tally.wrong += 1,
                Label::Open => {}
            }
        }
        if let Label::Waste(allowed) = label
            && !allowed.iter().any(|cause| found.contains(cause))
            && let Some(first) = allowed.first()
        {
            self.by_cause.entry(*first).or_default().missed += 1;
        }
    }
}

//! Money as an integer, and the one way to divide it: the parts always sum to the whole.

use std::fmt;
use std::iter::Sum;

use serde::{Deserialize, Serialize};

/// US dollars in billionths. An `i64` holds nine billion dollars either way; corrections are negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NanoUsd(pub i64);

/// Why an amount cannot be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    #[error("cannot split an amount over weights that are all zero: name who carries it")]
    NoWeight,
}

const NANOS: u64 = 1_000_000_000;

impl NanoUsd {
    pub const ZERO: Self = Self(0);

    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// Divides by weight with the largest remainders rounded up, so that the parts sum to this amount exactly.
    ///
    /// Equal remainders go to the part that comes first: callers order their parts by an id, and so the same input
    /// gives the same parts in every run. A negative amount splits as its mirror, so that a correction undoes a charge.
    pub fn split(self, weights: &[u64]) -> Result<Vec<Self>, SplitError> {
        let total: u128 = weights.iter().copied().map(u128::from).sum();
        if total == 0 {
            return Err(SplitError::NoWeight);
        }
        let amount = u128::from(self.0.unsigned_abs());
        let mut parts = Vec::with_capacity(weights.len());
        let mut remainders = Vec::with_capacity(weights.len());
        for (position, weight) in weights.iter().enumerate() {
            let exact = amount * u128::from(*weight);
            parts.push(exact / total);
            remainders.push((exact % total, position));
        }
        let missing = amount - parts.iter().sum::<u128>();
        remainders.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let missing = usize::try_from(missing).expect("fewer units are missing than there are parts");
        for (_, position) in remainders.iter().take(missing) {
            parts[*position] += 1;
        }
        Ok(parts.into_iter().map(|part| self.with_sign_of(part)).collect())
    }

    fn with_sign_of(self, magnitude: u128) -> Self {
        let magnitude = i128::try_from(magnitude).expect("a part is at most the whole");
        let signed = if self.0 < 0 { -magnitude } else { magnitude };
        Self(i64::try_from(signed).expect("a part is at most the whole"))
    }
}

/// Sums saturate: nine billion dollars in one bill is a bug of the input, and must not become a negative bill.
impl Sum for NanoUsd {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        Self(values.fold(0, |sum: i64, value| sum.saturating_add(value.0)))
    }
}

impl fmt::Display for NanoUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        write!(f, "{sign}${}.{:09}", magnitude / NANOS, magnitude % NANOS)
    }
}

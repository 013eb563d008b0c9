//! Sharing a total out in whole numbers, so that the parts always sum to it. Knows nothing of pods.

use gpu_model::Reading;

/// Utilisation is shared out in billionths: far finer than any driver measures, and whole.
const BILLION: f64 = 1e9;
/// Beyond this a double is no longer a whole number of units; no device has as much of anything.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Bytes as a whole number.
pub(super) fn bytes(reading: Reading<f64>) -> Reading<u64> {
    reading.and_then(whole)
}

/// A share from 0 to 1 as a whole number of billionths.
pub(super) fn billionths(reading: Reading<f64>) -> Reading<u64> {
    reading.and_then(|share| whole(share * BILLION))
}

pub(super) fn from_bytes(units: u64) -> f64 {
    units as f64
}

pub(super) fn from_billionths(units: u64) -> f64 {
    units as f64 / BILLION
}

fn whole(value: f64) -> Reading<u64> {
    if !(0.0..LARGEST).contains(&value) {
        return Reading::Failed;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked in the line above"
    )]
    Reading::Known(value.round() as u64)
}

/// What was measured for one owner or one reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bucket {
    /// How many processes are in it.
    pub(super) processes: u32,
    pub(super) measured: u64,
    /// Why some of its processes have no measurement, if so.
    pub(super) missing: Option<Missing>,
}

/// Why a number is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Missing {
    Failed,
    Unsupported,
}

impl Missing {
    pub(super) fn reading<T>(self) -> Reading<T> {
        match self {
            Self::Failed => Reading::Failed,
            Self::Unsupported => Reading::Unsupported,
        }
    }
}

impl Bucket {
    pub(super) fn add(&mut self, amount: Reading<u64>) {
        self.processes += 1;
        let missing = match amount {
            Reading::Known(units) => {
                self.measured = self.measured.saturating_add(units);
                return;
            }
            Reading::Unsupported => Missing::Unsupported,
            Reading::Failed => Missing::Failed,
        };
        self.missing = self.missing.max(Some(missing));
    }
}

/// Scales parts down to `total` if together they exceed it, and says by how much they did.
pub(super) fn fit(parts: &mut [u64], total: u64) -> u64 {
    let sum: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    let Some(excess) = sum.checked_sub(u128::from(total)).filter(|&excess| excess > 0) else {
        return 0;
    };
    // Whole units first; what rounding leaves goes to the largest fractions, and among equal ones to the first.
    let mut fractions: Vec<(u128, usize)> = Vec::with_capacity(parts.len());
    let mut given = 0;
    for (at, part) in parts.iter_mut().enumerate() {
        let scaled = u128::from(*part) * u128::from(total);
        *part = u64::try_from(scaled / sum).expect("a share of a total is not larger than the total");
        given += *part;
        fractions.push((scaled % sum, at));
    }
    fractions.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let left = usize::try_from(total - given).expect("rounding leaves less than one unit a part");
    for &(_, at) in fractions.iter().take(left) {
        parts[at] += 1;
    }
    u64::try_from(excess).unwrap_or(u64::MAX)
}

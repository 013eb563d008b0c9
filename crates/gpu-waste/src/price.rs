//! From wasted GPUs to money a month.

use gpu_model::NanoUsd;

/// A month of bills: a year of 8,760 hours by twelve.
const HOURS_PER_MONTH: i128 = 730;

/// What so many thousandths of a GPU cost in a month.
pub(crate) fn monthly(per_gpu_hour: NanoUsd, milligpus: u64) -> NanoUsd {
    let exact = i128::from(per_gpu_hour.0) * i128::from(milligpus) * HOURS_PER_MONTH / 1000;
    let bound = if exact < 0 { i64::MIN } else { i64::MAX };
    NanoUsd(i64::try_from(exact).unwrap_or(bound))
}

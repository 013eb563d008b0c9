//! Dividing whole numbers by weight so that the parts sum to the whole, and charging for time so that hours sum to days.

use gpu_model::NanoUsd;

use crate::Span;

/// Divides a quantity by weight. Parts sum to the whole; the largest remainders are rounded up, the first of equal ones first.
/// Weights that are all zero leave nobody to carry it, and everything stays zero.
pub(crate) fn apportion(total: i64, weights: &[u64]) -> Vec<i64> {
    match NanoUsd(total).split(weights) {
        Ok(parts) => parts.into_iter().map(|part| part.0).collect(),
        Err(_) => vec![0; weights.len()],
    }
}

/// What a span costs at an hourly rate.
///
/// It is the difference of two readings of a meter that runs since 1970 and shows whole units: however a span is cut, the
/// pieces cost as much as the span. Rounding each piece by itself would lose up to a unit a piece.
pub fn charge(rate: NanoUsd, span: Span) -> NanoUsd {
    const HOUR: i128 = 3_600_000;
    if span.is_empty() {
        return NanoUsd::ZERO;
    }
    let meter = |at: i64| (i128::from(rate.0) * i128::from(at)).div_euclid(HOUR);
    let amount = meter(span.end.0) - meter(span.start.0);
    // A century of the dearest machine there is stays a thousandfold below the limit.
    NanoUsd(i64::try_from(amount).unwrap_or(if amount < 0 { i64::MIN } else { i64::MAX }))
}

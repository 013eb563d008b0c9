//! Dividing money neither makes nor loses any.

use gpu_model::{NanoUsd, SplitError};
use proptest::prelude::*;

#[track_caller]
fn check(amount: i64, weights: &[u64], expected: &[i64]) {
    let expected: Vec<NanoUsd> = expected.iter().copied().map(NanoUsd).collect();
    assert_eq!(NanoUsd(amount).split(weights), Ok(expected));
}

#[test]
fn equal_weights_get_equal_parts_and_the_first_gets_the_odd_unit() {
    check(10, &[1, 1, 1], &[4, 3, 3]);
}

#[test]
fn the_largest_remainder_is_rounded_up() {
    check(10, &[1, 5, 1], &[2, 7, 1]);
}

#[test]
fn who_has_no_weight_pays_nothing() {
    check(7, &[0, 3, 0], &[0, 7, 0]);
}

#[test]
fn a_correction_mirrors_the_charge() {
    check(-10, &[1, 1, 1], &[-4, -3, -3]);
}

#[test]
fn the_smallest_amount_there_is_can_be_split() {
    check(i64::MIN, &[1], &[i64::MIN]);
    check(i64::MIN, &[u64::MAX, u64::MAX], &[i64::MIN / 2, i64::MIN / 2]);
}

#[test]
fn weights_of_nothing_are_refused() {
    assert_eq!(NanoUsd(5).split(&[0, 0]), Err(SplitError::NoWeight));
    assert_eq!(NanoUsd(5).split(&[]), Err(SplitError::NoWeight));
}

#[test]
fn money_reads_as_dollars_with_all_its_digits() {
    assert_eq!(NanoUsd(55_040_000_000).to_string(), "$55.040000000");
    assert_eq!(NanoUsd(-1).to_string(), "-$0.000000001");
}

#[test]
fn a_sum_that_leaves_the_range_stays_at_its_end() {
    let sum: NanoUsd = [NanoUsd(i64::MAX), NanoUsd(1)].into_iter().sum();
    assert_eq!(sum, NanoUsd(i64::MAX));
    assert_eq!(NanoUsd(i64::MAX).checked_add(NanoUsd(1)), None);
}

proptest! {
    #[test]
    fn parts_sum_to_the_whole(amount: i64, weights in prop::collection::vec(any::<u64>(), 1..20)) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let parts = NanoUsd(amount).split(&weights).unwrap();
        let sum: i128 = parts.iter().map(|part| i128::from(part.0)).sum();
        prop_assert_eq!(sum, i128::from(amount));
        prop_assert_eq!(parts.len(), weights.len());
    }

    #[test]
    fn no_part_is_a_unit_or_more_from_its_exact_share(amount: i64, weights in prop::collection::vec(0u64..1_000_000, 1..20)) {
        let total: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
        prop_assume!(total > 0);
        for (part, weight) in NanoUsd(amount).split(&weights).unwrap().iter().zip(&weights) {
            let off = i128::from(part.0) * total - i128::from(amount) * i128::from(*weight);
            prop_assert!(off.abs() < total, "part {part} of weight {weight}");
        }
    }
}

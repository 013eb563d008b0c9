//! Quantities stay in their range.

use gpu_model::{Bytes, OutOfRange, Permille};
use proptest::prelude::*;

#[test]
fn a_share_is_at_most_the_whole() {
    assert_eq!(Permille::new(1000), Ok(Permille::ONE));
    assert_eq!(Permille::new(1001), Err(OutOfRange(1001)));
    assert_eq!(Permille::from_percent(101), Err(OutOfRange(1010)));
    assert_eq!(Permille::clamped(1003), Permille::ONE);
    assert!(serde_json::from_str::<Permille>("1001").is_err());
    assert_eq!(Permille::new(427).unwrap().to_string(), "42.7%");
}

#[test]
fn nothing_is_a_share_of_nothing() {
    assert_eq!(Bytes(0).share_of(Bytes(0)), None);
    assert_eq!(Bytes(3).share_of(Bytes(4)), Some(Permille::new(750).unwrap()));
    assert_eq!(Bytes(u64::MAX).share_of(Bytes(1)), Some(Permille::ONE));
}

#[test]
fn sums_stay_at_the_end_of_their_range() {
    assert_eq!(
        [Bytes(u64::MAX), Bytes(1)].into_iter().sum::<Bytes>(),
        Bytes(u64::MAX)
    );
    assert_eq!(Bytes(1).saturating_sub(Bytes(2)), Bytes::ZERO);
}

proptest! {
    #[test]
    fn a_share_of_an_amount_is_at_most_the_amount(thousandths in 0u16..=1000, amount: u64) {
        let part = Permille::new(thousandths).unwrap().of(amount);
        prop_assert!(part <= amount);
        prop_assert!(thousandths < 1000 || part == amount);
    }
}

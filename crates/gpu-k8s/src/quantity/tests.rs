//! Quantities as the API server prints and accepts them.

use proptest::prelude::*;

use super::{QuantityError, thousandths, units};

#[track_caller]
fn check(text: &str, expected_units: u64, expected_thousandths: u64) {
    assert_eq!(units(text), Ok(expected_units), "{text}");
    assert_eq!(
        thousandths(text),
        Ok(expected_thousandths),
        "{text} in thousandths"
    );
}

#[test]
fn every_suffix_is_read() {
    check("0", 0, 0);
    check("2", 2, 2000);
    check("+2", 2, 2000);
    check("100m", 1, 100);
    check("1500m", 2, 1500);
    check("1.5", 2, 1500);
    check(".5", 1, 500);
    check("5.", 5, 5000);
    check("1k", 1000, 1_000_000);
    check("1.5Gi", 1_610_612_736, 1_610_612_736_000);
    check("0.1Ki", 103, 102_400);
    check("3e2", 300, 300_000);
    check("1E3", 1000, 1_000_000);
    check("1n", 1, 1);
    check("100u", 1, 1);
    check("-0", 0, 0);
}

#[test]
fn exa_alone_and_exa_as_exponent_are_told_apart() {
    assert_eq!(units("1E"), Ok(1_000_000_000_000_000_000));
    assert_eq!(units("1E1"), Ok(10));
}

#[test]
fn what_is_no_quantity_says_so() {
    for text in [
        "", "m", "1.2.3", "1 Gi", "1KiB", "1e", "1e999", "0x10", "ten", "1,5", "+-1",
    ] {
        assert!(
            matches!(units(text), Err(QuantityError::Malformed { .. })),
            "{text}: {:?}",
            units(text)
        );
    }
    assert!(matches!(units("-1"), Err(QuantityError::Negative { .. })));
    assert!(matches!(units("20E"), Err(QuantityError::TooLarge { .. })));
    assert!(matches!(units("1e40"), Err(QuantityError::TooLarge { .. })));
    assert!(matches!(
        units(&"9".repeat(100)),
        Err(QuantityError::TooLarge { .. })
    ));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}") {
        let _ = (units(&text), thousandths(&text));
    }

    #[test]
    fn whole_numbers_are_read_exactly(number: u64) {
        prop_assert_eq!(units(&number.to_string()), Ok(number));
    }

    #[test]
    fn fractions_round_up(whole in 0_u64..1_000_000, fraction in 1_u32..1_000) {
        prop_assert_eq!(units(&format!("{whole}.{fraction:03}")), Ok(whole + 1));
        prop_assert_eq!(thousandths(&format!("{whole}.{fraction:03}")), Ok(whole * 1000 + u64::from(fraction)));
    }
}

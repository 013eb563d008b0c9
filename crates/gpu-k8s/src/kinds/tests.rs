//! Amounts of money are read exactly.

use gpu_model::NanoUsd;

use super::Usd;

#[track_caller]
fn check(text: &str, expected: i64) {
    let amount: Usd = serde_json::from_str(text).expect(text);
    assert_eq!(amount, Usd(NanoUsd(expected)), "{text}");
    let again = serde_json::to_string(&amount).expect("an amount can be written");
    assert_eq!(
        serde_json::from_str::<Usd>(&again).expect("it can be read again"),
        amount
    );
}

#[test]
fn amounts_are_what_was_written() {
    check("5000", 5_000_000_000_000);
    check("5000.5", 5_000_500_000_000);
    check("0.1", 100_000_000);
    check("12.000000001", 12_000_000_001);
    check("99999.99", 99_999_990_000_000);
}

#[test]
fn what_is_no_amount_is_refused() {
    for text in ["-1", "1e300", "\"12\"", "null", "1e-10"] {
        assert!(serde_json::from_str::<Usd>(text).is_err(), "{text}");
    }
}

//! Amounts read back as they were written.

use gpu_model::NanoUsd;

use super::{parse_usd, write_usd};

#[track_caller]
fn check(text: &str, nanos: i64) {
    assert_eq!(parse_usd(text), Ok(NanoUsd(nanos)), "{text}");
}

#[test]
fn prices_as_the_clouds_write_them() {
    check("55.0400000000", 55_040_000_000);
    check("0.526", 526_000_000);
    check("98", 98_000_000_000);
    check(".5", 500_000_000);
    check("0.0000000005", 1);
    check("0.00000000049", 0);
    check("1.2e-3", 1_200_000);
    check("5E-10", 1);
    check("1e2", 100_000_000_000);
    check("-0.25", -250_000_000);
    check("1.9999999999", 2_000_000_000);
}

#[test]
fn what_is_no_price_is_refused() {
    for text in ["", ".", "1.2.3", "1,5", "abc", "1e", "1e99", "--1", "99999999999"] {
        assert!(parse_usd(text).is_err(), "{text}");
    }
}

#[test]
fn writing_keeps_every_digit_and_no_more() {
    for (nanos, text) in [
        (0, "0"),
        (1, "0.000000001"),
        (55_040_000_000, "55.04"),
        (-250_000_000, "-0.25"),
        (i64::MAX, "9223372036.854775807"),
    ] {
        let mut out = String::new();
        write_usd(&mut out, NanoUsd(nanos)).unwrap();
        assert_eq!(out, text);
        check(text, nanos);
    }
}

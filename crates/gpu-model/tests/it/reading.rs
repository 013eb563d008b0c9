//! An absent value stays absent through every step, and keeps its reason.

use gpu_model::Reading::{self, Failed, Known, Unsupported};

#[track_caller]
fn check_zip(left: Reading<u8>, right: Reading<u8>, expected: Reading<(u8, u8)>) {
    assert_eq!(left.zip(right), expected);
}

#[test]
fn a_pair_is_known_only_when_both_halves_are() {
    check_zip(Known(1), Known(2), Known((1, 2)));
    check_zip(Known(1), Failed, Failed);
    check_zip(Failed, Known(1), Failed);
    check_zip(Failed, Unsupported, Unsupported);
    check_zip(Unsupported, Known(1), Unsupported);
}

#[test]
fn absence_passes_through_and_is_never_zero() {
    assert_eq!(Failed.map(|value: u8| value + 1), Failed);
    assert_eq!(Unsupported.and_then(|value: u8| Known(value + 1)), Unsupported);
    assert_eq!(Known(1).and_then(|_: u8| Reading::<u8>::Failed), Failed);
    assert_eq!(Reading::<u8>::default().known(), None);
}

#[test]
fn absence_is_null_on_the_wire() {
    let readings = [Known(7), Unsupported, Failed];
    assert_eq!(serde_json::to_string(&readings).unwrap(), "[7,null,null]");
}

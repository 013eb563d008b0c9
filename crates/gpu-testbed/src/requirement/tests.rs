//! The name under which a skipped test reports itself is the one that the test runner prints.

use super::{Need, is_missing, test_name};

#[track_caller]
fn check(place: &str, expected: &str) {
    assert_eq!(test_name(place), expected);
}

#[test]
fn names_are_those_of_the_test_runner() {
    check("it::fleet::binds_a_pod::place", "fleet::binds_a_pod");
    check("it::fleet::binds_a_pod::{{closure}}::place", "fleet::binds_a_pod");
    check("it::alone::place", "alone");
}

#[test]
fn nothing_is_missing_when_every_need_is_met() {
    assert!(!is_missing("it::a::place", &[Need::that("air", || true)]));
}

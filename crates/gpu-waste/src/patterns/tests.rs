//! What is learned of an hour of the week.

use super::*;

fn key() -> PatternKey {
    PatternKey {
        namespace: Namespace::new("speech").unwrap(),
        kind: "Deployment".to_owned(),
        name: "asr".to_owned(),
    }
}

#[test]
fn the_hour_of_the_week_begins_on_monday() {
    // Monday, 5 January 2026, 08:30 UTC.
    let at = Timestamp::from_second(1_767_601_800).unwrap();
    assert_eq!(hour_of_week(at).1, 8);
}

#[test]
fn mean_and_bounds_settle_where_the_looks_are() {
    let mut patterns = Patterns::default();
    let at = Timestamp::from_second(1_767_601_800).unwrap();
    for look in 0..5000u16 {
        patterns.note(key(), at, 400 + look * 7 % 200);
    }
    let hour = *patterns.get(&key()).unwrap().at(at).unwrap();
    assert_eq!((hour.looks, hour.weeks), (5000, 1));
    assert!((440..=560).contains(&hour.mean), "{hour:?}");
    assert!((395..=460).contains(&hour.low), "{hour:?}");
    assert!((540..=605).contains(&hour.high), "{hour:?}");
}

#[test]
fn a_pattern_without_a_whole_week_is_refused() {
    let mut patterns = Patterns::default();
    let short = Pattern {
        hours: vec![HourPattern::default(); 3],
        learned_at: Timestamp::UNIX_EPOCH,
    };
    patterns.insert(key(), short);
    assert_eq!(patterns.get(&key()), None);
}

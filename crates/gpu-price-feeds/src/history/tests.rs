//! Lists as they follow one another.

use proptest::prelude::*;

use super::*;

const TYPE: &str = "p5.48xlarge";

fn point(since: Option<i64>, rate: i64) -> PricePoint {
    PricePoint {
        cloud: Cloud::Aws,
        instance_type: TYPE.to_owned(),
        region: "us-east-1".to_owned(),
        zone: None,
        capacity: CapacityType::Spot,
        since: since.map(Moment),
        rate: NanoUsd(rate),
    }
}

/// What is known after some lists, each read at its place in the row times 100: `start..end rate@learnt`.
#[track_caller]
fn check(lists: &[&[(Option<i64>, i64)]], expected: &[&str]) -> History {
    let mut history = History::default();
    for (index, list) in (1..).zip(lists) {
        let points = list.iter().map(|(since, rate)| point(*since, *rate)).collect();
        history.learn(points, Moment(100 * index));
    }
    assert_eq!(texts(&history), expected);
    history
}

fn texts(history: &History) -> Vec<String> {
    let edge = |at: Moment| match at.0 {
        i64::MIN | i64::MAX => String::new(),
        other => other.to_string(),
    };
    let versions = history.versions();
    let text = |version: &PriceVersion| {
        let (start, end) = (edge(version.valid.start), edge(version.valid.end));
        format!("{start}..{end} {}@{}", version.rate.0, version.as_of.0)
    };
    versions.iter().map(text).collect()
}

#[test]
fn the_first_price_holds_before_it_was_known_too() {
    check(&[&[(Some(50), 7)]], &[".. 7@100"]);
    check(&[&[(None, 7)]], &[".. 7@100"]);
}

#[test]
fn a_new_price_ends_the_one_before() {
    check(
        &[&[(Some(50), 7)], &[(Some(150), 8)]],
        &["..150 7@100", "150.. 8@200"],
    );
}

#[test]
fn a_change_without_an_instant_happens_when_it_is_read() {
    check(
        &[&[(None, 7)], &[(None, 7)], &[(None, 8)]],
        &["..300 7@100", "300.. 8@300"],
    );
}

#[test]
fn the_same_price_read_again_changes_nothing() {
    let list: &[_] = &[(Some(50), 7)];
    // Google's catalogue gives every price an instant of the last twelve hours.
    check(&[list, list, &[(Some(250), 7)]], &[".. 7@100"]);
    let mut history = check(&[list], &[".. 7@100"]);
    assert!(!history.learn(vec![point(Some(50), 7)], Moment(900)));
    assert!(history.learn(vec![point(Some(60), 9)], Moment(900)));
}

#[test]
fn a_list_may_correct_itself_and_tell_more_than_one_step() {
    check(
        &[&[(Some(50), 7), (Some(60), 8)], &[(Some(60), 9)]],
        &["..60 7@100", "60.. 9@200"],
    );
    check(
        &[&[(Some(50), 7)], &[(Some(20), 6)]],
        &["..50 6@200", "50.. 7@100"],
    );
}

#[test]
fn a_price_that_is_announced_does_not_hold_yet() {
    check(
        &[&[(Some(50), 7)], &[(Some(50), 7), (Some(900), 8)]],
        &["..900 7@100", "900.. 8@200"],
    );
}

#[test]
fn a_place_that_is_missing_from_a_list_keeps_its_price() {
    check(&[&[(Some(50), 7)], &[]], &[".. 7@100"]);
}

#[test]
fn old_steps_go_and_the_last_one_never_does() {
    let mut history = check(
        &[&[(Some(50), 7), (Some(60), 8), (Some(70), 9)]],
        &["..60 7@100", "60..70 8@100", "70.. 9@100"],
    );
    history.prune(&Wanted::new(), Moment(65));
    assert_eq!(texts(&history), ["..70 8@100", "70.. 9@100"]);
    history.prune(&Wanted::new(), Moment(1_000_000));
    assert_eq!(texts(&history), [".. 9@100"]);
}

#[test]
fn what_is_written_down_is_read_again() {
    let history = check(&[&[(Some(50), 7), (Some(60), 8)]], &["..60 7@100", "60.. 8@100"]);
    let text = serde_json::to_string(&history).unwrap();
    assert_eq!(serde_json::from_str::<History>(&text).unwrap(), history);
}

proptest! {
    /// Whatever lists say in whatever order: every instant has one price, and a list that is read again is no news.
    #[test]
    fn every_instant_has_exactly_one_price(
        lists in prop::collection::vec(prop::collection::vec((prop::option::of(0..50_i64), 1..5_i64), 1..6), 1..8)
    ) {
        let mut history = History::default();
        for (now, list) in (100..).zip(&lists) {
            let points: Vec<PricePoint> = list.iter().map(|(since, rate)| point(*since, *rate)).collect();
            history.learn(points, Moment(now));
            let versions = history.versions();
            prop_assert_eq!(versions.first().unwrap().valid.start, PriceVersion::ALWAYS.start);
            prop_assert_eq!(versions.last().unwrap().valid.end, PriceVersion::ALWAYS.end);
            for pair in versions.windows(2) {
                prop_assert_eq!(pair[0].valid.end, pair[1].valid.start);
                prop_assert!(!pair[0].valid.is_empty());
            }
        }
        let text = serde_json::to_string(&history).unwrap();
        prop_assert_eq!(&serde_json::from_str::<History>(&text).unwrap(), &history);
        history.prune(&Wanted::new(), Moment(25));
        prop_assert_eq!(history.versions().first().unwrap().valid.start, PriceVersion::ALWAYS.start);
    }

    /// A price that a list of one entry states holds from then on.
    #[test]
    fn the_last_word_holds(before in prop::collection::vec((0..50_i64, 1..5_i64), 0..6), rate in 1..5_i64) {
        let mut history = History::default();
        for (now, (since, rate)) in (100..).zip(before) {
            history.learn(vec![point(Some(since), rate)], Moment(now));
        }
        history.learn(vec![point(Some(60), rate)], Moment(200));
        prop_assert_eq!(history.versions().last().unwrap().rate, NanoUsd(rate));
        prop_assert!(!history.learn(vec![point(Some(60), rate)], Moment(300)));
    }
}

//! Lists in words, and the book.

use super::{Target, TargetBook, parse_targets};

#[track_caller]
fn check(words: &str, expected: &[(&str, &str)]) {
    let targets = parse_targets(words).unwrap();
    let found: Vec<_> = targets
        .iter()
        .map(|target| (target.name.as_str(), target.url.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn targets_are_read_from_words() {
    check(
        "a:9400, b",
        &[
            ("a:9400", "http://a:9400/metrics"),
            ("b:9400", "http://b:9400/metrics"),
        ],
    );
    check(
        "https://c:9443/x/y,[::1]:9400",
        &[
            ("c:9443/x/y", "https://c:9443/x/y"),
            ("[::1]:9400", "http://[::1]:9400/metrics"),
        ],
    );
}

#[test]
fn words_that_are_no_targets_are_refused_with_words() {
    for (words, reason) in [
        ("", "no target is given: name at least one, as `host:9400`"),
        (
            "a:99999",
            "`a:99999` is no target: give `host:9400` or `https://host:9400/metrics`",
        ),
        (
            "http://joe:secret@a:9400",
            "`a` holds a user or a password: give credentials by their own settings",
        ),
    ] {
        assert_eq!(parse_targets(words).unwrap_err().to_string(), reason);
    }
}

#[test]
fn a_target_that_is_found_twice_is_there_once_and_keeps_its_node() {
    let book = TargetBook::default();
    let plain = parse_targets("a:9400,b:9400").unwrap();
    let placed = Target {
        node: Some("node-a".parse().unwrap()),
        ..plain[0].clone()
    };
    book.write("list", plain.clone());
    book.write("service", vec![placed.clone()]);
    let current = || -> Vec<Target> { book.current().iter().map(|target| (**target).clone()).collect() };
    assert_eq!(current(), [placed, plain[1].clone()]);
    book.write("service", Vec::new());
    assert_eq!(current(), plain);
}

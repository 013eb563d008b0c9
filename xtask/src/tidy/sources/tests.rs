//! Each rule finds what it is for, and nothing in a clean file.

use std::path::Path;

use super::judge;

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    let found = judge(Path::new(path), text);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (finding, words) in found.iter().zip(expected) {
        assert!(finding.contains(words), "{finding:?} does not say {words:?}");
    }
}

#[test]
fn a_clean_file_has_no_finding() {
    check(
        "crates/gpu-model/src/money.rs",
        "//! Money.\npub struct Coin;\n",
        &[],
    );
}

#[test]
fn length_names_and_words_are_judged() {
    check(
        "crates/a/src/money.rs",
        &format!("//! x\n{}", "//\n".repeat(600)),
        &["601 lines"],
    );
    check("crates/a/src/utils.rs", "//! x\n", &["says nothing"]);
    check("crates/a/src/money.rs", "fn a() {}\n", &["starts without"]);
    check(
        "crates/a/src/money.rs",
        concat!("//! x\n// TO", "DO: later\n"),
        &["money.rs:2: unfinished"],
    );
    check(
        "crates/a/src/money.rs",
        concat!("//! x\n    #[ign", "ore]\n"),
        &["does not run"],
    );
}

#[test]
fn only_edges_and_tests_open_the_doors() {
    let text = "//! x\n#![allow(clippy::disallowed_methods, reason = \"y\")]\n";
    check("crates/gpu-model/src/lib.rs", text, &["pure crate"]);
    check("crates/gpu-runtime/src/lib.rs", text, &[]);
    check("crates/gpu-model/tests/it/main.rs", text, &[]);
}

//! Real lines of the downward API, broken ones, and any others.

use proptest::prelude::*;

use super::{Pairs, workflow};

#[track_caller]
fn check(text: &str, pairs: &[(&str, &str)], bad: usize) {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let expected = Pairs {
        pairs: pairs.iter().map(owned).collect(),
        bad,
    };
    assert_eq!(Pairs::parse(text), expected);
}

#[test]
fn lines_are_read_as_go_quoted_them() {
    check("", &[], 0);
    check(
        "app=\"train\"\nworkflows.argoproj.io/workflow=\"fit-x7\"\n",
        &[("app", "train"), ("workflows.argoproj.io/workflow", "fit-x7")],
        0,
    );
    check(
        r#"note="a \"quoted\" word, a \\ and a line\nend, \t, \u00e4, \U0001f680, é""#,
        &[("note", "a \"quoted\" word, a \\ and a line\nend, \t, ä, 🚀, é")],
        0,
    );
    check(r#"raw="\xc3\xa9 \xff""#, &[("raw", "é \u{fffd}")], 0);
    check("equals=\"a=b=\"\"\n", &[], 1);
    check("equals=\"a=b\"\n", &[("equals", "a=b")], 0);
}

#[test]
fn what_is_not_of_the_form_is_counted() {
    let broken = "bare\nkey=value\nkey=\"open\n=\"none\"\nbad key=\"x\"\nx=\"\\q\"\nx=\"\\u12\"\nx=\"\\\"\n";
    check(broken, &[], 8);
    check("a=\"1\"\na=\"2\"\n", &[("a", "1")], 1);
}

#[track_caller]
fn check_workflow(given: &[(&'static str, &str)], labels: &str, annotations: &str, expected: &str) {
    let given: Vec<(&'static str, String)> = given
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect();
    let found = workflow(&given, &Pairs::parse(labels), &Pairs::parse(annotations));
    let words: Vec<String> = found
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(words.join(" "), expected);
}

#[test]
fn the_workflow_is_found_where_each_engine_writes_it() {
    let argo = "workflows.argoproj.io/workflow=\"fit-x7\"\nworkflows.argoproj.io/completed=\"false\"";
    let step = "workflows.argoproj.io/node-name=\"fit-x7[0].train(1)\"";
    check_workflow(&[], argo, step, "workflow=fit-x7 step=fit-x7[0].train(1)");
    check_workflow(
        &[("retry", "1"), ("workflow", "mine"), ("workflow_uid", "u-1")],
        argo,
        step,
        "workflow=mine workflow_uid=u-1 step=fit-x7[0].train(1) retry=1",
    );
    let job = "batch.kubernetes.io/job-name=\"fit\"\njob-name=\"fit\"";
    check_workflow(
        &[],
        job,
        "batch.kubernetes.io/job-completion-index=\"3\"",
        "workflow=fit step=3",
    );
    // The pods of a JobSet are pods of Jobs too.
    let set = "jobset.sigs.k8s.io/jobset-name=\"set\"\njobset.sigs.k8s.io/replicatedjob-name=\"workers\"";
    check_workflow(&[], &format!("{job}\n{set}"), "", "workflow=set step=workers");
    check_workflow(&[("workflow", "")], "app=\"x\"", "", "");
    let long = format!("job-name=\"{}\"", "x".repeat(257));
    check_workflow(&[], &long, "", "");
}

proptest! {
    #[test]
    fn no_file_makes_the_reader_panic(text in "(([a-z./=\"\\\\uUx0-9 ]|.|\n){0,80}=\"(\\\\[a-zA-Z\"\\\\]|.){0,20}\"\n?){0,6}") {
        let parsed = Pairs::parse(&text);
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        prop_assert_eq!(parsed.pairs.len() + parsed.bad, lines);
    }

    #[test]
    fn what_go_would_quote_is_read_back(value in any::<String>()) {
        let quoted: String = value.chars().map(|letter| match letter {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\n' => "\\n".to_owned(),
            plain if plain.is_ascii() && !plain.is_ascii_control() => plain.to_string(),
            other => format!("\\U{:08x}", u32::from(other)),
        }).collect();
        let parsed = Pairs::parse(&format!("key=\"{quoted}\"\n"));
        prop_assert_eq!(parsed.get("key"), Some(value.as_str()));
    }
}

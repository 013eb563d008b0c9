//! What is kept of a page, and what is refused with which word.

use std::sync::Arc;

use gpu_exposition::Format;
use proptest::prelude::*;

use super::{Content, MOST_BYTES, Reason, Refusal};
use crate::applications::{NameList, Rules};

fn rules(families: &[&str], labels: &[&str]) -> Arc<Rules> {
    let families = NameList::parse(families.iter().copied()).unwrap();
    Arc::new(Rules::new(families).reserving(labels.iter().copied()))
}

fn read(page: &str, format: Format, rules: &Arc<Rules>) -> Result<Content, Refusal> {
    Content::read(page.as_bytes(), format, rules)
}

/// The kept lines with a mark in the gap, each family after its name and kind.
fn shown(content: &Content) -> String {
    let mut text = String::new();
    for family in &content.families {
        text.push_str(&format!("{} {:?}\n", family.name, family.kind));
        for line in content.lines(family) {
            text.push_str(&format!("{}*}}{}", line.before, line.after));
        }
    }
    text
}

#[track_caller]
fn check(page: &str, expected: &str) {
    let content = read(page, Format::Text, &rules(&[], &["team"])).unwrap();
    assert_eq!(shown(&content), expected);
    assert_eq!(content.dropped.len(), 0, "{:?}", content.dropped);
}

#[track_caller]
fn dropped(page: &str, reason: Reason, series: usize) {
    let content = read(page, Format::Text, &rules(&[], &[])).unwrap();
    assert_eq!(shown(&content), "", "{page}");
    assert_eq!(content.dropped, [(reason, series)].into(), "{page}");
}

#[track_caller]
fn refused(page: &str, class: &str) {
    let error = read(page, Format::Text, &rules(&[], &[])).unwrap_err();
    assert_eq!(error.class(), class, "{error}");
}

#[test]
fn a_page_is_kept_as_its_lines_with_a_gap() {
    check("", "");
    check(
        "# HELP steps_total Steps.\n# TYPE steps_total counter\nsteps_total 5\n# TYPE loss gauge\nloss{head=\"a}b\\n\"} NaN\n",
        "steps_total Counter\nsteps_total{*} 5\nloss Gauge\nloss{head=\"a}b\\n\",*} NaN\n",
    );
    check(
        "# TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"1\"} 2\nwait_seconds_bucket{le=\"+Inf\"} 3\nwait_seconds_sum 4.5\nwait_seconds_count 3\n",
        "wait_seconds Histogram\nwait_seconds_bucket{le=\"1\",*} 2\nwait_seconds_bucket{le=\"+Inf\",*} 3\nwait_seconds_sum{*} 4.5\nwait_seconds_count{*} 3\n",
    );
    check(
        "queue +Inf\nqueue_low -Inf\n",
        "queue Unknown\nqueue{*} +Inf\nqueue_low Unknown\nqueue_low{*} -Inf\n",
    );
}

#[test]
fn labels_whose_names_are_taken_move_aside_as_in_prometheus() {
    check(
        "a{pod=\"x\",b=\"y\"} 1\n",
        "a Unknown\na{exported_pod=\"x\",b=\"y\",*} 1\n",
    );
    check(
        "a{pod=\"x\",exported_pod=\"y\",team=\"z\"} 1\n",
        "a Unknown\na{exported_exported_pod=\"x\",exported_pod=\"y\",exported_team=\"z\",*} 1\n",
    );
}

#[test]
fn exemplars_and_beginnings_are_not_carried_over() {
    let page = "# TYPE a counter\na_total{b=\"1\"} 2 # {trace=\"t\"} 1.0\na_created{b=\"1\"} 1e9\n# EOF\n";
    let content = read(page, Format::OpenMetrics, &rules(&[], &[])).unwrap();
    assert_eq!(shown(&content), "a_total Counter\na_total{b=\"1\",*} 2\n");
}

#[test]
fn families_are_left_out_whole_with_a_reason() {
    dropped("gpu_utilization_ratio 1\n", Reason::NameReserved, 1);
    dropped("DCGM_FI_DEV_GPU_UTIL{a=\"1\"} 1\n", Reason::NameReserved, 1);
    dropped("# TYPE up_total counter\nup_total 1\n", Reason::NameReserved, 1);
    dropped("{\"tokens per second\"} 1\n", Reason::NameInvalid, 1);
    dropped("a{\"not a name\"=\"1\"} 1\n", Reason::NameInvalid, 1);
    dropped("a{__meta=\"1\"} 1\n", Reason::NameInvalid, 1);
    dropped(
        "a{b=\"1\",c=\"2\"} 1\na{c=\"2\",b=\"1\"} 2\n",
        Reason::Duplicate,
        2,
    );
    dropped("a 1\na 1\n", Reason::Duplicate, 2);
    dropped("a 1 1790000000000\na{b=\"1\"} 1\n", Reason::Timestamp, 2);
    let long = "x".repeat(513);
    dropped(&format!("a{{b=\"{long}\"}} 1\n"), Reason::LabelLimit, 1);
    let many: Vec<String> = (0..33).map(|n| format!("l{n}=\"\"")).collect();
    dropped(&format!("a{{{}}} 1\n", many.join(",")), Reason::LabelLimit, 1);
}

#[test]
fn a_histogram_with_one_bad_line_goes_as_a_whole() {
    dropped(
        "# TYPE w histogram\nw_bucket{le=\"1\"} 2\nw_bucket{le=\"1\"} 2\nw_sum 1\nw_count 2\n",
        Reason::Duplicate,
        4,
    );
}

#[test]
fn pages_are_refused_whole_by_class() {
    refused("a 1", "torn");
    refused("a 1\nb{c=\"", "torn");
    refused("a one\n", "malformed");
    refused("a{b=\"1\",b=\"2\"} 1\n", "malformed");
    refused("\u{0}\u{1}ELF\n", "malformed");
    refused(&"a 1\n".repeat(MOST_BYTES / 4 + 1), "too_large");
    let many: String = (0..2_001).map(|n| format!("a{{n=\"{n}\"}} 1\n")).collect();
    refused(&many, "too_many_series");
    let labels: String = (0..100_000).map(|n| format!("l{n}=\"\",")).collect();
    refused(&format!("a{{{labels}}} 1\n"), "too_large");
    refused(&format!("a{{{}}} 1\n", &labels[..70_000]), "malformed");
    let unfinished = read("a 1\n", Format::OpenMetrics, &rules(&[], &[])).unwrap_err();
    assert_eq!(unfinished, Refusal::Torn);
}

#[test]
fn the_allow_list_is_applied_before_the_limits() {
    let mut page: String = (0..5_000).map(|n| format!("noise{{n=\"{n}\"}} 1\n")).collect();
    page.push_str("# TYPE steps_total counter\nsteps_total 5\n# TYPE w summary\nw_sum 1\nw_count 2\n");
    let content = read(&page, Format::Text, &rules(&["steps_*", "w"], &[])).unwrap();
    assert_eq!(
        shown(&content),
        "steps_total Counter\nsteps_total{*} 5\nw Summary\nw_sum{*} 1\nw_count{*} 2\n"
    );
}

#[test]
fn a_page_is_kept_in_about_the_bytes_it_has() {
    let page: String = (0..1_000)
        .map(|n| format!("queue{{worker=\"{n}\"}} {n}\n"))
        .collect();
    let content = read(&page, Format::Text, &rules(&[], &[])).unwrap();
    assert_eq!(content.bytes(&content.families[0]), page.len());
}

proptest! {
    #[test]
    fn no_page_makes_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        for format in Format::ALL {
            let _ = Content::read(&bytes, format, &rules(&[], &["team"]));
        }
    }

    /// Pages of the right words in any order, which reach further than bytes do.
    #[test]
    fn whatever_is_taken_reads_back(words in prop::collection::vec(word(), 0..60)) {
        let page: String = words.concat() + "\n";
        if let Ok(content) = read(&page, Format::Text, &rules(&[], &["team"])) {
            let page: String = content
                .families
                .iter()
                .flat_map(|family| content.lines(family))
                .map(|line| format!("{}pod=\"p\",team=\"t\"}}{}", line.before, line.after))
                .collect();
            let parsed = gpu_exposition::Page::parse(
                page.as_bytes(),
                gpu_exposition::ParserOptions::new(Format::Text),
            );
            prop_assert!(parsed.is_ok(), "{page}");
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "# TYPE a ",
        "# HELP a ",
        "counter\n",
        "histogram\n",
        "summary\n",
        "gauge\n",
        "a",
        "a_total",
        "a_sum",
        "a_bucket",
        "{",
        "}",
        "le=\"1\"",
        "pod=\"x\"",
        "team=\"\\\\\"",
        "\"q\"",
        ",",
        " ",
        "1",
        "NaN",
        "+Inf",
        "-1e300",
        "\n",
        "#",
        "é",
        "\r",
        "1790000000000",
        "__x=\"\"",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

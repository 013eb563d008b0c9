//! The result of a replay, for people and as JSON.

use std::fmt::Write as _;

use anyhow::Context as _;
use serde::Serialize;

use crate::replay::set::Outcome;
use crate::replay::tally::{Marks, Tally};

/// Above this the naive rule is good enough, and the set too easy.
const NAIVE_PRECISION: f64 = 0.80;

/// Whether the set can tell a good rule from the naive one.
pub(crate) fn is_valid(outcome: &Outcome) -> bool {
    let naive = outcome.naive.held;
    outcome.labelled > 0
        && naive
            .precision()
            .is_some_and(|precision| precision < NAIVE_PRECISION)
}

pub(crate) fn table(outcome: &Outcome, with_mistakes: bool) -> String {
    let mut text = format!(
        "{} looks at parts of GPUs, {} of them at held ones that are labelled; {} wasted ones are out of reach of every signal\n\n",
        outcome.judged, outcome.labelled, outcome.out_of_reach
    );
    text.push_str(&line_of_heads("DETECTOR"));
    text.push_str(&line("ours", outcome.ours.held));
    let all = Tally {
        missed: outcome.ours.held.missed + outcome.out_of_reach,
        ..outcome.ours.held
    };
    text.push_str(&line("ours, if what is out of reach is missed", all));
    text.push_str(&line("naive: below 50 % for 5 minutes", outcome.naive.held));
    for (mask, marks) in &outcome.without {
        text.push_str(&line(&format!("ours without {}", mask.as_str()), marks.held));
    }
    text.push('\n');
    text.push_str(&line_of_heads("CAUSE, FOR OURS"));
    for (cause, tally) in &outcome.ours.by_cause {
        text.push_str(&line(cause.as_str(), *tally));
    }
    text.push_str(&line("contradiction", outcome.contradictions));
    let verdict = if is_valid(outcome) { "valid" } else { "NOT VALID" };
    write!(
        text,
        "\nThe set is {verdict}: the naive rule has {} precision, and has to stay under 80 %.",
        percent(outcome.naive.held.precision())
    )
    .expect("a string takes any text");
    if with_mistakes {
        text.push_str("\n\n");
        text.push_str(&outcome.mistakes.join("\n"));
    }
    text
}

fn line_of_heads(first: &str) -> String {
    format!(
        "{first:<42} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8}\n",
        "PRECISION", "RECALL", "F1", "RIGHT", "WRONG", "MISSED"
    )
}

fn line(name: &str, tally: Tally) -> String {
    format!(
        "{name:<42} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8}\n",
        percent(tally.precision()),
        percent(tally.recall()),
        percent(tally.f1()),
        tally.right,
        tally.wrong,
        tally.missed
    )
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.1} %", ratio * 100.0))
}

#[derive(Serialize)]
struct Json {
    valid: bool,
    looks: u64,
    labelled: u64,
    out_of_reach: u64,
    detectors: Vec<Row>,
    causes: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    precision: Option<f64>,
    recall: Option<f64>,
    f1: Option<f64>,
    #[serde(flatten)]
    counts: Tally,
}

pub(crate) fn json(outcome: &Outcome) -> anyhow::Result<String> {
    let mut detectors = vec![row("ours", &outcome.ours), row("naive", &outcome.naive)];
    for (mask, marks) in &outcome.without {
        detectors.push(row(&format!("ours without {}", mask.as_str()), marks));
    }
    let mut causes: Vec<Row> = outcome
        .ours
        .by_cause
        .iter()
        .map(|(cause, tally)| of_tally(cause.as_str(), *tally))
        .collect();
    causes.push(of_tally("contradiction", outcome.contradictions));
    let json = Json {
        valid: is_valid(outcome),
        looks: outcome.judged,
        labelled: outcome.labelled,
        out_of_reach: outcome.out_of_reach,
        detectors,
        causes,
    };
    serde_json::to_string_pretty(&json).context("failed to write the result as JSON")
}

fn row(name: &str, marks: &Marks) -> Row {
    of_tally(name, marks.held)
}

fn of_tally(name: &str, tally: Tally) -> Row {
    Row {
        name: name.to_owned(),
        precision: tally.precision(),
        recall: tally.recall(),
        f1: tally.f1(),
        counts: tally,
    }
}

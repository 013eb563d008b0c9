//! What the parser reads from a page and what it says about pages it cannot read.

mod limits;
mod open_metrics;
mod text;

use std::fmt::Write as _;

use crate::{Event, Format, LabelIter, ParseError, Parser, ParserOptions};

/// One line per event, with escapes undone; errors begin with `!`.
fn describe(event: Result<Event<'_>, ParseError>) -> String {
    let mut line = String::new();
    match event {
        Err(error) => write!(line, "! {error}"),
        Ok(Event::Help { family, help }) => {
            write!(line, "help {:?} {:?}", family.unescaped(), help.unescaped())
        }
        Ok(Event::Kind { family, kind }) => write!(line, "kind {:?} {kind:?}", family.unescaped()),
        Ok(Event::Unit { family, unit }) => write!(line, "unit {:?} {unit:?}", family.unescaped()),
        Ok(Event::Sample(sample)) => {
            write!(
                line,
                "{}{}= {:?}",
                sample.name.unescaped(),
                labels(sample.labels),
                sample.value
            )
            .unwrap();
            if let Some(timestamp) = sample.timestamp {
                write!(line, " at {}", timestamp.0).unwrap();
            }
            if let Some(exemplar) = sample.exemplar {
                write!(line, " like{}= {:?}", labels(exemplar.labels), exemplar.value).unwrap();
                if let Some(timestamp) = exemplar.timestamp {
                    write!(line, " at {}", timestamp.0).unwrap();
                }
            }
            Ok(())
        }
    }
    .unwrap();
    line
}

fn labels(labels: LabelIter<'_>) -> String {
    let mut text = String::from(" ");
    for label in labels {
        write!(text, "{}={:?} ", label.name.unescaped(), label.value.unescaped()).unwrap();
    }
    text
}

fn read(page: &[u8], options: ParserOptions) -> Vec<String> {
    let mut parser = Parser::new(page, options);
    let mut lines = Vec::new();
    while let Some(event) = parser.next_event() {
        lines.push(describe(event));
    }
    assert!(
        parser.next_event().is_none(),
        "a parser that has ended stays ended"
    );
    lines
}

#[track_caller]
fn text(page: &str, expected: &[&str]) {
    assert_eq!(
        read(page.as_bytes(), ParserOptions::new(Format::Text)),
        expected,
        "for {page:?}"
    );
}

#[track_caller]
fn open_metrics(page: &str, expected: &[&str]) {
    assert_eq!(
        read(page.as_bytes(), ParserOptions::new(Format::OpenMetrics)),
        expected,
        "for {page:?}"
    );
}

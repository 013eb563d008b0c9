//! Limits, and pages on which bad lines are skipped.

use super::read;
use crate::{Format, Limits, OnBadLine, ParserOptions};

#[track_caller]
fn limited(page: &str, limits: Limits, expected: &[&str]) {
    let options = ParserOptions {
        limits,
        on_bad_line: OnBadLine::Skip,
        ..ParserOptions::new(Format::Text)
    };
    assert_eq!(read(page.as_bytes(), options), expected, "for {page:?}");
}

#[test]
fn bad_lines_can_be_skipped() {
    limited(
        "a 1\nb x\n{\nc 2\n",
        Limits::DEFAULT,
        &[
            "a = 1.0",
            "! line 2, column 3: value \"x\" is not a number",
            "! line 3, column 2: expected a label name or `}`, found the end of the line",
            "c = 2.0",
        ],
    );
    limited(
        "?\n?\n?\na 1",
        Limits {
            max_bad_lines: 1,
            ..Limits::DEFAULT
        },
        &[
            "! line 1, column 1: expected a metric name, found '?'",
            "! line 2, column 1: the page has more than 1 bad lines",
        ],
    );
}

#[test]
fn every_limit_has_its_own_error() {
    limited(
        "a 1\nlong 12\nb 2\n",
        Limits {
            max_line_bytes: 6,
            ..Limits::DEFAULT
        },
        &[
            "a = 1.0",
            "! line 2, column 7: the line is longer than 6 bytes",
            "b = 2.0",
        ],
    );
    limited(
        "a 1\nb 2\nc 3",
        Limits {
            max_bytes: 7,
            ..Limits::DEFAULT
        },
        &[
            "a = 1.0",
            "b = 2.0",
            "! line 3, column 1: the page is longer than 7 bytes",
        ],
    );
    limited(
        "a 1\nb 2\nc 3",
        Limits {
            max_samples: 2,
            ..Limits::DEFAULT
        },
        &[
            "a = 1.0",
            "b = 2.0",
            "! line 3, column 1: the page has more than 2 samples",
        ],
    );
    limited(
        "a{b=\"\",c=\"\"} 1\na{b=\"\",c=\"\",d=\"\"} 1",
        Limits {
            max_labels_per_sample: 2,
            ..Limits::DEFAULT
        },
        &[
            "a b=\"\" c=\"\" = 1.0",
            "! line 2, column 13: the sample has more than 2 labels",
        ],
    );
}

//! What is wrong with a page, and where.

use std::fmt;

/// A line that could not be read, or a limit that the page passed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct ParseError {
    /// Counted from 1.
    pub line: u64,
    /// In bytes, counted from 1.
    pub column: usize,
    pub problem: Problem,
}

/// What is wrong. Pieces of the page are shown with their control characters escaped, for the sake of the log they end in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("expected {expected}, found {found}")]
    Expected { expected: &'static str, found: Found },
    #[error("the line is not valid UTF-8")]
    NotUtf8,
    #[error("the braces hold no metric name, and none stands before them")]
    NoMetricName,
    #[error("the metric name is given twice")]
    MetricNameTwice,
    #[error("label {name:?} is given twice")]
    DuplicateLabel { name: String },
    #[error("a quoted string has no closing quote on its line")]
    UnclosedQuote,
    #[error("value {text:?} is not a number")]
    Value { text: String },
    #[error("value {text:?} is beyond a 64-bit float")]
    ValueOutOfRange { text: String },
    #[error("timestamp {text:?} is not a number of milliseconds")]
    TimestampMillis { text: String },
    #[error("timestamp {text:?} is not a number of seconds")]
    TimestampSeconds { text: String },
    #[error("{keyword:?} is no metric type of this format")]
    UnknownKind { keyword: String },
    #[error("unit {unit:?} does not end the metric name")]
    UnitNotInName { unit: String },
    #[error("the page goes on after its `# EOF`")]
    AfterEof,
    #[error("the page ends without `# EOF`, so part of it may be missing")]
    MissingEof,
    #[error("the line is longer than {limit} bytes")]
    LineTooLong { limit: usize },
    #[error("the sample has more than {limit} labels")]
    TooManyLabels { limit: usize },
    #[error("the page is longer than {limit} bytes")]
    PageTooLong { limit: u64 },
    #[error("the page has more than {limit} samples")]
    TooManySamples { limit: u64 },
    #[error("the page has more than {limit} bad lines")]
    TooManyBadLines { limit: u64 },
}

impl Problem {
    /// Whether the page is given up even where bad lines are skipped.
    pub const fn ends_page(&self) -> bool {
        matches!(
            self,
            Self::AfterEof
                | Self::MissingEof
                | Self::PageTooLong { .. }
                | Self::TooManySamples { .. }
                | Self::TooManyBadLines { .. }
        )
    }
}

/// What stood where something else was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Char(char),
    EndOfLine,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Char('\r') => f.write_str("a carriage return (lines must end in a line feed alone)"),
            Self::Char(char) => write!(f, "{char:?}"),
            Self::EndOfLine => f.write_str("the end of the line"),
        }
    }
}

/// A problem at a byte of a line whose number the machine knows.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) problem: Problem,
}

impl Fault {
    pub(super) fn new(at: usize, problem: Problem) -> Self {
        Self { at, problem }
    }
}

/// A piece of the page for a message: enough to recognise, bounded because a line may be long.
pub(super) fn excerpt(text: &str) -> String {
    const CHARS: usize = 64;
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

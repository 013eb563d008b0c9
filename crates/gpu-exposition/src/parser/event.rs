//! What a page says, borrowed from it.

use std::borrow::Cow;

use super::labels::LabelSpan;
use crate::escape::{self, Escapes};
use crate::{MetricKind, TimestampMillis};

/// One meaningful line of a page.
///
/// Names in metadata are as written: in OpenMetrics a counter's is without `_total`. [`crate::PageBuilder`] joins
/// metadata and samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    Help { family: Text<'a>, help: Text<'a> },
    Kind { family: Text<'a>, kind: MetricKind },
    Unit { family: Text<'a>, unit: &'a str },
    Sample(SampleRef<'a>),
}

/// A piece of a page in which escapes still stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    raw: &'a str,
    escapes: Escapes,
}

impl<'a> Text<'a> {
    pub(super) fn new(raw: &'a str, escapes: Escapes) -> Self {
        Self { raw, escapes }
    }

    /// As written on the page. Equal texts may be written differently, so compare with [`Text::is`].
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// The text itself; copied only where it has escapes.
    pub fn unescaped(self) -> Cow<'a, str> {
        escape::unescape(self.raw, self.escapes)
    }

    pub fn is(self, other: &str) -> bool {
        match self.escapes {
            Escapes::None => self.raw == other,
            Escapes::Help | Escapes::Quoted => self.unescaped() == other,
        }
    }
}

/// A sample line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRef<'a> {
    /// The full name, incl. suffixes such as `_total` and `_bucket`.
    pub name: Text<'a>,
    pub labels: LabelIter<'a>,
    pub value: f64,
    pub timestamp: Option<TimestampMillis>,
    pub exemplar: Option<ExemplarRef<'a>>,
}

impl<'a> SampleRef<'a> {
    /// The value of the label called `name`.
    pub fn label(&self, name: &str) -> Option<Text<'a>> {
        self.labels
            .clone()
            .find(|label| label.name.is(name))
            .map(|label| label.value)
    }
}

/// The exemplar of an OpenMetrics sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExemplarRef<'a> {
    pub labels: LabelIter<'a>,
    pub value: f64,
    pub timestamp: Option<TimestampMillis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelRef<'a> {
    pub name: Text<'a>,
    pub value: Text<'a>,
}

/// The labels of a line, in its order. Cheap to copy, so that a sample can be looked at twice.
#[derive(Clone, Copy, Debug)]
pub struct LabelIter<'a> {
    line: &'a str,
    spans: &'a [LabelSpan],
}

impl<'a> LabelIter<'a> {
    pub(super) fn new(line: &'a str, spans: &'a [LabelSpan]) -> Self {
        Self { line, spans }
    }
}

impl<'a> Iterator for LabelIter<'a> {
    type Item = LabelRef<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (span, rest) = self.spans.split_first()?;
        self.spans = rest;
        Some(LabelRef {
            name: span.name.text(self.line),
            value: span.value.text(self.line),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.spans.len(), Some(self.spans.len()))
    }
}

impl ExactSizeIterator for LabelIter<'_> {}

/// Equal labels in equal order, wherever they stand in their lines.
impl PartialEq for LabelIter<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

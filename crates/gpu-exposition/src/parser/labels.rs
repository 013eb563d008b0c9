//! Label sets: where names and values stand in a line.

use super::error::{Fault, Problem, excerpt};
use super::event::Text;
use super::scanner::{NameKind, Scanner};
use crate::Format;
use crate::escape::Escapes;

/// A piece of a line. Offsets instead of a slice, so that the vector of them outlives the line and is reused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: usize,
    end: usize,
    escapes: Escapes,
}

impl Span {
    pub(super) fn new(start: usize, end: usize, escapes: Escapes) -> Self {
        Self { start, end, escapes }
    }

    pub(super) fn text(self, line: &str) -> Text<'_> {
        Text::new(self.raw(line), self.escapes)
    }

    fn raw(self, line: &str) -> &str {
        &line[self.start..self.end]
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LabelSpan {
    pub(super) name: Span,
    pub(super) value: Span,
}

/// Vectors that are reused from line to line.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The labels of the sample, then those of its exemplar.
    pub(super) spans: Vec<LabelSpan>,
    /// For finding repeats among many labels.
    order: Vec<usize>,
}

/// Whether a quoted string without value may stand among the labels and name the metric.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Sample,
    Exemplar,
}

/// Up to here each label is compared with those before it whose fingerprint is the same; beyond, names are sorted, so
/// that a line of thousands of labels does not take the square of their number.
const FEW_LABELS: usize = 32;

/// Reads the labels after an opening brace and through the closing one. Returns the metric name if one is among them.
pub(super) fn label_set(
    scanner: &mut Scanner<'_>,
    owner: Owner,
    limit: usize,
    scratch: &mut Scratch,
) -> Result<Option<Span>, Fault> {
    let first = scratch.spans.len();
    let mut metric_name = None;
    let mut fingerprints = 0_u64;
    loop {
        scanner.skip_blanks();
        if scanner.take(b'}').is_some() {
            break;
        }
        let start = scanner.at();
        let Some(name) = label_name(scanner, owner, &mut metric_name)? else {
            continue;
        };
        if scratch.spans.len() - first == limit {
            return Err(Fault::new(start, Problem::TooManyLabels { limit }));
        }
        let bit = fingerprint(name.raw(scanner.line()));
        if fingerprints & bit != 0 && scratch.spans.len() - first < FEW_LABELS {
            refuse_repeat(scanner.line(), &scratch.spans[first..], name)?;
        }
        fingerprints |= bit;
        scanner.skip_blanks();
        scanner
            .take(b'=')
            .ok_or_else(|| scanner.expected("`=` after the label name"))?;
        scanner.skip_blanks();
        let value = scanner
            .quoted()?
            .ok_or_else(|| scanner.expected("a quoted label value"))?;
        scratch.spans.push(LabelSpan { name, value });
        after_item(scanner)?;
    }
    if scratch.spans.len() - first > FEW_LABELS {
        refuse_repeats_among_many(scanner.line(), first, scratch)?;
    }
    Ok(metric_name)
}

/// A label's name; or `None` after it took a quoted metric name instead.
fn label_name(
    scanner: &mut Scanner<'_>,
    owner: Owner,
    metric_name: &mut Option<Span>,
) -> Result<Option<Span>, Fault> {
    if let Some(name) = scanner.bare_name(NameKind::Label) {
        return Ok(Some(name));
    }
    let before = *scanner;
    let name = scanner
        .quoted()?
        .ok_or_else(|| scanner.expected("a label name or `}`"))?;
    scanner.skip_blanks();
    let is_metric_name = owner == Owner::Sample && matches!(scanner.peek(), Some(b',' | b'}'));
    if name.start == name.end {
        return Err(before.expected("a name that is not empty"));
    }
    if !is_metric_name {
        return Ok(Some(name));
    }
    if metric_name.replace(name).is_some() {
        return Err(Fault::new(before.at(), Problem::MetricNameTwice));
    }
    after_item(scanner)?;
    Ok(None)
}

/// A comma, or nothing before the closing brace. A text page may leave the comma out, which Prometheus reads too.
fn after_item(scanner: &mut Scanner<'_>) -> Result<(), Fault> {
    scanner.skip_blanks();
    let follows = scanner.take(b',').is_some() || scanner.peek() == Some(b'}');
    if follows || (scanner.format() == Format::Text && scanner.peek().is_some()) {
        return Ok(());
    }
    Err(scanner.expected("`,` or `}` after the label"))
}

/// One bit of 64 that equal names share: a miss proves that a name is new.
fn fingerprint(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let ends = bytes.first().map_or(0, |&byte| u32::from(byte)) * 7
        + bytes.last().map_or(0, |&byte| u32::from(byte));
    let length = bytes.len() as u64;
    1 << ((u64::from(ends) + length * 13) % 64)
}

fn refuse_repeat(line: &str, earlier: &[LabelSpan], name: Span) -> Result<(), Fault> {
    let raw = name.raw(line);
    if earlier.iter().any(|label| label.name.raw(line) == raw) {
        return Err(Fault::new(
            name.start,
            Problem::DuplicateLabel { name: excerpt(raw) },
        ));
    }
    Ok(())
}

fn refuse_repeats_among_many(line: &str, first: usize, scratch: &mut Scratch) -> Result<(), Fault> {
    let Scratch { spans, order } = scratch;
    order.clear();
    order.extend(first..spans.len());
    // The position breaks ties, so that the later of two equal names is the one reported.
    order.sort_unstable_by_key(|&at| (spans[at].name.raw(line), at));
    for pair in order.windows(2) {
        let (earlier, later) = (spans[pair[0]].name, spans[pair[1]].name);
        if earlier.raw(line) == later.raw(line) {
            let name = excerpt(later.raw(line));
            return Err(Fault::new(later.start, Problem::DuplicateLabel { name }));
        }
    }
    Ok(())
}

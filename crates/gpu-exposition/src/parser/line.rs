//! What one line says.

use super::ParserOptions;
use super::error::{Fault, Problem, excerpt};
use super::event::{Event, ExemplarRef, LabelIter, SampleRef, Text};
use super::labels::{LabelSpan, Owner, Scratch, Span, label_set};
use super::number;
use super::scanner::{NameKind, Scanner};
use crate::escape::Escapes;
use crate::{Format, MetricKind, TimestampMillis};

/// A line understood.
#[derive(Clone, Copy)]
pub(super) enum Said<'l> {
    Nothing,
    EndOfPage,
    Something(Worded<'l>),
}

/// A line worth an event. It borrows from the line alone; the label spans are in the scratch that came along.
#[derive(Clone, Copy)]
pub(super) enum Worded<'l> {
    Help { family: Text<'l>, help: Text<'l> },
    Kind { family: Text<'l>, kind: MetricKind },
    Unit { family: Text<'l>, unit: &'l str },
    Sample(SampleLine<'l>),
}

#[derive(Clone, Copy)]
pub(super) struct SampleLine<'l> {
    line: &'l str,
    name: Span,
    value: f64,
    timestamp: Option<TimestampMillis>,
    /// How many spans are the sample's own.
    labels: usize,
    exemplar: Option<(f64, Option<TimestampMillis>)>,
}

impl<'l> Worded<'l> {
    pub(super) fn event<'s>(self, spans: &'s [LabelSpan]) -> Event<'s>
    where
        'l: 's,
    {
        match self {
            Self::Help { family, help } => Event::Help { family, help },
            Self::Kind { family, kind } => Event::Kind { family, kind },
            Self::Unit { family, unit } => Event::Unit { family, unit },
            Self::Sample(sample) => sample.event(spans),
        }
    }
}

impl<'l> SampleLine<'l> {
    fn event<'s>(self, spans: &'s [LabelSpan]) -> Event<'s>
    where
        'l: 's,
    {
        let (own, exemplars) = spans.split_at(self.labels);
        Event::Sample(SampleRef {
            name: self.name.text(self.line),
            labels: LabelIter::new(self.line, own),
            value: self.value,
            timestamp: self.timestamp,
            exemplar: self.exemplar.map(|(value, timestamp)| ExemplarRef {
                labels: LabelIter::new(self.line, exemplars),
                value,
                timestamp,
            }),
        })
    }
}

pub(super) fn read<'l>(
    bytes: &'l [u8],
    options: &ParserOptions,
    scratch: &mut Scratch,
) -> Result<Said<'l>, Fault> {
    let format = options.format;
    if format == Format::Text {
        // Prometheus never looks inside a comment, so neither its encoding nor its shape is our business.
        let start = bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t'));
        let Some(start) = start else {
            return Ok(Said::Nothing);
        };
        if bytes[start] == b'#' && !announces_metadata(&bytes[start + 1..]) {
            return Ok(Said::Nothing);
        }
    }
    let line = str::from_utf8(bytes).map_err(|error| Fault::new(error.valid_up_to(), Problem::NotUtf8))?;
    let mut scanner = Scanner::new(line, format);
    scanner.skip_blanks();
    if scanner.take(b'#').is_some() {
        if format == Format::OpenMetrics && scanner.rest() == " EOF" {
            return Ok(Said::EndOfPage);
        }
        return metadata(scanner).map(Said::Something);
    }
    scratch.spans.clear();
    sample(scanner, options.limits.max_labels_per_sample, scratch)
        .map(Worded::Sample)
        .map(Said::Something)
}

/// Whether a text page's comment is one of the two that mean something: blanks, a keyword, a blank.
fn announces_metadata(after_hash: &[u8]) -> bool {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = after_hash.iter().position(|byte| !blank(byte)).unwrap_or(0);
    let keyword = after_hash.get(start..start + 4);
    start > 0 && matches!(keyword, Some(b"HELP" | b"TYPE")) && after_hash.get(start + 4).is_some_and(blank)
}

fn metadata(mut scanner: Scanner<'_>) -> Result<Worded<'_>, Fault> {
    let format = scanner.format();
    const KEYWORD: &str = "`# HELP`, `# TYPE`, `# UNIT` or `# EOF`";
    scanner.blank(KEYWORD)?;
    let before = scanner;
    let Ok((_, keyword @ ("HELP" | "TYPE" | "UNIT"))) = scanner.token(KEYWORD) else {
        return Err(before.expected(KEYWORD));
    };
    scanner.blank("a metric name")?;
    let family = match scanner.bare_name(NameKind::Metric) {
        Some(name) => name,
        None => scanner
            .quoted()?
            .ok_or_else(|| scanner.expected("a metric name"))?,
    };
    let family = family.text(scanner.line());
    let at = scanner.at();
    let rest = match (scanner.rest().as_bytes(), format) {
        ([b' ', ..], _) | ([b'\t', ..], Format::Text) => &scanner.rest()[1..],
        ([], Format::Text) if keyword == "HELP" => "",
        _ => return Err(scanner.expected("a blank after the metric name")),
    };
    let fault = |problem| Fault::new(at + 1, problem);
    match (keyword, format) {
        ("HELP", Format::Text) => Ok(Worded::Help {
            family,
            help: Text::new(rest, Escapes::Help),
        }),
        ("HELP", Format::OpenMetrics) => Ok(Worded::Help {
            family,
            help: Text::new(rest, Escapes::Quoted),
        }),
        ("TYPE", Format::Text) => {
            let keyword = rest.trim_matches([' ', '\t']);
            kind(keyword, format)
                .map(|kind| Worded::Kind { family, kind })
                .map_err(fault)
        }
        ("TYPE", Format::OpenMetrics) => kind(rest, format)
            .map(|kind| Worded::Kind { family, kind })
            .map_err(fault),
        _ => {
            let stem = family.raw().strip_suffix(rest);
            if rest.is_empty() || stem.is_some_and(|stem| stem.len() > 1 && stem.ends_with('_')) {
                Ok(Worded::Unit { family, unit: rest })
            } else {
                Err(fault(Problem::UnitNotInName { unit: excerpt(rest) }))
            }
        }
    }
}

fn kind(keyword: &str, format: Format) -> Result<MetricKind, Problem> {
    Ok(match (keyword, format) {
        ("counter", _) => MetricKind::Counter,
        ("gauge", _) => MetricKind::Gauge,
        ("histogram", _) => MetricKind::Histogram,
        ("summary", _) => MetricKind::Summary,
        ("untyped", Format::Text) | ("unknown", Format::OpenMetrics) => MetricKind::Unknown,
        ("gaugehistogram", Format::OpenMetrics) => MetricKind::GaugeHistogram,
        ("info", Format::OpenMetrics) => MetricKind::Info,
        ("stateset", Format::OpenMetrics) => MetricKind::StateSet,
        _ => {
            return Err(Problem::UnknownKind {
                keyword: excerpt(keyword),
            });
        }
    })
}

fn sample<'l>(
    mut scanner: Scanner<'l>,
    label_limit: usize,
    scratch: &mut Scratch,
) -> Result<SampleLine<'l>, Fault> {
    let start = scanner.at();
    let mut name = scanner.bare_name(NameKind::Metric);
    let after_name = scanner;
    scanner.skip_blanks();
    if scanner.take(b'{').is_some() {
        let quoted = label_set(&mut scanner, Owner::Sample, label_limit, scratch)?;
        name = match (name, quoted) {
            (Some(_), Some(_)) => return Err(Fault::new(start, Problem::MetricNameTwice)),
            (bare, quoted) => bare.or(quoted),
        };
        if name.is_none() {
            return Err(Fault::new(start, Problem::NoMetricName));
        }
    } else {
        // A bare name and its value must not run together; after a brace they may.
        scanner = after_name;
    }
    let name = name.ok_or_else(|| scanner.expected("a metric name"))?;
    let labels = scratch.spans.len();
    match scanner.format() {
        Format::Text if scanner.at() != after_name.at() => scanner.skip_blanks(),
        Format::Text => scanner.blank("a blank or `{` after the metric name")?,
        Format::OpenMetrics => scanner.blank("one space before the value")?,
    }
    let value = value(&mut scanner)?;
    let (timestamp, exemplar) = match scanner.format() {
        Format::Text => (text_timestamp(&mut scanner)?, None),
        Format::OpenMetrics => open_metrics_tail(&mut scanner, label_limit, scratch)?,
    };
    Ok(SampleLine {
        line: scanner.line(),
        name,
        value,
        timestamp,
        labels,
        exemplar,
    })
}

fn value(scanner: &mut Scanner<'_>) -> Result<f64, Fault> {
    let (at, token) = scanner.token("a value")?;
    number::value(token).map_err(|problem| Fault::new(at, problem))
}

fn text_timestamp(scanner: &mut Scanner<'_>) -> Result<Option<TimestampMillis>, Fault> {
    scanner.skip_blanks();
    if scanner.peek().is_none() {
        return Ok(None);
    }
    let (at, token) = scanner.token("a timestamp")?;
    let timestamp = number::millis(token).map_err(|problem| Fault::new(at, problem))?;
    scanner.skip_blanks();
    scanner.end("the end of the line after the timestamp")?;
    Ok(Some(timestamp))
}

type Tail = (Option<TimestampMillis>, Option<(f64, Option<TimestampMillis>)>);

fn open_metrics_tail(
    scanner: &mut Scanner<'_>,
    label_limit: usize,
    scratch: &mut Scratch,
) -> Result<Tail, Fault> {
    const TAIL: &str = "one space and a timestamp or exemplar";
    let mut timestamp = None;
    if scanner.peek().is_none() {
        return Ok((None, None));
    }
    scanner.blank(TAIL)?;
    if scanner.peek() != Some(b'#') {
        timestamp = Some(seconds(scanner, TAIL)?);
        if scanner.peek().is_none() {
            return Ok((timestamp, None));
        }
        scanner.blank("one space and an exemplar")?;
    }
    for byte in *b"# {" {
        scanner
            .take(byte)
            .ok_or_else(|| scanner.expected("an exemplar, `# {`"))?;
    }
    label_set(scanner, Owner::Exemplar, label_limit, scratch)?;
    scanner.blank("one space before the exemplar's value")?;
    let value = value(scanner)?;
    let mut at = None;
    if scanner.peek().is_some() {
        const STAMP: &str = "one space and the exemplar's timestamp";
        scanner.blank(STAMP)?;
        at = Some(seconds(scanner, STAMP)?);
        scanner.end("the end of the line after the exemplar")?;
    }
    Ok((timestamp, Some((value, at))))
}

fn seconds(scanner: &mut Scanner<'_>, expected: &'static str) -> Result<TimestampMillis, Fault> {
    let (at, token) = scanner.token(expected)?;
    number::seconds(token).map_err(|problem| Fault::new(at, problem))
}

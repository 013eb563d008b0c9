//! One page of an application: read with our own parser, judged family by family, and kept as the bytes of its lines with a gap
//! where the labels of its owner go. A family is taken whole or not at all.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use gpu_exposition::{
    Event, Family, FamilyMeta, Format, LabelBlock, Limits, MetricKind, PageBuilder, PageWriter, ParseError,
    Parser, ParserOptions, Problem, Sample, SampleParts, Suffix, WriteError, is_metric_name,
};

use super::{Rules, names};

/// The largest page that is read. Servers of models have pages of 50 to 100 KB.
pub(super) const MOST_BYTES: usize = 512 * 1024;
/// The most series of a page, after the allow-list. The largest seen, a model server with all its histograms, has about 1,000.
const MOST_SERIES: usize = 2_000;
/// The most labels of a series, and the longest of their names and values. What needs more describes no workload.
const MOST_LABELS: usize = 32;
const LONGEST_LABEL_NAME: usize = 128;
const LONGEST_LABEL_VALUE: usize = 512;
/// Where a longer help is cut.
const LONGEST_HELP: usize = 512;
/// What Prometheus puts before a label whose name it needs for itself.
const EXPORTED: &str = "exported_";

/// Why a page is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it is larger than {MOST_BYTES} bytes; name fewer series")]
    TooLarge,
    #[error(
        "it has more than {MOST_SERIES} series; choose among them by --application-families, or write fewer"
    )]
    TooManySeries,
    #[error("its last line is not complete: write to another file and rename it")]
    Torn,
    #[error("{0}")]
    Malformed(ParseError),
}

impl Refusal {
    /// Its class in metrics.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::TooManySeries => "too_many_series",
            Self::Torn => "torn",
            Self::Malformed(_) => "malformed",
        }
    }
}

/// Why a family of a page that was taken is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The name is one of the exporter's, or begins like them.
    NameReserved,
    /// The name, or that of a label, cannot be written in both formats.
    NameInvalid,
    /// A label is too long, or a series has too many.
    LabelLimit,
    /// A series is there twice, and nobody knows which is right.
    Duplicate,
    /// A sample has a time of its own; a page speaks of now.
    Timestamp,
    /// Another family has the same name with another type, or lines of the same name.
    Conflict,
    /// The pod has too many series.
    PodLimit,
    /// All pods together have too many.
    TotalLimit,
}

impl Reason {
    /// The value of the `reason` label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NameReserved => "name_reserved",
            Self::NameInvalid => "name_invalid",
            Self::LabelLimit => "label_limit",
            Self::Duplicate => "duplicate",
            Self::Timestamp => "timestamp",
            Self::Conflict => "conflict",
            Self::PodLimit => "pod_limit",
            Self::TotalLimit => "total_limit",
        }
    }
}

/// A page that was taken.
#[derive(Debug)]
pub struct Content {
    pub families: Vec<ContentFamily>,
    /// Series that were left out.
    pub dropped: BTreeMap<Reason, usize>,
    lines: Vec<LineSpan>,
    text: String,
    rules: Arc<Rules>,
}

/// One family of a page.
#[derive(Debug)]
pub struct ContentFamily {
    pub name: String,
    pub help: String,
    pub kind: MetricKind,
    first: usize,
    pub series: usize,
}

/// Where a line stands in the text: up to the gap, and after it.
#[derive(Debug, Clone, Copy)]
struct LineSpan {
    start: u32,
    gap: u32,
    end: u32,
    key: u64,
}

/// A line in two pieces, between which the labels of the owner and a closing brace belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// `name{` or `name{own="label",`
    pub before: &'a str,
    /// ` 1.5`, with the line feed.
    pub after: &'a str,
    /// The same for the same series, whatever the order of its labels.
    pub key: u64,
}

impl ContentFamily {
    pub fn meta(&self) -> FamilyMeta<'_> {
        FamilyMeta::new(&self.name, &self.help, self.kind)
    }

    /// All names that the family takes on a page of either format: that of its metadata and those of its lines.
    pub fn claims(&self) -> impl Iterator<Item = String> + '_ {
        claims(&self.name, self.kind)
    }
}

impl Content {
    /// Reads a page.
    pub fn read(page: &[u8], format: Format, rules: &Arc<Rules>) -> Result<Self, Refusal> {
        if page.len() > MOST_BYTES {
            return Err(Refusal::TooLarge);
        }
        if page.last().is_some_and(|last| *last != b'\n') {
            return Err(Refusal::Torn);
        }
        let page = parse(page, format, rules)?;
        let mut content = Self {
            families: Vec::new(),
            dropped: BTreeMap::new(),
            lines: Vec::new(),
            text: String::new(),
            rules: Arc::clone(rules),
        };
        let mut scratch = String::new();
        for family in page.families {
            let series = family.samples.iter().filter(|sample| is_kept(sample)).count();
            if series == 0 || !rules.families.takes(&family.name) {
                continue;
            }
            if let Err(reason) = content.take(&family, series, &mut scratch) {
                *content.dropped.entry(reason).or_default() += series;
            }
        }
        content.text.shrink_to_fit();
        content.lines.shrink_to_fit();
        Ok(content)
    }

    /// The lines of a family, in the order of the page.
    pub fn lines(&self, family: &ContentFamily) -> impl Iterator<Item = Line<'_>> {
        self.lines[family.first..family.first + family.series]
            .iter()
            .map(|span| Line {
                before: &self.text[span.start as usize..span.gap as usize],
                after: &self.text[span.gap as usize..span.end as usize],
                key: span.key,
            })
    }

    /// The size of a family's lines.
    pub fn bytes(&self, family: &ContentFamily) -> usize {
        let lines = &self.lines[family.first..family.first + family.series];
        lines.iter().map(|line| (line.end - line.start) as usize).sum()
    }

    /// By which rules it was read.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    fn take(&mut self, family: &Family, series: usize, scratch: &mut String) -> Result<(), Reason> {
        if !is_metric_name(&family.name) {
            return Err(Reason::NameInvalid);
        }
        if claims(&family.name, family.kind).any(|name| names::is_ours(&name)) {
            return Err(Reason::NameReserved);
        }
        let mut keys: Vec<u64> = Vec::with_capacity(series);
        scratch.clear();
        write_family(family, &self.rules, scratch, &mut keys)?;
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Reason::Duplicate);
        }
        let first = self.lines.len();
        let lines = scratch.lines().filter(|line| !line.starts_with('#'));
        for (line, key) in lines.zip(keys) {
            self.push(line, key);
        }
        self.families.push(ContentFamily {
            name: family.name.clone(),
            help: cut(&family.help),
            kind: family.kind,
            first,
            series,
        });
        Ok(())
    }

    /// Keeps a written line with a gap in place of its closing brace.
    fn push(&mut self, line: &str, key: u64) {
        let position = |at: usize| u32::try_from(at).expect("a page is far below 4 GiB");
        let start = position(self.text.len());
        // A value has no brace, so that the last one closes the labels, whatever is in them.
        match line.rsplit_once('}') {
            Some((labels, _)) => {
                self.text.push_str(labels);
                self.text.push(',');
            }
            None => {
                self.text.push_str(line.split(' ').next().unwrap_or_default());
                self.text.push('{');
            }
        }
        let gap = position(self.text.len());
        let value = line.rsplit_once(' ').map_or("", |(_, value)| value);
        self.text.push(' ');
        self.text.push_str(value);
        self.text.push('\n');
        self.lines.push(LineSpan {
            start,
            gap,
            end: position(self.text.len()),
            key,
        });
    }
}

fn parse(page: &[u8], format: Format, rules: &Rules) -> Result<gpu_exposition::Page, Refusal> {
    let options = ParserOptions {
        limits: Limits {
            max_bytes: MOST_BYTES as u64,
            max_labels_per_sample: MOST_LABELS * 2,
            ..Limits::DEFAULT
        },
        ..ParserOptions::new(format)
    };
    let mut parser = Parser::new(page, options);
    let mut builder = PageBuilder::new(format);
    let mut samples = 0;
    while let Some(event) = parser.next_event() {
        let event = event.map_err(refusal)?;
        let name = match &event {
            Event::Help { family, .. } | Event::Kind { family, .. } | Event::Unit { family, .. } => family,
            Event::Sample(sample) => &sample.name,
        };
        if !rules.families.may_take(&name.unescaped()) {
            continue;
        }
        if let Event::Sample(_) = event {
            samples += 1;
            if samples > MOST_SERIES {
                return Err(Refusal::TooManySeries);
            }
        }
        builder.push(&event);
    }
    Ok(builder.finish())
}

fn refusal(error: ParseError) -> Refusal {
    match error.problem {
        Problem::MissingEof => Refusal::Torn,
        Problem::PageTooLong { .. } => Refusal::TooLarge,
        Problem::TooManySamples { .. } => Refusal::TooManySeries,
        _ => Refusal::Malformed(error),
    }
}

/// When a series began is only told in OpenMetrics, and the same page is shown in both formats.
fn is_kept(sample: &Sample) -> bool {
    sample.suffix != Suffix::Created
}

/// Writes the lines of a family, and the key of each.
fn write_family(
    family: &Family,
    rules: &Rules,
    page: &mut String,
    keys: &mut Vec<u64>,
) -> Result<(), Reason> {
    let invalid = |_: WriteError| Reason::NameInvalid;
    let meta = FamilyMeta::new(&family.name, "", family.kind);
    let mut writer = PageWriter::new(page, Format::Text);
    let mut lines = writer.family(&meta).map_err(invalid)?;
    for sample in family.samples.iter().filter(|sample| is_kept(sample)) {
        if sample.timestamp.is_some() {
            return Err(Reason::Timestamp);
        }
        let labels = renamed(&sample.labels, rules)?;
        let block = LabelBlock::new(labels.iter().map(|(name, value)| (name, value))).map_err(invalid)?;
        let parts = SampleParts::new(sample.suffix, (&block).into(), sample.value.into());
        lines.write(&parts).map_err(invalid)?;
        keys.push(key(sample.suffix, &labels));
    }
    Ok(())
}

/// The labels of a sample under the names they get here: as in Prometheus, one whose name is taken moves aside.
fn renamed(labels: &[(String, String)], rules: &Rules) -> Result<Vec<(String, String)>, Reason> {
    if labels.len() > MOST_LABELS {
        return Err(Reason::LabelLimit);
    }
    let is_own = |name: &str| labels.iter().any(|(own, _)| own == name);
    let mut named = Vec::with_capacity(labels.len());
    for (name, value) in labels {
        if name.len() > LONGEST_LABEL_NAME || value.len() > LONGEST_LABEL_VALUE {
            return Err(Reason::LabelLimit);
        }
        // Prometheus keeps names that begin so for itself.
        if name.starts_with("__") {
            return Err(Reason::NameInvalid);
        }
        let mut free = name.clone();
        while rules.is_reserved(&free) || (free != *name && is_own(&free)) {
            free.insert_str(0, EXPORTED);
        }
        named.push((free, value.clone()));
    }
    Ok(named)
}

fn key(suffix: Suffix, labels: &[(String, String)]) -> u64 {
    let mut sorted: Vec<&(String, String)> = labels.iter().collect();
    sorted.sort();
    let mut hasher = DefaultHasher::new();
    (suffix, sorted).hash(&mut hasher);
    hasher.finish()
}

fn claims(name: &str, kind: MetricKind) -> impl Iterator<Item = String> + '_ {
    use MetricKind::{Counter, GaugeHistogram, Histogram, Info, Summary};
    let suffixes: &[&str] = match kind {
        Histogram => &["_bucket", "_sum", "_count"],
        GaugeHistogram => &["_bucket", "_gsum", "_gcount"],
        Summary => &["_sum", "_count"],
        _ => &[],
    };
    // What OpenMetrics calls the family.
    let declared = match kind {
        Counter => name.strip_suffix("_total"),
        Info => name.strip_suffix("_info"),
        _ => None,
    };
    let lines = suffixes.iter().map(move |suffix| format!("{name}{suffix}"));
    std::iter::once(name.to_owned())
        .chain(declared.map(str::to_owned))
        .chain(lines)
}

fn cut(help: &str) -> String {
    let mut end = help.len().min(LONGEST_HELP);
    while !help.is_char_boundary(end) {
        end -= 1;
    }
    help[..end].to_owned()
}

#[cfg(test)]
mod tests;

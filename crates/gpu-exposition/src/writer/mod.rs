//! The page writer: appends to a buffer that the caller keeps, and allocates nothing of its own.

mod labels;

pub use labels::{LabelBlock, Labels};

use crate::number::{push_label_float, push_timestamp, push_value};
use crate::{
    FamilyMeta, Format, MetricKind, Suffix, TimestampMillis, Value, escape, is_label_name, is_metric_name,
};

/// Why a family or sample was not written. The page is then as it was before the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("failed to write family `{name}`: a metric name must match [a-zA-Z_:][a-zA-Z0-9_:]*")]
    MetricName { name: String },
    #[error("failed to write label `{name}`: a label name must match [a-zA-Z_][a-zA-Z0-9_]*")]
    LabelName { name: String },
    #[error("failed to write label `{name}`: it is given twice on one sample")]
    DuplicateLabel { name: String },
    #[error("failed to write family `{family}`: its name must end in `_{unit}`, the unit it declares")]
    Unit { family: String, unit: String },
    #[error("failed to write family `{family}`: another family of the page has that name in its metadata")]
    DuplicateFamily { family: String },
    #[error("failed to write a sample of `{family}`: a {kind:?} has no {suffix:?} sample")]
    Suffix {
        family: String,
        kind: MetricKind,
        suffix: Suffix,
    },
    #[error("failed to write an exemplar of `{family}`: its labels exceed {limit} characters")]
    ExemplarTooLong { family: String, limit: usize },
    #[error("failed to write an exemplar of `{family}`: a {kind:?} has none on its {suffix:?} samples")]
    ExemplarPlace {
        family: String,
        kind: MetricKind,
        suffix: Suffix,
    },
}

/// Writes one page into `page`, family by family, in the order of the calls.
///
/// Clear and reuse the same `String`: once it has grown to the size of a page, writing allocates nothing.
/// That a family name is used once per page is the caller's duty ([`crate::Page`] checks it), because remembering the
/// names would cost every scrape an allocation.
#[derive(Debug)]
pub struct PageWriter<'p> {
    page: &'p mut String,
    format: Format,
}

impl<'p> PageWriter<'p> {
    pub fn new(page: &'p mut String, format: Format) -> Self {
        Self { page, format }
    }

    /// Starts a family. Its metadata lines come with its first sample, so a family without a reading leaves no trace.
    pub fn family<'w>(&'w mut self, meta: &'w FamilyMeta<'w>) -> Result<FamilyWriter<'w, 'p>, WriteError> {
        if !is_metric_name(meta.name) {
            return Err(WriteError::MetricName {
                name: meta.name.to_owned(),
            });
        }
        let kind = meta.kind.as_carried(meta.name, self.format);
        let declared = match self.format {
            Format::Text => meta.name,
            Format::OpenMetrics => kind.declared_name(meta.name),
        };
        if let Some(unit) = meta.unit {
            // Checked against the name without `_total` in both formats, so that a catalogue fails in either.
            let stem = meta.kind.declared_name(meta.name).strip_suffix(unit);
            if unit.is_empty() || !stem.is_some_and(|stem| stem.len() > 1 && stem.ends_with('_')) {
                return Err(WriteError::Unit {
                    family: meta.name.to_owned(),
                    unit: unit.to_owned(),
                });
            }
        }
        Ok(FamilyWriter {
            page: self,
            meta,
            kind,
            declared,
            header: Header::Due,
        })
    }

    /// Ends the page: OpenMetrics closes with `# EOF`, without which a reader must take the page for a torn one.
    pub fn finish(self) {
        if self.format == Format::OpenMetrics {
            self.page.push_str("# EOF\n");
        }
    }
}

/// Everything one sample line can say; [`FamilyWriter::sample`] and its kin cover the usual ones.
#[derive(Clone, Copy, Debug)]
pub struct SampleParts<'a> {
    pub suffix: Suffix,
    pub labels: Labels<'a>,
    pub value: Value,
    pub timestamp: Option<TimestampMillis>,
    /// OpenMetrics only; a text page leaves it out.
    pub exemplar: Option<Exemplar<'a>>,
}

/// One observation, shown beside the sample that counted it.
#[derive(Clone, Copy, Debug)]
pub struct Exemplar<'a> {
    pub labels: Labels<'a>,
    pub value: Value,
    pub timestamp: Option<TimestampMillis>,
}

/// OpenMetrics bounds the names and values of an exemplar's labels together.
const EXEMPLAR_CHARS: usize = 128;

/// Writes the samples of one family.
#[derive(Debug)]
pub struct FamilyWriter<'w, 'p> {
    page: &'w mut PageWriter<'p>,
    meta: &'w FamilyMeta<'w>,
    /// The kind on this page, see [`MetricKind::as_carried`].
    kind: MetricKind,
    /// The name in the metadata lines.
    declared: &'w str,
    header: Header,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    Due,
    Written,
}

impl<'w> FamilyWriter<'w, '_> {
    /// Writes the metadata lines now, even if no sample follows.
    pub fn header(&mut self) -> &mut Self {
        if self.header == Header::Written {
            return self;
        }
        self.header = Header::Written;
        let (format, unit) = (self.page.format, self.unit());
        let page = &mut *self.page.page;
        // An empty help says as much as none.
        if !self.meta.help.is_empty() {
            for part in ["# HELP ", self.declared, " "] {
                page.push_str(part);
            }
            escape::push_help(page, self.meta.help, format);
            page.push('\n');
        }
        for part in ["# TYPE ", self.declared, " ", self.kind.keyword(format), "\n"] {
            page.push_str(part);
        }
        if let (Format::OpenMetrics, Some(unit)) = (format, unit) {
            for part in ["# UNIT ", self.declared, " ", unit, "\n"] {
                page.push_str(part);
            }
        }
        self
    }

    /// The plain sample of a counter, gauge, info, stateset or unknown family.
    pub fn sample<'a>(
        &mut self,
        labels: impl Into<Labels<'a>>,
        value: impl Into<Value>,
    ) -> Result<&mut Self, WriteError> {
        self.line(
            &SampleParts::new(Suffix::Plain, labels.into(), value.into()),
            None,
        )
    }

    /// A histogram's bucket with its cumulative count; the `le` label is written here.
    pub fn bucket<'a>(
        &mut self,
        labels: impl Into<Labels<'a>>,
        upper_bound: f64,
        count: u64,
    ) -> Result<&mut Self, WriteError> {
        let parts = SampleParts::new(Suffix::Bucket, labels.into(), count.into());
        self.line(&parts, Some(("le", upper_bound)))
    }

    /// A summary's quantile; the `quantile` label is written here.
    pub fn quantile<'a>(
        &mut self,
        labels: impl Into<Labels<'a>>,
        quantile: f64,
        value: impl Into<Value>,
    ) -> Result<&mut Self, WriteError> {
        let parts = SampleParts::new(Suffix::Plain, labels.into(), value.into());
        self.line(&parts, Some(("quantile", quantile)))
    }

    /// The sum of a histogram or summary.
    pub fn sum<'a>(
        &mut self,
        labels: impl Into<Labels<'a>>,
        value: impl Into<Value>,
    ) -> Result<&mut Self, WriteError> {
        self.line(&SampleParts::new(Suffix::Sum, labels.into(), value.into()), None)
    }

    /// The number of observations of a histogram or summary.
    pub fn count<'a>(&mut self, labels: impl Into<Labels<'a>>, value: u64) -> Result<&mut Self, WriteError> {
        self.line(
            &SampleParts::new(Suffix::Count, labels.into(), value.into()),
            None,
        )
    }

    /// A sample with a timestamp, an exemplar or a suffix of the caller's choice.
    pub fn write(&mut self, parts: &SampleParts<'_>) -> Result<&mut Self, WriteError> {
        self.line(parts, None)
    }

    fn line(&mut self, parts: &SampleParts<'_>, bound: Option<(&str, f64)>) -> Result<&mut Self, WriteError> {
        self.check(parts, bound.map(|(name, _)| name))?;
        self.header();
        let format = self.page.format;
        if parts.suffix == Suffix::Created && (format == Format::Text || !self.kind.allows(Suffix::Created)) {
            return Ok(self);
        }
        let page = &mut *self.page.page;
        // `foo_total` begins at `foo_created`, so that suffix joins the declared name.
        let stem = if parts.suffix == Suffix::Created {
            self.declared
        } else {
            self.meta.name
        };
        page.push_str(stem);
        page.push_str(parts.suffix.text(self.kind));
        push_labels(page, parts.labels, bound, format);
        page.push(' ');
        push_value(page, parts.value);
        if let Some(timestamp) = parts.timestamp {
            page.push(' ');
            push_timestamp(page, timestamp, format);
        }
        if let (Format::OpenMetrics, Some(exemplar)) = (format, &parts.exemplar)
            && self.kind.allows_exemplar(parts.suffix)
        {
            push_exemplar(page, exemplar);
        }
        page.push('\n');
        Ok(self)
    }

    /// All checks come before the first byte, so that an error leaves no torn line.
    fn check(&self, parts: &SampleParts<'_>, bound: Option<&str>) -> Result<(), WriteError> {
        let (kind, suffix) = (self.meta.kind, parts.suffix);
        if !kind.allows(suffix) {
            return Err(WriteError::Suffix {
                family: self.meta.name.to_owned(),
                kind,
                suffix,
            });
        }
        parts.labels.check(bound)?;
        if let Some(exemplar) = &parts.exemplar {
            if !kind.allows_exemplar(suffix) {
                return Err(WriteError::ExemplarPlace {
                    family: self.meta.name.to_owned(),
                    kind,
                    suffix,
                });
            }
            exemplar.labels.check(None)?;
            if exemplar.labels.chars() > EXEMPLAR_CHARS {
                let family = self.meta.name.to_owned();
                return Err(WriteError::ExemplarTooLong {
                    family,
                    limit: EXEMPLAR_CHARS,
                });
            }
        }
        Ok(())
    }

    /// OpenMetrics allows no unit on an info or a stateset.
    fn unit(&self) -> Option<&'w str> {
        self.meta
            .unit
            .filter(|_| !matches!(self.kind, MetricKind::Info | MetricKind::StateSet))
    }
}

impl<'a> SampleParts<'a> {
    pub fn new(suffix: Suffix, labels: Labels<'a>, value: Value) -> Self {
        Self {
            suffix,
            labels,
            value,
            timestamp: None,
            exemplar: None,
        }
    }
}

fn push_labels(page: &mut String, labels: Labels<'_>, bound: Option<(&str, f64)>, format: Format) {
    if labels.is_empty() && bound.is_none() {
        return;
    }
    page.push('{');
    labels.push_to(page);
    if let Some((name, number)) = bound {
        if !labels.is_empty() {
            page.push(',');
        }
        page.push_str(name);
        page.push_str("=\"");
        push_label_float(page, number, format);
        page.push('"');
    }
    page.push('}');
}

fn push_exemplar(page: &mut String, exemplar: &Exemplar<'_>) {
    // The braces stay even around nothing: they are what tells an exemplar from a comment.
    page.push_str(" # {");
    exemplar.labels.push_to(page);
    page.push_str("} ");
    push_value(page, exemplar.value);
    if let Some(timestamp) = exemplar.timestamp {
        page.push(' ');
        push_timestamp(page, timestamp, Format::OpenMetrics);
    }
}

fn check_label_name(name: &str) -> Result<(), WriteError> {
    if is_label_name(name) {
        Ok(())
    } else {
        Err(WriteError::LabelName {
            name: name.to_owned(),
        })
    }
}

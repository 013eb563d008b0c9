//! A page as a value: families with their samples, to build by hand, to write, and to read back.

use std::collections::BTreeSet;

use crate::{
    Exemplar, FamilyMeta, Format, LabelBlock, MetricKind, PageBuilder, PageWriter, ParseError, Parser,
    ParserOptions, SampleParts, Suffix, TimestampMillis, WriteError,
};

/// A page. Exporters write without it; it serves tests, tools, and readers that want a page as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub families: Vec<Family>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// See [`FamilyMeta::name`]: the same in both formats.
    pub name: String,
    /// Empty where the page gives none.
    pub help: String,
    pub kind: MetricKind,
    pub unit: Option<String>,
    pub samples: Vec<Sample>,
}

/// Two samples are equal if they read the same; so a NaN equals a NaN here, and zero is not minus zero.
#[derive(Clone, Debug)]
pub struct Sample {
    pub suffix: Suffix,
    pub labels: Vec<(String, String)>,
    pub value: f64,
    pub timestamp: Option<TimestampMillis>,
    pub exemplar: Option<SampleExemplar>,
}

/// Compared like [`Sample`].
#[derive(Clone, Debug)]
pub struct SampleExemplar {
    pub labels: Vec<(String, String)>,
    pub value: f64,
    pub timestamp: Option<TimestampMillis>,
}

impl Page {
    /// Reads a page whole. The first error ends it, whatever the options say of bad lines: a caller that wants to go
    /// on drives a [`PageBuilder`] itself.
    pub fn parse(page: &[u8], options: ParserOptions) -> Result<Self, ParseError> {
        let mut parser = Parser::new(page, options);
        let mut builder = PageBuilder::new(options.format);
        while let Some(event) = parser.next_event() {
            builder.push(&event?);
        }
        Ok(builder.finish())
    }

    /// Appends the page to `out`, which is left as it was if the page cannot be written.
    pub fn write(&self, out: &mut String, format: Format) -> Result<(), WriteError> {
        let start = out.len();
        let written = self.write_families(out, format);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write_families(&self, out: &mut String, format: Format) -> Result<(), WriteError> {
        let mut declared = BTreeSet::new();
        let mut writer = PageWriter::new(out, format);
        for family in &self.families {
            let kind = family.kind.as_carried(&family.name, Format::OpenMetrics);
            // Both formats refuse what one cannot carry, so that a page is never fit for half of its readers.
            if !declared.insert(kind.declared_name(&family.name)) {
                return Err(WriteError::DuplicateFamily {
                    family: family.name.clone(),
                });
            }
            family.write(&mut writer)?;
        }
        writer.finish();
        Ok(())
    }
}

impl Family {
    fn write(&self, writer: &mut PageWriter<'_>) -> Result<(), WriteError> {
        let meta = FamilyMeta {
            name: &self.name,
            help: &self.help,
            kind: self.kind,
            unit: self.unit.as_deref(),
        };
        let mut lines = writer.family(&meta)?;
        lines.header();
        for sample in &self.samples {
            let labels = block(&sample.labels)?;
            let exemplar_labels = match &sample.exemplar {
                Some(exemplar) => block(&exemplar.labels)?,
                None => LabelBlock::default(),
            };
            lines.write(&SampleParts {
                suffix: sample.suffix,
                labels: (&labels).into(),
                value: sample.value.into(),
                timestamp: sample.timestamp,
                exemplar: sample.exemplar.as_ref().map(|exemplar| Exemplar {
                    labels: (&exemplar_labels).into(),
                    value: exemplar.value.into(),
                    timestamp: exemplar.timestamp,
                }),
            })?;
        }
        Ok(())
    }
}

fn block(labels: &[(String, String)]) -> Result<LabelBlock, WriteError> {
    LabelBlock::new(labels.iter().map(|(name, value)| (name, value)))
}

impl PartialEq for Sample {
    fn eq(&self, other: &Self) -> bool {
        self.suffix == other.suffix
            && self.labels == other.labels
            && same_number(self.value, other.value)
            && self.timestamp == other.timestamp
            && self.exemplar == other.exemplar
    }
}

impl PartialEq for SampleExemplar {
    fn eq(&self, other: &Self) -> bool {
        self.labels == other.labels
            && same_number(self.value, other.value)
            && self.timestamp == other.timestamp
    }
}

fn same_number(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan())
}

//! Joins metadata and samples of a page into families.

use std::collections::BTreeMap;

use crate::{
    Event, Family, Format, LabelIter, MetricKind, Page, Sample, SampleExemplar, SampleRef, Suffix, Text,
};

/// Collects the events of a page into a [`Page`].
///
/// Families keep the order of their first line. A sample that belongs to none becomes a family of its own, of unknown
/// kind and without help. A type or unit that comes after samples of its family is too late and is left out.
#[derive(Debug)]
pub struct PageBuilder {
    format: Format,
    families: Vec<Family>,
    /// By the name in metadata lines; [`PageBuilder::finish`] turns it into the name of the samples.
    by_declared_name: BTreeMap<String, usize>,
    /// Families of samples that bear a declared name without belonging there, such as a plain sample of a histogram.
    strays: BTreeMap<String, usize>,
    /// The family of the last line, which the next line most likely belongs to as well.
    current: Option<usize>,
}

impl PageBuilder {
    pub fn new(format: Format) -> Self {
        Self {
            format,
            families: Vec::new(),
            by_declared_name: BTreeMap::new(),
            strays: BTreeMap::new(),
            current: None,
        }
    }

    pub fn push(&mut self, event: &Event<'_>) {
        match event {
            Event::Help { family, help } => {
                let help = help.unescaped().into_owned();
                self.declare(*family).help = help;
            }
            Event::Kind { family, kind } => {
                let family = self.declare(*family);
                if family.samples.is_empty() {
                    family.kind = *kind;
                }
            }
            Event::Unit { family, unit } => {
                let family = self.declare(*family);
                if family.samples.is_empty() && !unit.is_empty() {
                    family.unit = Some((*unit).to_owned());
                }
            }
            Event::Sample(sample) => self.push_sample(sample),
        }
    }

    pub fn finish(self) -> Page {
        let mut families = self.families;
        if self.format == Format::OpenMetrics {
            for family in &mut families {
                if let Some(suffix) = family.kind.hidden_suffix() {
                    family.name.push_str(suffix);
                }
            }
        }
        Page { families }
    }

    fn declare(&mut self, name: Text<'_>) -> &mut Family {
        let name = name.unescaped();
        let at = match self.by_declared_name.get(name.as_ref()) {
            Some(&at) => at,
            None => self.add(name.into_owned()),
        };
        self.current = Some(at);
        &mut self.families[at]
    }

    fn add(&mut self, name: String) -> usize {
        let at = self.families.len();
        if self.by_declared_name.contains_key(&name) {
            self.strays.insert(name.clone(), at);
        } else {
            self.by_declared_name.insert(name.clone(), at);
        }
        self.families.push(Family {
            name,
            help: String::new(),
            kind: MetricKind::Unknown,
            unit: None,
            samples: Vec::new(),
        });
        at
    }

    fn push_sample(&mut self, sample: &SampleRef<'_>) {
        let name = sample.name.unescaped();
        let (at, suffix) = match self.find(&name) {
            Some(found) => found,
            None => (self.add(name.into_owned()), Suffix::Plain),
        };
        self.current = Some(at);
        self.families[at].samples.push(Sample {
            suffix,
            labels: owned(sample.labels),
            value: sample.value,
            timestamp: sample.timestamp,
            exemplar: sample.exemplar.map(|exemplar| SampleExemplar {
                labels: owned(exemplar.labels),
                value: exemplar.value,
                timestamp: exemplar.timestamp,
            }),
        });
    }

    /// The family of a sample: the current one, else the one of that name, else the one of that name less a suffix.
    fn find(&self, name: &str) -> Option<(usize, Suffix)> {
        let fits = |at: usize| {
            let family = &self.families[at];
            let suffix = suffix_of(name.strip_prefix(family.name.as_str())?, family.kind, self.format)?;
            Some((at, suffix))
        };
        if let Some(found) = self.current.and_then(fits) {
            return Some(found);
        }
        let stem = name.rfind('_').map_or(name, |end| &name[..end]);
        let candidates = [
            self.by_declared_name.get(name),
            self.by_declared_name.get(stem),
            self.strays.get(name),
        ];
        candidates.into_iter().flatten().find_map(|&at| fits(at))
    }
}

/// What the part of a sample's name after its family's declared name means, or `None` if the two do not belong together.
fn suffix_of(tail: &str, kind: MetricKind, format: Format) -> Option<Suffix> {
    let plain = match format {
        Format::Text => "",
        Format::OpenMetrics => kind.hidden_suffix().unwrap_or(""),
    };
    [
        Suffix::Plain,
        Suffix::Bucket,
        Suffix::Sum,
        Suffix::Count,
        Suffix::Created,
    ]
    .into_iter()
    .find(|&suffix| {
        let written = if suffix == Suffix::Plain {
            plain
        } else {
            suffix.text(kind)
        };
        let known = suffix != Suffix::Created || format == Format::OpenMetrics;
        tail == written && kind.allows(suffix) && known
    })
}

fn owned(labels: LabelIter<'_>) -> Vec<(String, String)> {
    let own = |text: Text<'_>| text.unescaped().into_owned();
    labels.map(|label| (own(label.name), own(label.value))).collect()
}

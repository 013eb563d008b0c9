//! What a family is: its kind, its metadata and the suffixes its samples may carry.

use crate::Format;

/// The kind of a family. `Unknown` is `untyped` on a text page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
    GaugeHistogram,
    Summary,
    Info,
    StateSet,
    Unknown,
}

impl MetricKind {
    /// The word of a `# TYPE` line. The text format knows five kinds only: info and stateset become gauges there,
    /// which their samples are, and a gauge histogram becomes a histogram.
    pub const fn keyword(self, format: Format) -> &'static str {
        match (format, self) {
            (_, Self::Counter) => "counter",
            (_, Self::Histogram) | (Format::Text, Self::GaugeHistogram) => "histogram",
            (_, Self::Summary) => "summary",
            (_, Self::Gauge) | (Format::Text, Self::Info | Self::StateSet) => "gauge",
            (Format::Text, Self::Unknown) => "untyped",
            (Format::OpenMetrics, Self::GaugeHistogram) => "gaugehistogram",
            (Format::OpenMetrics, Self::Info) => "info",
            (Format::OpenMetrics, Self::StateSet) => "stateset",
            (Format::OpenMetrics, Self::Unknown) => "unknown",
        }
    }

    /// The kind that a family of this kind and `name` has on a page of `format`.
    ///
    /// OpenMetrics insists on `_total` for counters and `_info` for infos. A foreign name without the suffix keeps
    /// its sample name in both formats by giving up its kind instead.
    pub fn as_carried(self, name: &str, format: Format) -> Self {
        match (format, self) {
            (Format::Text, Self::Info | Self::StateSet) => Self::Gauge,
            (Format::Text, Self::GaugeHistogram) => Self::Histogram,
            (Format::OpenMetrics, Self::Counter | Self::Info) if self.declared_name(name) == name => {
                if self == Self::Info {
                    Self::Gauge
                } else {
                    Self::Unknown
                }
            }
            _ => self,
        }
    }

    /// The suffix which OpenMetrics leaves out of the metadata lines of this kind.
    pub(crate) const fn hidden_suffix(self) -> Option<&'static str> {
        match self {
            Self::Counter => Some("_total"),
            Self::Info => Some("_info"),
            Self::Gauge
            | Self::Histogram
            | Self::GaugeHistogram
            | Self::Summary
            | Self::StateSet
            | Self::Unknown => None,
        }
    }

    /// The name of the OpenMetrics metadata lines of a family that this crate calls `name`.
    pub(crate) fn declared_name(self, name: &str) -> &str {
        let stripped = self.hidden_suffix().and_then(|suffix| name.strip_suffix(suffix));
        stripped.filter(|rest| !rest.is_empty()).unwrap_or(name)
    }

    /// Whether a sample with this suffix belongs in a family of this kind.
    pub(crate) const fn allows(self, suffix: Suffix) -> bool {
        match suffix {
            Suffix::Plain => !matches!(self, Self::Histogram | Self::GaugeHistogram),
            Suffix::Bucket => matches!(self, Self::Histogram | Self::GaugeHistogram),
            Suffix::Sum | Suffix::Count => {
                matches!(self, Self::Histogram | Self::GaugeHistogram | Self::Summary)
            }
            Suffix::Created => matches!(self, Self::Counter | Self::Histogram | Self::Summary),
        }
    }

    /// Whether OpenMetrics allows an exemplar on such a sample.
    pub(crate) const fn allows_exemplar(self, suffix: Suffix) -> bool {
        matches!(
            (self, suffix),
            (Self::Counter, Suffix::Plain) | (Self::Histogram | Self::GaugeHistogram, Suffix::Bucket)
        )
    }
}

/// What a sample's name adds to the name of its family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suffix {
    /// The family's own name; for a counter that name already ends in `_total`.
    #[default]
    Plain,
    Bucket,
    Sum,
    Count,
    /// When the series began. OpenMetrics only; a text page leaves it out.
    Created,
}

impl Suffix {
    pub(crate) const fn text(self, kind: MetricKind) -> &'static str {
        match (self, kind) {
            (Self::Plain, _) => "",
            (Self::Bucket, _) => "_bucket",
            (Self::Sum, MetricKind::GaugeHistogram) => "_gsum",
            (Self::Sum, _) => "_sum",
            (Self::Count, MetricKind::GaugeHistogram) => "_gcount",
            (Self::Count, _) => "_count",
            (Self::Created, _) => "_created",
        }
    }
}

/// The metadata of a family, borrowed, so that a catalogue can hold it as a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyMeta<'a> {
    /// The name of the family's samples on a text page, incl. `_total` or `_info`.
    pub name: &'a str,
    pub help: &'a str,
    pub kind: MetricKind,
    /// Written in OpenMetrics only, where the name must end in it.
    pub unit: Option<&'a str>,
}

impl<'a> FamilyMeta<'a> {
    pub const fn new(name: &'a str, help: &'a str, kind: MetricKind) -> Self {
        Self {
            name,
            help,
            kind,
            unit: None,
        }
    }

    pub const fn with_unit(mut self, unit: &'a str) -> Self {
        self.unit = Some(unit);
        self
    }
}

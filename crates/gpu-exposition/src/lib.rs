//! Prometheus text format 0.0.4 and OpenMetrics 1.0: write and parse.
//!
//! One implementation serves both sides: exporters write with [`PageWriter`], the control plane reads the pages of any
//! exporter with [`Parser`] or, as they arrive, with [`StreamParser`]. This crate holds the formats only; it never opens a socket, reads a clock or knows what a GPU is.
//!
//! A family has one name everywhere in this crate: the name its samples carry on a text page, such as
//! `gpu_energy_joules_total` or `gpu_info`. OpenMetrics strips `_total` and `_info` in its metadata lines; the writer
//! does that and the reader undoes it, so a family is called the same whatever the format.
//!
//! ```
//! use gpu_exposition::{FamilyMeta, Format, LabelBlock, MetricKind, PageWriter};
//!
//! const ENERGY: FamilyMeta<'_> =
//!     FamilyMeta::new("gpu_energy_joules_total", "Energy used since the driver started.", MetricKind::Counter);
//!
//! let gpu0 = LabelBlock::new([("gpu", "0"), ("uuid", "GPU-1")])?; // rendered once, used at every scrape
//! let mut page = String::new();
//! let mut writer = PageWriter::new(&mut page, Format::Text);
//! writer.family(&ENERGY)?.sample(&gpu0, 12.5)?;
//! writer.finish();
//! assert!(page.ends_with("gpu_energy_joules_total{gpu=\"0\",uuid=\"GPU-1\"} 12.5\n"));
//! # Ok::<(), gpu_exposition::WriteError>(())
//! ```

mod builder;
mod escape;
mod family;
mod format;
mod name;
mod number;
mod page;
mod parser;
mod writer;

pub use builder::PageBuilder;
pub use family::{FamilyMeta, MetricKind, Suffix};
pub use format::Format;
pub use name::{is_label_name, is_metric_name};
pub use number::{TimestampMillis, Value};
pub use page::{Family, Page, Sample, SampleExemplar};
pub use parser::{
    Event, ExemplarRef, Found, LabelIter, LabelRef, Limits, OnBadLine, ParseError, Parser, ParserOptions,
    Problem, Progress, SampleRef, StreamParser, Text,
};
pub use writer::{Exemplar, FamilyWriter, LabelBlock, Labels, PageWriter, SampleParts, WriteError};

#[cfg(test)]
mod tests;

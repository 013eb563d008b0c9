//! What the pages of exporters say, whoever wrote them, in one form: samples with labels come in, one report a GPU goes out.
//!
//! Four vocabularies are understood: ours, dcgm-exporter's in both generations of its names, AMD's and nvidia_gpu_exporter's.
//! Nothing here waits, reads a clock or knows where a page came from: the direct source hands in lines of pages, the Prometheus
//! source hands in series.

mod cells;
mod fields;
mod finish;
mod identity;
mod labels;
mod lines;
mod memory;
mod merge;
mod reader;
mod resolve;
mod values;

pub(crate) use fields::{find as find_field, names};
pub(crate) use finish::{Draft, Mixture, Origin};
pub(crate) use labels::Picked;
pub(crate) use lines::PageStream;
pub(crate) use memory::Memory;
pub(crate) use merge::merge;
pub(crate) use reader::PageReader;

/// Whose words a line is in. The order is that of preference where a GPU is told of in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dialect {
    /// gpu-exporter's own `gpu_*`.
    Ours,
    /// `DCGM_FI_*`.
    Dcgm,
    /// AMD's `gpu_gfx_activity` and the like.
    Amd,
    /// `nvidia_smi_*`.
    Smi,
}

#[cfg(test)]
mod tests;

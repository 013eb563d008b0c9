//! What a GPU draws when nothing happens on it, and how far above that it is.

use gpu_model::{GpuModel, Milliwatts};

/// Boards of one model differ by this much, in thousandths of the range between idle and the limit.
const MARGIN: u64 = 40;

/// The range of draw of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PowerRange {
    /// Below this nothing is computed: idle, an open context, and the margin.
    quiet: u64,
    max: u64,
}

impl PowerRange {
    /// Absent for a model whose idle draw is not known.
    pub(crate) fn of(model: &str) -> Option<Self> {
        let model = GpuModel::find(model)?;
        let (idle, max) = (u64::from(model.idle.0), u64::from(model.max.0));
        let range = max.saturating_sub(idle);
        Some(Self {
            quiet: idle + context(model, range) + range * MARGIN / 1000,
            max,
        })
    }

    /// How far a draw is between quiet and the limit, in thousandths; nothing at or below quiet.
    pub(crate) fn effort(self, draw: Milliwatts) -> u16 {
        let above = u64::from(draw.0).saturating_sub(self.quiet);
        let effort = above * 1000 / self.max.saturating_sub(self.quiet).max(1);
        u16::try_from(effort.min(1000)).unwrap_or(1000)
    }
}

/// What an open context adds to the idle draw. Measured for a few models; the others get a share of their range.
fn context(model: &GpuModel, range: u64) -> u64 {
    match model.name {
        "NVIDIA H100 80GB HBM3" | "NVIDIA H200" => 50_000,
        "NVIDIA A100-SXM4-40GB" | "NVIDIA A100-SXM4-80GB" => 40_000,
        "NVIDIA L40S" => 66_000,
        // A quarter of the range covers the measured boards of this size.
        "Tesla T4" | "NVIDIA L4" => range / 4,
        _ => range / 12,
    }
}

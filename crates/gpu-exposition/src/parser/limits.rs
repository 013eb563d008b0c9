//! How much of a page the parser takes.

/// Bounds on a page, because another program wrote it. Passing one is an error that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub max_bytes: u64,
    /// Without the line feed. Also the most that [`crate::StreamParser`] holds.
    pub max_line_bytes: usize,
    pub max_samples: u64,
    /// For the labels of a sample and, separately, of its exemplar.
    pub max_labels_per_sample: usize,
    /// How many bad lines [`crate::OnBadLine::Skip`] reports before it gives the page up.
    pub max_bad_lines: u64,
}

impl Limits {
    pub const DEFAULT: Self = Self {
        // A node with 16 GPUs in 7 slices each and every family on is below 10 MB; kube-state-metrics of a large
        // cluster is near 100 MB.
        max_bytes: 128 << 20,
        // The longest lines seen carry pod labels copied by an exporter: a few kilobytes.
        max_line_bytes: 64 << 10,
        // 128 MB of lines of the usual 150 bytes.
        max_samples: 1_000_000,
        // Prometheus stores more, but nobody queries them; 256 labels of 128 bytes fit the line limit.
        max_labels_per_sample: 256,
        // Enough to see what is wrong with a page; more only fills a log.
        max_bad_lines: 1_000,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

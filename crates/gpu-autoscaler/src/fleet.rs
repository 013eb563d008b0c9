//! The fleet as others see it: a metrics page, JSON documents and sums. Pure: a view comes in, text goes out.

mod cluster;
mod gpu_metrics;
mod join;
mod metrics;
mod totals;

use gpu_model::Source;

pub(crate) use cluster::cluster;
pub(crate) use gpu_metrics::gpu_metrics;
pub(crate) use join::join;
pub(crate) use metrics::metrics_page;
pub(crate) use totals::Totals;

/// The word that marks simulated values in labels and documents; measured ones carry none.
fn source_word(source: Source) -> Option<&'static str> {
    match source {
        Source::Simulated => Some("sim"),
        Source::Measured => None,
    }
}

#[cfg(test)]
mod tests;

//! Sums and means over a fleet, in integers. A GPU that did not tell a value takes no part in its mean.

use std::collections::BTreeSet;

use gpu_model::{Bytes, FleetView, GpuView, Milliwatts, Partition, Permille, PodRef, Reading};

/// The fleet in a few numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) gpus: usize,
    /// GPUs of which at least one part is held by a container.
    pub(crate) allocated: usize,
    /// GPUs that are divided into parts.
    pub(crate) divided: usize,
    /// GPUs with a reading that failed.
    pub(crate) failing: usize,
    /// The mean over the GPUs that tell it; none where nobody does.
    pub(crate) utilization: Option<Permille>,
    pub(crate) memory_used: Option<Bytes>,
    pub(crate) memory_total: Option<Bytes>,
    pub(crate) power: Option<u64>,
    pub(crate) running_pods: usize,
    pub(crate) pending_pods: usize,
}

impl Totals {
    pub(crate) fn of(view: &FleetView) -> Self {
        let count = |fits: fn(&GpuView) -> bool| view.gpus().filter(|gpu| fits(gpu)).count();
        let pods: BTreeSet<&PodRef> = view
            .gpus()
            .flat_map(GpuView::owners)
            .map(|owner| &owner.pod.reference)
            .collect();
        Self {
            gpus: view.gpu_count(),
            allocated: count(|gpu| gpu.owners().next().is_some()),
            divided: count(is_divided),
            failing: count(has_failure),
            utilization: mean(view.gpus().map(|gpu| gpu.sample.utilization)),
            memory_used: sum(view.gpus().map(|gpu| gpu.sample.memory_used.map(|bytes| bytes.0))).map(Bytes),
            memory_total: sum(view
                .gpus()
                .map(|gpu| gpu.sample.memory_total.map(|bytes| bytes.0)))
            .map(Bytes),
            power: sum(view
                .gpus()
                .map(|gpu| gpu.sample.power.map(|Milliwatts(power)| u64::from(power)))),
            running_pods: pods.len(),
            pending_pods: view.pending.len(),
        }
    }
}

pub(crate) fn is_divided(gpu: &GpuView) -> bool {
    gpu.parts.iter().any(|part| part.partition != Partition::Whole)
}

fn has_failure(gpu: &GpuView) -> bool {
    let sample = &gpu.sample;
    sample.utilization == Reading::Failed
        || sample.memory_used == Reading::Failed
        || sample.power == Reading::Failed
        || sample.temperature == Reading::Failed
}

/// The sum of what is known; none where nothing is, because no reading is not a reading of nothing.
fn sum(readings: impl Iterator<Item = Reading<u64>>) -> Option<u64> {
    readings
        .filter_map(Reading::known)
        .fold(None, |sum, value| Some(sum.unwrap_or(0u64).saturating_add(value)))
}

fn mean(readings: impl Iterator<Item = Reading<Permille>>) -> Option<Permille> {
    let (mut sum, mut count) = (0u64, 0u64);
    for share in readings.filter_map(Reading::known) {
        sum += u64::from(share.get());
        count += 1;
    }
    let mean = sum.checked_div(count)?;
    Some(Permille::clamped(
        u16::try_from(mean).expect("a mean of shares is a share"),
    ))
}

//! How much of its GPU each part is, in thousandths that sum to the whole.

use gpu_model::{GpuModel, NanoUsd, Partition};

use crate::windows::GpuTrack;

/// The share of every part in order, and what no part has.
pub(crate) fn shares(gpu: &GpuTrack) -> (Vec<u16>, u16) {
    let table = GpuModel::find(&gpu.device.model).and_then(GpuModel::mig);
    let slices = |partition: &Partition| match partition {
        Partition::MigSlice { profile, .. } => {
            let known = table.and_then(|table| table.profile(profile.as_str()));
            known.map(|profile| u64::from(profile.compute_slices))
        }
        _ => None,
    };
    let known: Option<Vec<u64>> = gpu.parts.iter().map(|part| slices(&part.partition)).collect();
    let mut weights = match known {
        Some(known) if !known.is_empty() => known,
        // Parts of other kinds, and slices of a GPU that is not in the table, are alike.
        _ => vec![1; gpu.parts.len()],
    };
    let of_slices = table.map(|table| u64::from(table.compute_slices));
    let is_sliced = gpu
        .parts
        .iter()
        .any(|part| matches!(part.partition, Partition::MigSlice { .. }));
    let taken: u64 = weights.iter().sum();
    let rest = of_slices
        .filter(|_| is_sliced)
        .map_or(0, |all| all.saturating_sub(taken));
    weights.push(if weights.is_empty() { 1 } else { rest });
    let mut shares: Vec<u16> = NanoUsd(1000)
        .split(&weights)
        .map(|parts| {
            parts
                .iter()
                .map(|part| u16::try_from(part.0).unwrap_or(0))
                .collect()
        })
        .unwrap_or_default();
    let rest = shares.pop().unwrap_or(1000);
    (shares, rest)
}

//! Which smaller part of a GPU, or smaller GPU, would carry the same work.

use gpu_model::{Bytes, GpuModel, MODELS, MigProfile, MigTable, Partition, Vendor};

use crate::windows::{GpuTrack, PartTrack};

/// Work that peaked at so much is given this much more, in thousandths of the peak: the next run may be larger.
const MARGIN: u64 = 1200;

/// A smaller home for the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Smaller {
    pub(crate) way: Way,
    /// Of the part that is held now, in thousandths.
    pub(crate) share: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A MIG profile of the same GPU.
    Slice(&'static MigProfile),
    /// One of so many on the same GPU.
    Replica(u16),
}

/// The smallest part of the same GPU that holds the work, if it is smaller than what is held.
pub(crate) fn smaller_part(
    gpu: &GpuTrack,
    part: &PartTrack,
    memory_mib: u32,
    effort: u16,
) -> Option<Smaller> {
    let model = GpuModel::find(&gpu.device.model);
    match (&part.partition, model.and_then(GpuModel::mig)) {
        (Partition::Whole, Some(table)) => slice(table, gpu.memory_total_mib?, None, memory_mib, effort),
        (Partition::MigSlice { profile, .. }, Some(table)) => {
            let held = table.profile(profile.as_str())?;
            slice(table, gpu.memory_total_mib?, Some(held), memory_mib, effort)
        }
        (Partition::Whole, None) if gpu.device.vendor == Vendor::Nvidia || model.is_none() => {
            replica(gpu.memory_total_mib?, memory_mib, effort)
        }
        (Partition::Whole, None) => replica(gpu.memory_total_mib?, memory_mib, effort),
        _ => None,
    }
}

fn slice(
    table: &'static MigTable,
    total_mib: u32,
    held: Option<&'static MigProfile>,
    memory_mib: u32,
    effort: u16,
) -> Option<Smaller> {
    let all = u64::from(table.compute_slices);
    let held_slices = held.map_or(all, |profile| u64::from(profile.compute_slices));
    let need_memory = u64::from(memory_mib) * MARGIN / 1000;
    // The effort is of what is held; a slice has its own share of the chip.
    let need_compute = u64::from(effort) * held_slices * MARGIN / 1000;
    let fitting = table.profiles.iter().filter(|profile| {
        let slices = u64::from(profile.compute_slices);
        slices < held_slices
            && slices * 1000 >= need_compute
            && memory_of(profile, table, total_mib) >= need_memory
    });
    let best = fitting.min_by_key(|profile| (profile.compute_slices, profile.memory_slices))?;
    let share = u64::from(best.compute_slices) * 1000 / held_slices.max(1);
    Some(Smaller {
        way: Way::Slice(best),
        share: u16::try_from(share).unwrap_or(1000),
    })
}

/// The driver's figure where it is documented, or the slices' equal share less what the driver keeps.
fn memory_of(profile: &MigProfile, table: &MigTable, total_mib: u32) -> u64 {
    let equal =
        u64::from(total_mib) * u64::from(profile.memory_slices) / u64::from(table.memory_slices.max(1));
    profile.memory.map_or(equal * 97 / 100, Bytes::whole_mib)
}

/// More than this many on one GPU is asking for trouble, whatever the figures say.
const MOST_REPLICAS: u64 = 4;

fn replica(total_mib: u32, memory_mib: u32, effort: u16) -> Option<Smaller> {
    let by_memory = u64::from(total_mib) * 1000 / (u64::from(memory_mib) * MARGIN).max(1);
    let by_effort = 1_000_000 / (u64::from(effort) * MARGIN).max(1);
    let replicas = by_memory.min(by_effort).min(MOST_REPLICAS);
    let replicas = u16::try_from(replicas).ok().filter(|replicas| *replicas >= 2)?;
    Some(Smaller {
        way: Way::Replica(replicas),
        share: 1000 / replicas,
    })
}

/// A model of the same maker with less memory that holds the work and computes about as fast.
pub(crate) fn less_memory(model: &GpuModel, memory_mib: u32) -> Option<&'static GpuModel> {
    let sibling = match model.name {
        "NVIDIA A100-SXM4-80GB" => "NVIDIA A100-SXM4-40GB",
        "NVIDIA H200" => "NVIDIA H100 80GB HBM3",
        _ => return None,
    };
    let need = u64::from(memory_mib) * MARGIN / 1000;
    GpuModel::find(sibling).filter(|sibling| sibling.memory.whole_mib() >= need)
}

/// A GPU of another, smaller model for work that needs so much memory and so much of the chip.
pub(crate) fn smaller_model(model: &GpuModel, memory_mib: u32, effort: u16) -> Option<&'static GpuModel> {
    let need_memory = u64::from(memory_mib) * MARGIN / 1000;
    // Within a maker, what a chip may draw is the roughest measure of what it can do.
    let need_power = u64::from(model.max.0) * u64::from(effort) / 1000 * MARGIN / 1000;
    MODELS
        .iter()
        .filter(|other| other.vendor == model.vendor && other.max < model.max)
        .filter(|other| other.memory.whole_mib() >= need_memory && u64::from(other.max.0) >= need_power)
        .min_by_key(|other| (other.max, other.memory))
}

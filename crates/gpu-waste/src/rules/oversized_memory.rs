//! Busy enough, but a model of GPU with less memory would do as well.

use gpu_model::{GpuModel, Permille};

use crate::case::{Case, Detail, Verdict};
use crate::evidence::{Votes, percent};
use crate::group::Group;
use crate::holders::Class;
use crate::sizes;
use crate::windows::since;
use crate::{Cause, Signal, Speaks};

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let holder = case.holder?;
    let tenancy = &case.part.tenancy;
    let began = tenancy.first_activity?;
    let mean = case.facts.time.mean()?;
    let is_busy = mean >= u32::from(case.settings.threshold.get());
    if !case.gpu.is_sole()
        || !is_busy
        || holder.class == Class::Notebook
        || since(case.now, began) < case.settings.size_after
    {
        return None;
    }
    let model = GpuModel::find(&case.gpu.device.model)?;
    let peak = tenancy.peak_memory_mib?;
    let other = sizes::less_memory(model, peak)?;
    let spare = 1000 - other.memory.0.saturating_mul(1000) / model.memory.0.max(1);
    // Memory is one half of what is bought with a GPU and the chip the other, by convention.
    let wasted = Permille::clamped(u16::try_from(spare / 2).unwrap_or(0));
    let votes = Votes::default()
        .with(
            Signal::MemoryUsed,
            30,
            Speaks::For,
            format!("never more than {peak} MiB"),
        )
        .with(
            Signal::Utilization,
            20,
            Speaks::For,
            format!("{} on average", percent(mean)),
        );
    let unused = 1000 - case.memory_share(peak).unwrap_or(1000).min(1000);
    Some(Verdict {
        cause: Cause::OversizedMemory,
        wasted,
        affected: Permille::clamped(unused),
        since: began,
        votes,
        detail: Detail::TooLarge {
            memory_mib: peak,
            effort: tenancy.peak_effort.unwrap_or(1000),
        },
    })
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    format!(
        "{} keeps {} busy and has never taken more than {} MiB of {} MiB. The same chip with less memory would do.",
        group.holder(),
        group.gpus(),
        group.peak_memory_mib(),
        group.memory_total_mib(),
    )
}

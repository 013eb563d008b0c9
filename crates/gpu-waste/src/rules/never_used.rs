//! Given to a pod that has not touched it: no memory, no process, no activity since it started.

use crate::Cause;
use crate::activity::DRIVER_MEMORY;
use crate::case::{Case, Detail, Verdict};
use crate::evidence::idle_votes;
use crate::group::Group;

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let tenancy = &case.part.tenancy;
    let holder = case.holder?;
    let is_untouched = tenancy.first_activity.is_none()
        && tenancy.peak_memory_mib.is_none_or(|peak| peak < DRIVER_MEMORY)
        && case.facts.processes.is_none_or(|processes| processes == 0);
    if !is_untouched || !case.is_idle() || case.is_warming_up() || case.is_loading() {
        return None;
    }
    // One of several is another story, and so is a member of a gang that works.
    if holder.active_parts > 0 {
        return None;
    }
    let mut votes = idle_votes(case);
    votes.add_empty(case);
    votes
        .agree()
        .then(|| case.whole_loss(Cause::NeverUsed, tenancy.since, votes, Detail::Plain))
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    format!(
        "{} holds {} and has not touched {} since it is watched, for {}. No process ever opened the GPU, so nothing is lost when it is given back.",
        group.holder(),
        group.gpus(),
        group.them(),
        group.lasting(),
    )
}

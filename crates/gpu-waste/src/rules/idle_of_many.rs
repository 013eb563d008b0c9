//! Some GPUs of a pod work, this one does not.

use crate::activity::DRIVER_MEMORY;
use crate::case::{Case, Detail, Verdict};
use crate::evidence::idle_votes;
use crate::group::Group;
use crate::windows::since;
use crate::{Cause, Signal, Speaks};

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let holder = case.holder?;
    if holder.parts < 2 || holder.active_parts == 0 || !case.is_idle() || case.is_loading() {
        return None;
    }
    // A rank that waits for the others has the model in its memory. It gets the time that a start may take; a GPU with at
    // most an open context does not.
    let has_model = case
        .part
        .tenancy
        .peak_memory_mib
        .and_then(|peak| case.memory_share(peak))
        .is_some_and(|share| share >= CONTEXT_SHARE);
    let idle_since = case.part.tenancy.idle_since?;
    if has_model && since(case.now, idle_since) < case.settings.warm_up {
        return None;
    }
    let votes = idle_votes(case).with(
        Signal::MemoryUsed,
        15,
        if has_model { Speaks::Silent } else { Speaks::For },
        match case.facts.memory_mib {
            Some(memory) if memory < DRIVER_MEMORY => "no memory in use".to_owned(),
            Some(memory) => format!("{memory} MiB in use"),
            None => "not read".to_owned(),
        },
    );
    votes
        .agree()
        .then(|| case.whole_loss(Cause::IdleGpuOfMany, idle_since, votes, Detail::Plain))
}

/// An open context takes less than this share of a GPU's memory, in thousandths.
const CONTEXT_SHARE: u16 = 60;

pub(crate) fn explain(group: &Group<'_>) -> String {
    format!(
        "{} asked for {} GPUs and has left {} aside for {}, while the others work. Asking for fewer changes nothing for it.",
        group.holder(),
        group.asked,
        group.gpus(),
        group.lasting(),
    )
}

//! Used before, or loaded, still held, and idle now.

use crate::Cause;
use crate::case::{Case, Detail, Verdict};
use crate::evidence::idle_votes;
use crate::group::Group;
use crate::holders::Gang;

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let holder = case.holder?;
    if !case.is_idle() || case.is_warming_up() || case.is_loading() {
        return None;
    }
    // A rank that waits for the others is part of the work; a GPU that one pod leaves aside is another finding.
    if holder.gang == Gang::OthersWork || holder.active_parts > 0 {
        return None;
    }
    let mut votes = idle_votes(case);
    votes.add_held(case);
    let since = case.part.tenancy.idle_since?;
    votes
        .agree()
        .then(|| case.whole_loss(Cause::HeldIdle, since, votes, Detail::Plain))
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    format!(
        "{} holds {} and has computed nothing on {} for {}. It keeps {} MiB of GPU memory that nobody else can use meanwhile.",
        group.holder(),
        group.gpus(),
        group.them(),
        group.lasting(),
        group.memory_mib(),
    )
}

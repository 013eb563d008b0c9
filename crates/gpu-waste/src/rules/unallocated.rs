//! Nobody asked for it, and somebody could have.

use crate::Cause;
use crate::case::{Case, Detail, Verdict};
use crate::evidence::idle_votes;
use crate::group::Group;
use crate::windows::since;

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let free_since = case.part.tenancy.since;
    if since(case.now, free_since) < case.settings.after || !case.is_idle() {
        return None;
    }
    let mut votes = idle_votes(case);
    votes.add_empty(case);
    votes
        .agree()
        .then(|| case.whole_loss(Cause::Unallocated, free_since, votes, Detail::Plain))
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    format!(
        "Nobody has asked for {} of node {} for {}. {}",
        group.gpus(),
        group.node(),
        group.lasting(),
        if group.is_whole_node {
            "The whole node is free: it can go, or work can be moved to it."
        } else {
            "Packing the work of this pool more tightly would free whole nodes."
        }
    )
}

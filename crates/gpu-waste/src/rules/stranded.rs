//! Free, but nothing fits beside what runs: no processor, no memory of the host, no slice of the right size.

use gpu_model::Partition;

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
    let free = case.free?;
    let profile = match &case.part.partition {
        Partition::MigSlice { profile, .. } => Some(profile.as_str()),
        _ => None,
    };
    let detail = case
        .room?
        .hindrance(&case.part.resource, free.rank, free.count, profile)?;
    let mut votes = idle_votes(case);
    votes.add_empty(case);
    votes
        .agree()
        .then(|| case.whole_loss(Cause::Stranded, free_since, votes, detail))
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    let why = match group.detail {
        Detail::NoProcessor => "the pods beside it have taken the processor",
        Detail::NoHostMemory => "the pods beside it have taken the memory of the host",
        Detail::ClosedNode => "the node takes no new pods: it is cordoned or not ready",
        _ => "every pod that waits wants more GPUs, or a larger slice, than is free in one place",
    };
    format!(
        "{} of node {} free for {} and of no use, because {why}. It is paid for all the same.",
        group.gpus_are(),
        group.node(),
        group.lasting(),
    )
}

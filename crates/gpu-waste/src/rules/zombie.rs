//! The work is over or dead, and the GPU is still held: memory without a process, containers that do not run, or memory that
//! nobody who holds the GPU took.

use crate::activity::DRIVER_MEMORY;
use crate::case::{Case, Detail, Verdict};
use crate::evidence::{Votes, idle_votes, speaks};
use crate::group::Group;
use crate::windows::since;
use crate::{Cause, Signal, Speaks};

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let holder = case.holder?;
    if !case.is_idle() || holder.active_parts > 0 {
        return None;
    }
    let idle_since = case.part.tenancy.idle_since?;
    let does_not_run = holder.listed.is_some_and(|listed| {
        listed.waiting_reason.as_deref().is_some_and(|reason| {
            matches!(
                reason,
                "CrashLoopBackOff"
                    | "ImagePullBackOff"
                    | "ErrImagePull"
                    | "CreateContainerConfigError"
                    | "CreateContainerError"
            )
        })
    });
    if does_not_run {
        let mut votes = idle_votes(case);
        votes.add_empty(case);
        return votes
            .agree()
            .then(|| case.whole_loss(Cause::Zombie, idle_since, votes, Detail::DoesNotRun));
    }
    if !holds_without_process(case) {
        return None;
    }
    let votes = abandoned(case);
    votes
        .agree()
        .then(|| case.whole_loss(Cause::Zombie, idle_since, votes, Detail::Abandoned))
}

/// Memory on a GPU that nobody holds.
pub(crate) fn judge_free(case: &Case<'_>) -> Option<Verdict> {
    let tenancy = &case.part.tenancy;
    let memory = case.facts.least_memory_mib?;
    // Without a picture of the cluster, a GPU without an owner may be anybody's.
    case.surroundings.picture?;
    // A context takes some hundred mebibytes; less than that may be the driver, a monitor or a display.
    let is_leaked =
        memory >= LEAK && case.gpu.is_sole() && since(case.now, tenancy.since) >= case.settings.after;
    if !is_leaked || !case.is_idle() {
        return None;
    }
    let votes = idle_votes(case).with(
        Signal::MemoryUsed,
        15,
        Speaks::For,
        format!("{memory} MiB in use and no pod holds the GPU"),
    );
    votes
        .agree()
        .then(|| case.whole_loss(Cause::Zombie, tenancy.since, votes, Detail::Leaked))
}

const LEAK: u32 = 300;

fn holds_without_process(case: &Case<'_>) -> bool {
    case.facts.processes == Some(0)
        && case
            .facts
            .least_memory_mib
            .is_some_and(|memory| memory >= DRIVER_MEMORY * 2)
}

fn abandoned(case: &Case<'_>) -> Votes {
    let memory = case.facts.memory_mib.unwrap_or(0);
    idle_votes(case)
        .with(
            Signal::Processes,
            15,
            speaks(case.facts.processes == Some(0)),
            "no process is left".to_owned(),
        )
        .with(
            Signal::MemoryUsed,
            15,
            speaks(memory >= DRIVER_MEMORY),
            format!("{memory} MiB still held"),
        )
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    match group.detail {
        Detail::DoesNotRun => format!(
            "{} holds {} and its containers do not run. The GPU is given to it for as long as the pod exists.",
            group.holder(),
            group.gpus(),
        ),
        Detail::Leaked => format!(
            "{} MiB of GPU memory are in use on {} of node {}, and no pod holds {}. Something outlived its pod there for {}.",
            group.memory_mib(),
            group.gpus(),
            group.node(),
            group.them(),
            group.lasting(),
        ),
        _ => format!(
            "{} still holds {} with {} MiB of memory and has no process left on {}. Its work ended at least {} ago.",
            group.holder(),
            group.gpus(),
            group.memory_mib(),
            group.them(),
            group.lasting(),
        ),
    }
}

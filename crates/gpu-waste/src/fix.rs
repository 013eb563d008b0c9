//! What to do about a finding: a sentence, commands ready to be run, and a change to a manifest where there is one.
//!
//! A fix names only what exists: profiles of that very GPU, the workload that made the pod, containers that asked.

mod free;
mod resize;
mod stop;
mod target;

use gpu_model::NanoUsd;

use crate::case::Detail;
use crate::group::Group;
use crate::holders::{Class, Holders};
use crate::{Cause, Fix, FixKind};

pub(crate) fn propose(group: &Group<'_>, holders: &Holders<'_>, saves: Option<NanoUsd>) -> Option<Fix> {
    let fix = match group.cause {
        Cause::Unallocated => free::unallocated(group),
        Cause::Stranded => free::stranded(group),
        Cause::NeverUsed | Cause::HeldIdle | Cause::Zombie => match group.holder {
            Some(_) => stop::stop(group, holders)?,
            None => free::leaked(group),
        },
        Cause::IdleGpuOfMany => resize::fewer_gpus(group)?,
        Cause::UnderUsed => match group.detail {
            Detail::InputBound => input(group),
            Detail::Spinning => spinning(group),
            _ => resize::smaller(group)?,
        },
        Cause::OversizedMemory => resize::less_memory(group)?,
        Cause::OversizedModel => resize::smaller(group)?,
        Cause::Unhealthy => free::repair(group),
        Cause::Throttled => free::cool(group),
        Cause::Contradiction => free::look(group),
        Cause::Deviation => return None,
    };
    Some(Fix { saves, ..fix })
}

/// A fix that has no command.
fn advice(kind: FixKind, text: String) -> Fix {
    Fix {
        kind,
        text,
        commands: Vec::new(),
        manifest: None,
        saves: None,
    }
}

fn input(group: &Group<'_>) -> Fix {
    let next = match group.holder.map(|holder| holder.class) {
        Some(Class::WorkflowStep | Class::Batch) => " before the next run",
        _ => "",
    };
    advice(
        FixKind::FixInput,
        format!(
            "Give its input more processors, more workers and prefetching, or keep the data nearer to the node{next}. A larger GPU would only wait more."
        ),
    )
}

fn spinning(group: &Group<'_>) -> Fix {
    let Some(holder) = group.holder else {
        return advice(FixKind::Look, "See what its kernels wait for.".to_owned());
    };
    let namespace = &holder.pod.reference.namespace;
    let name = &holder.pod.reference.name;
    Fix {
        kind: FixKind::Look,
        text: "See whether it still makes progress. A collective that lost a member waits for ever: restart the job from its last checkpoint.".to_owned(),
        commands: vec![format!("kubectl -n {namespace} logs {name} --all-containers --tail 50")],
        manifest: None,
        saves: None,
    }
}

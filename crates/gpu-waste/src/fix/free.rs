//! What to do about GPUs that nobody holds, and about devices.

use crate::case::Detail;
use crate::fix::advice;
use crate::fix::target::quoted;
use crate::group::Group;
use crate::{Fix, FixKind};

pub(crate) fn unallocated(group: &Group<'_>) -> Fix {
    let node = quoted(group.node().as_str());
    if !group.is_whole_node {
        return advice(
            FixKind::MoveWork,
            format!(
                "Let waiting work use it, or pack the pods of this pool onto fewer nodes so that {node} or another node becomes free as a whole."
            ),
        );
    }
    Fix {
        kind: FixKind::RemoveNode,
        text: format!("No GPU of {node} is in use: drain it and take it out of its pool."),
        commands: vec![
            format!("kubectl cordon {node}"),
            format!("kubectl drain {node} --ignore-daemonsets --delete-emptydir-data"),
        ],
        manifest: None,
        saves: None,
    }
}

pub(crate) fn stranded(group: &Group<'_>) -> Fix {
    let node = quoted(group.node().as_str());
    match group.detail {
        Detail::NoProcessor | Detail::NoHostMemory => {
            let what = if group.detail == Detail::NoProcessor {
                "processor"
            } else {
                "memory"
            };
            Fix {
                kind: FixKind::MoveWork,
                text: format!(
                    "Move pods that need no GPU away from {node}, or lower what its GPU pods ask for in {what}. A taint keeps pods without GPUs away."
                ),
                commands: vec![
                    format!("kubectl get pods -A --field-selector spec.nodeName={node} -o wide"),
                    format!("kubectl taint node {node} nvidia.com/gpu=present:NoSchedule"),
                ],
                manifest: None,
                saves: None,
            }
        }
        Detail::ClosedNode => Fix {
            kind: FixKind::RemoveNode,
            text: format!("Open {node} again if it is well, or take it out of its pool."),
            commands: vec![format!("kubectl uncordon {node}")],
            manifest: None,
            saves: None,
        },
        _ => advice(
            FixKind::MoveWork,
            format!(
                "What waits is larger than what is free on {node}. Move a small pod away, or divide the GPU anew, so that the free pieces come together."
            ),
        ),
    }
}

pub(crate) fn leaked(group: &Group<'_>) -> Fix {
    let index = group.first().gpu.device.index;
    let node = quoted(group.node().as_str());
    Fix {
        kind: FixKind::Look,
        text: format!(
            "Find the process on {node} that outlived its pod and end it; if there is none, reset the GPU while nothing runs on it."
        ),
        commands: vec![
            format!("nvidia-smi -i {index} --query-compute-apps=pid,process_name,used_memory --format=csv"),
            format!("nvidia-smi -i {index} --gpu-reset"),
        ],
        manifest: None,
        saves: None,
    }
}

pub(crate) fn repair(group: &Group<'_>) -> Fix {
    let node = quoted(group.node().as_str());
    let index = group.first().gpu.device.index;
    Fix {
        kind: FixKind::Repair,
        text: format!(
            "Let no new work onto {node}, reset GPU {index} when its pods have gone, and replace the node if the fault comes back."
        ),
        commands: vec![
            format!("kubectl cordon {node}"),
            format!("nvidia-smi -i {index} --gpu-reset"),
        ],
        manifest: None,
        saves: None,
    }
}

pub(crate) fn cool(group: &Group<'_>) -> Fix {
    let node = quoted(group.node().as_str());
    let index = group.first().gpu.device.index;
    Fix {
        kind: FixKind::Repair,
        text: format!(
            "See to the cooling of {node}: a sound GPU of this model does not reach its limit. Where the power limit was lowered, set it back to the board's own."
        ),
        commands: vec![format!(
            "nvidia-smi -i {index} -q -d PERFORMANCE,TEMPERATURE,POWER"
        )],
        manifest: None,
        saves: None,
    }
}

pub(crate) fn look(group: &Group<'_>) -> Fix {
    let node = quoted(group.node().as_str());
    let index = group.first().gpu.device.index;
    Fix {
        kind: FixKind::Look,
        text: format!(
            "Compare with nvidia-smi on {node}. A reset of the GPU, or a restart of whatever reads it, usually makes the signals agree again."
        ),
        commands: vec![format!(
            "nvidia-smi -i {index} -q -d UTILIZATION,MEMORY,POWER,PIDS"
        )],
        manifest: None,
        saves: None,
    }
}

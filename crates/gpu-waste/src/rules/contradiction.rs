//! Signals that cannot all be true. Nothing else is concluded from them: the GPU is counted as unknown.

use gpu_model::Permille;

use crate::case::{Case, Detail, Verdict};
use crate::evidence::Votes;
use crate::facts::Clash;
use crate::group::Group;
use crate::{Cause, Signal, Speaks};

const CLASHES: [Clash; 4] = [
    Clash::Latched,
    Clash::DeadProfiling,
    Clash::HiddenWork,
    Clash::WorkWithoutMemory,
];

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let facts = case.facts;
    // A single odd sample is a sample; most of the window is a driver that lies.
    let clash = CLASHES
        .into_iter()
        .find(|clash| facts.contradictions[*clash as usize] * 5 >= facts.looks * 3)?;
    if facts.looks < facts.expected {
        return None;
    }
    let (first, second) = match clash {
        Clash::Latched => (Signal::Utilization, Signal::Power),
        Clash::DeadProfiling => (Signal::Utilization, Signal::SmActive),
        Clash::HiddenWork => (Signal::Power, Signal::Utilization),
        Clash::WorkWithoutMemory => (Signal::Utilization, Signal::MemoryUsed),
    };
    let votes = Votes::default()
        .with(first, 30, Speaks::For, "says that the GPU is busy".to_owned())
        .with(second, 30, Speaks::For, "says that it is not".to_owned());
    Some(Verdict {
        cause: Cause::Contradiction,
        wasted: Permille::ZERO,
        affected: Permille::ONE,
        since: facts.oldest.unwrap_or(case.part.tenancy.since),
        votes,
        detail: Detail::Clash(clash),
    })
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    let what = match group.detail {
        Detail::Clash(Clash::Latched) => {
            "reports full utilisation with no memory in use, no process and no draw: a value that got stuck"
        }
        Detail::Clash(Clash::DeadProfiling) => {
            "is busy by utilisation and power while every profiling counter says 0: profiling has stopped, often after a fault"
        }
        Detail::Clash(Clash::HiddenWork) => "draws the power of work while its utilisation says 0",
        _ => "reports work without memory and without a process",
    };
    format!(
        "{} of node {} {what}. Nothing is concluded from it until the signals agree again.",
        group.gpus(),
        group.node(),
    )
}

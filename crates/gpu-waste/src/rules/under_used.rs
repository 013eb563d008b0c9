//! Used, far below what it can do: it waits for its input, its kernels spin, or there is hardly anything to do.

use gpu_model::Permille;

use crate::activity::NOISE;
use crate::case::{Case, Detail, Verdict};
use crate::evidence::{Votes, percent, speaks};
use crate::group::Group;
use crate::holders::Class;
use crate::sizes;
use crate::windows::since;
use crate::{Cause, Signal, Speaks};

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let class = case.holder?.class;
    // On a shared GPU the rest of the time is not lost: the others have it.
    if !case.is_exclusive() || !is_covered(case) {
        return None;
    }
    match class {
        Class::Serving => too_large(case),
        Class::Notebook => None,
        Class::Training | Class::Batch | Class::WorkflowStep | Class::Other => spinning(case)
            .or_else(|| input_bound(case))
            .or_else(|| too_large(case)),
    }
}

/// Enough of the window was read, and all of it after the first work.
fn is_covered(case: &Case<'_>) -> bool {
    let began = case.part.tenancy.first_activity;
    let covers = |oldest| since(case.now, oldest) >= case.settings.after;
    case.facts.oldest.is_some_and(covers) && began.is_some_and(covers)
}

/// Kernels that wait for each other fill the time, and little of the chip.
fn spinning(case: &Case<'_>) -> Option<Verdict> {
    let facts = case.facts;
    if facts.time.least()? < 900 || facts.time.count() * 5 < facts.looks * 3 {
        return None;
    }
    let votes = Votes::default().with(
        Signal::Utilization,
        30,
        Speaks::For,
        "never below 90 %".to_owned(),
    );
    let (work, votes) = match (facts.sm.most(), facts.effort.most()) {
        (Some(sm), effort) => {
            let dram = facts.dram.most().unwrap_or(0);
            if sm >= LITTLE || dram >= LITTLE {
                return None;
            }
            let votes = votes.with(
                Signal::SmActive,
                30,
                Speaks::For,
                format!("never above {}", percent(sm)),
            );
            let votes = match effort {
                Some(effort) => votes.with(
                    Signal::Power,
                    20,
                    speaks(effort < LITTLE),
                    format!("never above {} of its range", percent(effort)),
                ),
                None => votes.with(Signal::Power, 20, Speaks::Silent, "not read".to_owned()),
            };
            (facts.sm.mean()?, votes)
        }
        (None, Some(effort)) if case.gpu.is_sole() && effort < LITTLE_DRAW => {
            let votes = votes
                .with(Signal::SmActive, 15, Speaks::Silent, "not read".to_owned())
                .with(
                    Signal::Power,
                    30,
                    Speaks::For,
                    format!("never above {} of its range", percent(effort)),
                );
            (facts.effort.mean()?, votes)
        }
        _ => return None,
    };
    Some(verdict(case, work, votes, Detail::Spinning))
}

/// Multiprocessors or memory this busy may be doing something.
const LITTLE: u32 = 250;
/// Full utilisation at such a draw is spinning: real work on a few multiprocessors draws more.
const LITTLE_DRAW: u32 = 180;

/// It works in short bursts and stands still between them.
fn input_bound(case: &Case<'_>) -> Option<Verdict> {
    let facts = case.facts;
    let mean = facts.time.mean()?;
    let threshold = u32::from(case.settings.threshold.get());
    if mean >= threshold || facts.instants < 8 || !is_uneven(case, mean) {
        return None;
    }
    let mut votes = Votes::default().with(
        Signal::Utilization,
        30,
        Speaks::For,
        format!(
            "{} on average, and at a stand-still in {} of {} looks",
            percent(mean),
            facts.still,
            facts.instants
        ),
    );
    match facts.effort.mean() {
        Some(effort) => votes.add(
            Signal::Power,
            20,
            speaks(effort < u32::from(case.settings.threshold.get())),
            format!("{} of its range on average", percent(effort)),
        ),
        None => votes.add(Signal::Power, 20, Speaks::Silent, "not read".to_owned()),
    }
    if case.gpu.is_sole() {
        match facts.traffic.mean() {
            Some(traffic) => votes.add(
                Signal::PcieTraffic,
                15,
                if traffic >= 100 {
                    Speaks::For
                } else {
                    Speaks::Silent
                },
                format!("{traffic} MiB/s over the bus"),
            ),
            None => votes.add(Signal::PcieTraffic, 15, Speaks::Silent, "not read".to_owned()),
        }
    }
    Some(verdict(case, mean, votes, Detail::InputBound)).filter(|verdict| verdict.votes.agree())
}

/// Whether it works in bursts that are shorter than the time between two looks.
fn is_uneven(case: &Case<'_>, mean: u32) -> bool {
    let facts = case.facts;
    let goes_and_stops = facts.still * 10 >= facts.instants * 4 && facts.turns >= 3;
    // A rhythm that divides the time between looks shows every look the same moment; the counter sees the rest.
    let hides = facts
        .instant
        .mean()
        .is_some_and(|instant| instant.abs_diff(mean) >= HIDDEN);
    goes_and_stops || (hides && mean >= u32::from(NOISE))
}

/// Instants and their counter differ by less than this in steady work, in thousandths.
const HIDDEN: u32 = 150;

/// Hardly any work, and it needs hardly any memory: less would do.
fn too_large(case: &Case<'_>) -> Option<Verdict> {
    let facts = case.facts;
    let mean = match (facts.time.mean(), facts.sm.mean()) {
        (Some(time), _) => time,
        (None, sm) => sm?,
    };
    let tenancy = &case.part.tenancy;
    if mean >= HARDLY_ANY || since(case.now, tenancy.since) < case.settings.size_after {
        return None;
    }
    let peak = tenancy.peak_memory_mib?;
    let effort = tenancy.peak_effort.unwrap_or(u16::try_from(mean).unwrap_or(1000));
    let smaller = sizes::smaller_part(case.gpu, case.part, peak, effort)?;
    if case.memory_share(peak)? >= MEMORY_IN_NEED {
        return None;
    }
    let mut votes = Votes::default()
        .with(
            Signal::Utilization,
            30,
            Speaks::For,
            format!("{} on average", percent(mean)),
        )
        .with(
            Signal::MemoryUsed,
            20,
            Speaks::For,
            format!("never more than {peak} MiB"),
        );
    match facts.effort.mean().filter(|_| case.gpu.is_sole()) {
        Some(effort) => votes.add(
            Signal::Power,
            20,
            speaks(effort < LITTLE),
            format!("{} of its range on average", percent(effort)),
        ),
        None => votes.add(
            Signal::Power,
            20,
            Speaks::Silent,
            "not read for this part".to_owned(),
        ),
    }
    let wasted = Permille::clamped(1000u16.saturating_sub(smaller.share));
    let detail = Detail::TooLarge {
        memory_mib: peak,
        effort,
    };
    Some(Verdict {
        wasted,
        // What it does not do counts for the score, what could be given back for the money.
        affected: Permille::clamped(1000u16.saturating_sub(u16::try_from(mean).unwrap_or(1000))),
        ..verdict(case, mean, votes, detail)
    })
    .filter(|verdict| verdict.votes.agree())
}

/// Less work than this is a trickle, in thousandths of the time.
const HARDLY_ANY: u32 = 150;
/// A model that fills so much of its memory could not be put anywhere smaller, in thousandths.
const MEMORY_IN_NEED: u16 = 400;

fn verdict(case: &Case<'_>, work: u32, votes: Votes, detail: Detail) -> Verdict {
    let wasted = Permille::clamped(1000u16.saturating_sub(u16::try_from(work).unwrap_or(1000)));
    Verdict {
        cause: Cause::UnderUsed,
        wasted,
        affected: wasted,
        since: case.facts.oldest.unwrap_or(case.now),
        votes,
        detail,
    }
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    match group.detail {
        Detail::InputBound => format!(
            "{} stands still most of the time while data comes in, and uses {} of {} on average. Its input is too slow for the GPU, not the GPU for it.",
            group.holder(),
            group.used_share(),
            group.gpus(),
        ),
        Detail::Spinning => format!(
            "{} fills the time of {} and does next to nothing: multiprocessors and power say that its kernels wait. A collective that never ends, or a busy loop, looks like this.",
            group.holder(),
            group.gpus(),
        ),
        _ => format!(
            "{} has little to do for {}: it uses a small share of the time and at most {} MiB of memory. A smaller part of a GPU would serve it as well.",
            group.holder(),
            group.gpus(),
            group.peak_memory_mib(),
        ),
    }
}

//! Held down by heat, or by a power limit below what the board is made for.

use gpu_model::{GpuModel, Permille};

use crate::case::{Case, Detail, Verdict};
use crate::evidence::Votes;
use crate::group::Group;
use crate::windows::since;
use crate::{Cause, Signal, Speaks};

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let facts = case.facts;
    if facts.active == 0
        || facts
            .oldest
            .is_none_or(|oldest| since(case.now, oldest) < case.settings.after)
    {
        return None;
    }
    let model = GpuModel::find(&case.gpu.device.model)?;
    let heat = facts.heat.mean()?;
    // At its own limit a busy GPU is doing what it is made for; below that somebody has taken something away.
    let is_limited = case
        .gpu
        .power_limit_milliwatts
        .is_some_and(|limit| u64::from(limit) * 10 < u64::from(model.max.0) * 9);
    let cap = facts.cap.mean().filter(|_| is_limited).unwrap_or(0);
    let held = (heat + cap).min(100);
    if held < LEAST_PERCENT {
        return None;
    }
    let full = u64::from(model.compute_clock.max.0).max(1);
    let kept = facts
        .held_clock
        .mean()
        .map(|clock| u64::from(clock) * 1000 / full);
    // Without a clock the loss is not known; the finding stands and counts no GPU-time.
    let lost = kept.map_or(0, |kept| 1000u64.saturating_sub(kept) * u64::from(held) / 100);
    let votes = Votes::default().with(
        Signal::Throttling,
        30,
        Speaks::For,
        format!("held down for {held} % of the time"),
    );
    Some(Verdict {
        cause: Cause::Throttled,
        wasted: Permille::clamped(u16::try_from(lost).unwrap_or(1000)),
        affected: Permille::clamped(u16::try_from(held * 10).unwrap_or(1000)),
        since: facts.oldest?,
        votes,
        detail: Detail::Plain,
    })
}

/// Less than this is a warm afternoon, in percent of the time.
const LEAST_PERCENT: u32 = 20;

pub(crate) fn explain(group: &Group<'_>) -> String {
    format!(
        "{} of node {} held down by heat or a lowered power limit. What runs there takes longer than it has to, and is paid for longer.",
        group.gpus_are(),
        group.node(),
    )
}

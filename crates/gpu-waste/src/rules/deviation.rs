//! Far from what this workload usually does at this hour of the week. Not waste: a hint, and only when asked for.

use gpu_model::Permille;

use crate::case::{Case, Detail, Verdict};
use crate::evidence::{Votes, percent};
use crate::group::Group;
use crate::holders::template;
use crate::{Cause, Deviations, Signal, Speaks};

/// A pattern needs this many weeks before leaving it means anything.
const LEAST_WEEKS: u16 = 3;
const LEAST_LOOKS: u32 = 60;
/// How far beyond the usual a workload has to be, in thousandths of utilisation.
const MARGIN: u32 = 150;

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    if case.settings.deviations == Deviations::Ignored {
        return None;
    }
    let key = template(&case.holder?.pod)?;
    let hour = case.surroundings.patterns?.get(&key)?.at(case.now)?;
    if hour.weeks < LEAST_WEEKS || hour.looks < LEAST_LOOKS {
        return None;
    }
    let mean = case.facts.time.mean()?;
    let (low, high) = (u32::from(hour.low), u32::from(hour.high));
    let (detail, beyond) = if mean > high + MARGIN {
        (Detail::Above, mean - high)
    } else if mean + MARGIN < low {
        (Detail::Below, low - mean)
    } else {
        return None;
    };
    let votes = Votes::default().with(
        Signal::Utilization,
        30,
        Speaks::For,
        format!(
            "{} on average, usually {} to {} at this hour",
            percent(mean),
            percent(low),
            percent(high)
        ),
    );
    Some(Verdict {
        cause: Cause::Deviation,
        wasted: Permille::ZERO,
        affected: Permille::clamped(u16::try_from((beyond * 2).min(1000)).unwrap_or(1000)),
        since: case.facts.oldest?,
        votes,
        detail,
    })
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    let way = match group.detail {
        Detail::Above => "more",
        _ => "less",
    };
    format!(
        "{} uses {} far {way} than it usually does at this hour of the week. That may be a change in demand, a new version or a fault.",
        group.holder(),
        group.gpus(),
    )
}

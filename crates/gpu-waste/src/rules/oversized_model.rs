//! Busy, but it never needs more than a fraction of the chip and of the memory.

use gpu_model::Permille;

use crate::case::{Case, Detail, Verdict};
use crate::evidence::{Votes, percent};
use crate::group::Group;
use crate::holders::Class;
use crate::sizes;
use crate::windows::since;
use crate::{Cause, Signal, Speaks};

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let holder = case.holder?;
    let tenancy = &case.part.tenancy;
    // A step is over before it was watched for long; what is said of it is advice for the next run.
    let long_enough = match holder.class {
        Class::WorkflowStep => case.settings.after,
        Class::Notebook => return None,
        _ => case.settings.size_after,
    };
    let began = tenancy.first_activity?;
    if !case.is_exclusive() || case.facts.active == 0 || since(case.now, began) < long_enough {
        return None;
    }
    let (peak, effort) = (tenancy.peak_memory_mib?, tenancy.peak_effort?);
    let smaller = sizes::smaller_part(case.gpu, case.part, peak, effort)?;
    if smaller.share > WORTH_IT {
        return None;
    }
    let has_profiling = case.facts.sm.count() > 0;
    let votes = Votes::default()
        .with(
            Signal::MemoryUsed,
            30,
            Speaks::For,
            format!("never more than {peak} MiB"),
        )
        .with(
            if has_profiling {
                Signal::SmActive
            } else {
                Signal::Power
            },
            30,
            Speaks::For,
            format!("never above {} of the chip", percent(u32::from(effort))),
        );
    let wasted = Permille::clamped(1000u16.saturating_sub(smaller.share));
    Some(Verdict {
        cause: Cause::OversizedModel,
        wasted,
        affected: wasted,
        since: began,
        votes,
        detail: Detail::TooLarge {
            memory_mib: peak,
            effort,
        },
    })
}

/// A change that gives back less than this is not worth an owner's time: at most so much may be kept, in thousandths.
const WORTH_IT: u16 = 430;

pub(crate) fn explain(group: &Group<'_>) -> String {
    format!(
        "{} works, and has never needed more than {} of {} and {} MiB of memory. A smaller GPU or a part of one would carry it.",
        group.holder(),
        group.peak_effort(),
        group.gpus(),
        group.peak_memory_mib(),
    )
}

//! The device itself reported faults: errors of its memory, a lost link, a fall from its bus.

use std::time::Duration;

use crate::case::{Case, Detail, Verdict};
use crate::evidence::Votes;
use crate::group::Group;
use crate::windows::since;
use crate::{Cause, Signal, Speaks};

/// A fault of the hardware is not over when the driver answers again; an hour without another one is a good sign.
const WATCHED_FOR: Duration = Duration::from_secs(3600);

pub(crate) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let recent = case
        .gpu
        .device_fault
        .filter(|(at, _)| since(case.now, *at) < WATCHED_FOR);
    let (at, words) = match recent {
        Some((at, count)) => (at, format!("{count} faults of the device, the last at {at}")),
        None if case.gpu.has_bad_rows => (
            case.part.tenancy.since,
            "a row of its memory could not be replaced".to_owned(),
        ),
        None => return None,
    };
    let votes = Votes::default().with(Signal::Faults, 30, Speaks::For, words);
    Some(case.whole_loss(Cause::Unhealthy, at, votes, Detail::Plain))
}

pub(crate) fn explain(group: &Group<'_>) -> String {
    format!(
        "{} of node {} reported faults of its hardware in the last {}. What runs on it may fail or be wrong, so its time is counted as lost until an hour has passed without another fault.",
        group.gpus(),
        group.node(),
        group.lasting(),
    )
}

//! The rules, one a file, and the order in which they are asked. A part of a GPU is counted under the first that speaks.
//!
//! The order is that of certainty: a broken GPU explains idleness, a dead process explains held memory, and only what is
//! neither idle nor broken can be too large.

mod contradiction;
mod deviation;
mod held_idle;
mod idle_of_many;
mod never_used;
mod oversized_memory;
mod oversized_model;
mod stranded;
mod throttled;
mod unallocated;
mod under_used;
mod unhealthy;
mod zombie;

use crate::case::{Case, Verdict};
use crate::group::Group;
use crate::{Bucket, Cause};

type Rule = fn(&Case<'_>) -> Option<Verdict>;

/// For parts that somebody holds, where the signals speak of the whole time.
const HELD: &[Rule] = &[
    zombie::judge,
    never_used::judge,
    idle_of_many::judge,
    held_idle::judge,
    throttled::judge,
    under_used::judge,
    oversized_model::judge,
    oversized_memory::judge,
    deviation::judge,
];

const FREE: &[Rule] = &[zombie::judge_free, stranded::judge, unallocated::judge];

/// What a part is counted under, and the finding behind it.
pub(crate) fn judge(case: &Case<'_>) -> (Bucket, Option<Verdict>) {
    if let Some(verdict) = unhealthy::judge(case) {
        return (Bucket::Waste(verdict.cause), Some(verdict));
    }
    if let Some(verdict) = contradiction::judge(case) {
        return (Bucket::Unknown, Some(verdict));
    }
    if !case.facts.is_told(case.interval, case.now) {
        return (Bucket::Unknown, None);
    }
    if case.holder.is_none() && case.room.is_some_and(|room| room.has_unreadable) {
        return (Bucket::Unknown, None);
    }
    let rules = if case.holder.is_some() { HELD } else { FREE };
    match rules.iter().find_map(|rule| rule(case)) {
        Some(verdict) if verdict.cause.is_waste() => (Bucket::Waste(verdict.cause), Some(verdict)),
        Some(verdict) => (Bucket::Used, Some(verdict)),
        None => (rest(case), None),
    }
}

/// Where a part belongs that no rule speaks of.
fn rest(case: &Case<'_>) -> Bucket {
    let is_quiet = case.facts.active == 0;
    if case.holder.is_none() || (is_quiet && !case.is_idle()) || (is_quiet && case.is_warming_up()) {
        Bucket::TooEarly
    } else {
        Bucket::Used
    }
}

/// Two sentences for the owner.
pub(crate) fn explain(group: &Group<'_>) -> String {
    match group.cause {
        Cause::Unallocated => unallocated::explain(group),
        Cause::Stranded => stranded::explain(group),
        Cause::NeverUsed => never_used::explain(group),
        Cause::HeldIdle => held_idle::explain(group),
        Cause::Zombie => zombie::explain(group),
        Cause::IdleGpuOfMany => idle_of_many::explain(group),
        Cause::UnderUsed => under_used::explain(group),
        Cause::OversizedMemory => oversized_memory::explain(group),
        Cause::OversizedModel => oversized_model::explain(group),
        Cause::Unhealthy => unhealthy::explain(group),
        Cause::Throttled => throttled::explain(group),
        Cause::Contradiction => contradiction::explain(group),
        Cause::Deviation => deviation::explain(group),
    }
}

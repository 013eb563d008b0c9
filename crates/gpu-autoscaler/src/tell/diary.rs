//! What was told of which finding, and what is to be told now. Pure: findings, sights and time come in, acts and the next memory go out.
//!
//! A finding is told once and then goes on as a series. It is resolved only after its condition was gone for a whole window in which there
//! was data: a source that fell silent resolves nothing.

mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gpu_model::NanoUsd;
use gpu_waste::{Cause, Finding, FindingId, Subject};
use jiff::Timestamp;

pub use entry::{About, Entry, Outcome, Realised, WorkloadRef};

/// When things are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TellSettings {
    /// Held-idle and never-used are told after one window, and a finding is resolved after one.
    pub window: Duration,
    /// All others are told after this.
    pub event_after: Duration,
    /// And only when they waste at least so much a month. A finding without a price is told.
    pub money_floor: NanoUsd,
    /// The API server keeps events for an hour after their last change; a shorter time keeps them in sight.
    pub re_tell_every: Duration,
    /// More wait for the next cycle, the dearest first.
    pub max_events_per_cycle: usize,
    /// A finding whose subject was neither seen nor missed for this long is dropped.
    pub forget_after: Duration,
}

impl Default for TellSettings {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(10 * 60),
            event_after: Duration::from_secs(30 * 60),
            money_floor: NanoUsd(10_000_000_000),
            re_tell_every: Duration::from_secs(45 * 60),
            max_events_per_cycle: 100,
            forget_after: Duration::from_secs(7 * 24 * 3600),
        }
    }
}

/// How the subject of a finding fares that is no longer found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    pub state: SightState,
    /// GPU resources that its workload asks for now; for a pod without a workload, that it asks for itself.
    pub held: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SightState {
    /// There are measurements of it.
    Measured,
    /// It is there, and nobody measured it.
    Silent,
    /// It is no longer there.
    Gone,
    /// Its owner asked to be left alone.
    Exempt,
}

/// What is remembered from cycle to cycle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diary {
    pub entries: BTreeMap<FindingId, Entry>,
}

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    pub kind: ActKind,
    pub entry: Entry,
    /// The finding as it is now; a resolved one is no longer there.
    pub finding: Option<Finding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActKind {
    Tell,
    Resolve(Outcome),
    Repeat,
}

/// What a cycle amounts to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// Of these, none is noted in the diary before it was carried out.
    pub acts: Vec<Act>,
    pub diary: Diary,
    /// Acts that wait for the next cycle.
    pub deferred: usize,
}

impl Diary {
    /// Decides what is told now.
    pub fn turn(
        mut self,
        findings: &[Finding],
        sight: impl Fn(&About) -> Sight,
        now: Timestamp,
        settings: &TellSettings,
    ) -> Turn {
        let mut acts = Vec::new();
        let mut found = BTreeSet::new();
        for finding in findings.iter().filter(|finding| is_tellable(finding)) {
            found.insert(finding.id.clone());
            let entry = self.entries.entry(finding.id.clone()).or_insert_with(|| {
                let about = About::from(&finding.subject);
                let held = sight(&about).held;
                Entry::new(finding, about, held)
            });
            entry.see(finding, now);
            if let Some(kind) = due(entry, finding, now, settings) {
                acts.push(Act {
                    kind,
                    entry: entry.clone(),
                    finding: Some(finding.clone()),
                });
            }
        }
        let wasted = wasted_by_subject(findings);
        self.entries.retain(|id, entry| {
            if found.contains(id) {
                return true;
            }
            let seen = sight(&entry.about);
            match fate(entry, seen, now, settings) {
                Fate::Stays => true,
                Fate::Forgotten => false,
                Fate::Over => {
                    let Some(outcome) = entry.over(seen, &wasted) else {
                        return false;
                    };
                    acts.push(Act {
                        kind: ActKind::Resolve(outcome),
                        entry: entry.clone(),
                        finding: None,
                    });
                    true
                }
            }
        });
        // New ones first and the dearest of them first; ties by id, so that every replica would do the same.
        acts.sort_by(|a, b| {
            (a.kind.order(), std::cmp::Reverse(a.entry.monthly), &a.entry.id).cmp(&(
                b.kind.order(),
                std::cmp::Reverse(b.entry.monthly),
                &b.entry.id,
            ))
        });
        let deferred = acts.len().saturating_sub(settings.max_events_per_cycle);
        acts.truncate(settings.max_events_per_cycle);
        Turn {
            acts,
            diary: self,
            deferred,
        }
    }

    /// Notes that an act was carried out, and what it saved where it ended something.
    pub fn carried_out(&mut self, act: &Act, now: Timestamp) -> Option<Realised> {
        let id = &act.entry.id;
        match act.kind {
            ActKind::Tell | ActKind::Repeat => {
                if let Some(entry) = self.entries.get_mut(id) {
                    entry.told_at.get_or_insert(now);
                    entry.last_told_at = Some(now);
                    entry.times = entry.times.saturating_add(1);
                }
                None
            }
            ActKind::Resolve(outcome) => {
                let entry = self.entries.remove(id)?;
                Some(entry.realised(outcome, now))
            }
        }
    }
}

impl ActKind {
    fn order(self) -> u8 {
        match self {
            Self::Tell => 0,
            Self::Resolve(_) => 1,
            Self::Repeat => 2,
        }
    }
}

/// Free GPUs are the planner's business, a deviation is no loss, and the faults of GPUs are told on their nodes.
fn is_tellable(finding: &Finding) -> bool {
    match finding.cause {
        Cause::Unallocated | Cause::Deviation => false,
        Cause::Unhealthy => matches!(finding.subject, Subject::Pod { .. }),
        Cause::Stranded
        | Cause::NeverUsed
        | Cause::HeldIdle
        | Cause::Zombie
        | Cause::IdleGpuOfMany
        | Cause::UnderUsed
        | Cause::OversizedMemory
        | Cause::OversizedModel
        | Cause::Throttled
        | Cause::Contradiction => true,
    }
}

fn due(entry: &Entry, finding: &Finding, now: Timestamp, settings: &TellSettings) -> Option<ActKind> {
    if let Some(last) = entry.last_told_at {
        return (passed(last, now) >= settings.re_tell_every).then_some(ActKind::Repeat);
    }
    let lasted = passed(finding.since, now);
    let is_due = match finding.cause {
        Cause::HeldIdle | Cause::NeverUsed => lasted >= settings.window,
        // These are no matter of money.
        Cause::Contradiction | Cause::Unhealthy => lasted >= settings.event_after,
        _ => {
            lasted >= settings.event_after
                && finding
                    .monthly
                    .is_none_or(|monthly| monthly >= settings.money_floor)
        }
    };
    is_due.then_some(ActKind::Tell)
}

enum Fate {
    Stays,
    Over,
    Forgotten,
}

fn fate(entry: &mut Entry, seen: Sight, now: Timestamp, settings: &TellSettings) -> Fate {
    match seen.state {
        SightState::Exempt => Fate::Forgotten,
        SightState::Silent => {
            // Data must cover the whole window: a gap begins it anew.
            entry.well_since = None;
            if passed(entry.last_seen_at, now) >= settings.forget_after {
                Fate::Forgotten
            } else {
                Fate::Stays
            }
        }
        SightState::Measured | SightState::Gone => {
            let since = *entry.well_since.get_or_insert(now);
            if passed(since, now) < settings.window {
                Fate::Stays
            } else {
                Fate::Over
            }
        }
    }
}

/// What is wasted now, by subject: what a resolved finding may have turned into.
fn wasted_by_subject(findings: &[Finding]) -> BTreeMap<String, Option<NanoUsd>> {
    let mut wasted: BTreeMap<String, Option<NanoUsd>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.cause.is_waste()) {
        let sum = wasted
            .entry(About::from(&finding.subject).owner())
            .or_insert(Some(NanoUsd::ZERO));
        // One unknown part makes the sum unknown.
        *sum = sum.zip(finding.monthly).and_then(|(a, b)| a.checked_add(b));
    }
    wasted
}

/// A clock that stepped back makes nothing due.
pub(super) fn passed(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

#[cfg(test)]
mod tests;

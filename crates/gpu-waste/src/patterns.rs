//! What a workload usually does at this hour of the week, learned as it goes, in integers.

use std::collections::BTreeMap;

use gpu_model::Namespace;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::holders::template;
use crate::windows::Windows;

/// A template of workloads: the object that makes pods again and again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PatternKey {
    pub namespace: Namespace,
    pub kind: String,
    pub name: String,
}

/// The patterns of all workloads that are known. Bounded: 3 kB a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    by_template: BTreeMap<PatternKey, Pattern>,
}

/// Every hour of the week, beginning with Monday 00:00 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    pub hours: Vec<HourPattern>,
    pub learned_at: Timestamp,
}

/// One hour of the week, in thousandths of utilisation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourPattern {
    /// How often the hour was looked at.
    pub looks: u32,
    /// In how many weeks.
    pub weeks: u16,
    pub mean: u16,
    /// A tenth of the looks lie below.
    pub low: u16,
    /// A tenth of the looks lie above.
    pub high: u16,
    /// The number of the last week that was learned from.
    pub last_week: u32,
}

const HOURS: usize = 168;

/// Ten thousand templates are 30 MB; more than a cluster has that come back.
const MOST_TEMPLATES: usize = 10_000;

/// A pattern that nobody has followed for so long is forgotten: six weeks.
const FORGOTTEN_AFTER: i64 = 42 * 86_400;

impl Patterns {
    /// Learns from the present window. Call it once a cycle or once a minute; every look has the same weight.
    pub fn learn(&mut self, windows: &Windows, now: Timestamp) {
        for gpu in windows.gpus() {
            for part in &gpu.parts {
                let Some(owner) = &part.owner else { continue };
                let Some(key) = template(&owner.pod) else { continue };
                let Some((cycle, at)) = windows.cycles().last() else {
                    continue;
                };
                if cycle < part.tenancy.first_cycle {
                    continue;
                }
                let time = if gpu.is_sole() {
                    gpu.slot(cycle).and_then(|slot| slot.time())
                } else {
                    part.slot(cycle).and_then(|slot| slot.utilization().or(slot.sm()))
                };
                if let Some(time) = time {
                    self.note(key, at, time);
                }
            }
        }
        let oldest = now.as_second() - FORGOTTEN_AFTER;
        self.by_template
            .retain(|_, pattern| pattern.learned_at.as_second() >= oldest);
    }

    /// Learns one look at a workload.
    pub fn note(&mut self, key: PatternKey, at: Timestamp, utilization: u16) {
        if self.by_template.len() >= MOST_TEMPLATES && !self.by_template.contains_key(&key) {
            return;
        }
        let pattern = self.by_template.entry(key).or_insert_with(|| Pattern {
            hours: vec![HourPattern::default(); HOURS],
            learned_at: at,
        });
        pattern.learned_at = pattern.learned_at.max(at);
        let (week, hour) = hour_of_week(at);
        if let Some(hour) = pattern.hours.get_mut(hour) {
            hour.note(week, utilization.min(1000));
        }
    }

    pub fn get(&self, key: &PatternKey) -> Option<&Pattern> {
        self.by_template.get(key)
    }

    /// All of them, for a store.
    pub fn iter(&self) -> impl Iterator<Item = (&PatternKey, &Pattern)> {
        self.by_template.iter()
    }

    /// Takes one up from a store. A pattern without all hours of a week is refused.
    pub fn insert(&mut self, key: PatternKey, pattern: Pattern) {
        if pattern.hours.len() == HOURS && self.by_template.len() < MOST_TEMPLATES {
            self.by_template.insert(key, pattern);
        }
    }
}

impl Pattern {
    /// The hour of the week of an instant.
    pub fn at(&self, at: Timestamp) -> Option<&HourPattern> {
        self.hours.get(hour_of_week(at).1)
    }
}

impl HourPattern {
    fn note(&mut self, week: u32, value: u16) {
        if self.looks == 0 {
            (self.mean, self.low, self.high) = (value, value, value);
        }
        if self.weeks == 0 || week != self.last_week {
            self.weeks = self.weeks.saturating_add(1);
        }
        self.last_week = week;
        self.looks = self.looks.saturating_add(1);
        // Old looks fade: after some hundred the mean follows at a fixed pace.
        let pace = i32::try_from(self.looks.min(400)).unwrap_or(400);
        self.mean = nudge(self.mean, (i32::from(value) - i32::from(self.mean)) / pace);
        // A step up for each look above and nine down for each below comes to rest where a tenth lies above.
        self.high = nudge(self.high, if value > self.high { 9 } else { -1 });
        self.low = nudge(self.low, if value < self.low { -9 } else { 1 });
    }
}

fn nudge(value: u16, by: i32) -> u16 {
    let moved = (i32::from(value) + by).clamp(0, 1000);
    u16::try_from(moved).unwrap_or(value)
}

/// The number of the week since 1970, which began on a Thursday, and the hour within it.
fn hour_of_week(at: Timestamp) -> (u32, usize) {
    let hours = at.as_second().div_euclid(3600) + 3 * 24;
    let week = u32::try_from(hours.div_euclid(168)).unwrap_or(0);
    (week, usize::try_from(hours.rem_euclid(168)).unwrap_or(0))
}

#[cfg(test)]
mod tests;

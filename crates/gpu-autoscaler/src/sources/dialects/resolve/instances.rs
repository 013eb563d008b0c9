//! MIG instances on pages of dcgm-exporter.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{Attribution, Bytes, PartUsage, Partition, Reading};

use super::super::cells::{Cell, PartKind, PartSlot, Slot};
use super::super::fields::Metric;
use super::dcgm::{any, sum};
use super::{Told, ToldPart, bytes, first, share};

/// What was told of one instance.
struct Instance<'c> {
    cells: &'c [&'c Cell],
    used: BTreeMap<Slot, i64>,
    total: Option<i64>,
    /// The memory is more than the profile has, so it is that of the whole GPU.
    is_repeated: bool,
}

/// Takes what was told of one instance.
pub(super) fn take(told: &mut Told, parts: &[PartSlot], slot: u16, cells: &[&Cell]) {
    let instance = Instance::new(parts.get(usize::from(slot)), cells);
    if instance.is_repeated {
        first(
            &mut told.sample.memory_used,
            any(&instance.used).map_or(Reading::Unsupported, bytes),
        );
        first(
            &mut told.sample.memory_total,
            instance.total.map_or(Reading::Unsupported, bytes),
        );
    }
    let report = |holder, usage, attribution| ToldPart {
        part: Some(slot),
        holder,
        memory_total: instance.own(instance.total),
        usage,
        attribution,
    };
    let holders: BTreeSet<u16> = cells.iter().filter_map(|cell| cell.holder).collect();
    let all_used = sum(&instance.used);
    match holders.len() {
        0 => told
            .parts
            .push(report(None, instance.usage(all_used), Attribution::Own)),
        1 => {
            let holder = holders.first().copied();
            let own = instance.used.get(&holder).copied().or(all_used);
            told.parts
                .push(report(holder, instance.usage(own), Attribution::Own));
        }
        _ => {
            // Pods share the instance: only memory that differs is known to be each one's own.
            let differ = instance.used.values().collect::<BTreeSet<_>>().len() > 1;
            let attribution = if differ {
                Attribution::Own
            } else {
                Attribution::Repeated
            };
            for holder in holders {
                let own = instance.used.get(&Some(holder)).copied().filter(|_| differ);
                let usage = PartUsage {
                    memory_used: instance.own(own),
                    ..PartUsage::default()
                };
                told.parts.push(report(Some(holder), usage, attribution));
            }
        }
    }
}

/// A GPU in instances of which nothing else is told uses what they use.
pub(super) fn sum_memory(told: &mut Told) {
    if told.sample.memory_used.is_known() {
        return;
    }
    let parts = told.parts.iter().filter(|part| part.part.is_some());
    let known = parts.filter_map(|part| part.usage.memory_used.known());
    let known: Vec<Bytes> = known.collect();
    if !known.is_empty() {
        told.sample.memory_used = Reading::Known(known.into_iter().sum());
    }
}

impl<'c> Instance<'c> {
    fn new(part: Option<&PartSlot>, cells: &'c [&'c Cell]) -> Self {
        let of = |metric| {
            cells
                .iter()
                .find(|cell| cell.metric == metric)
                .map(|cell| cell.value)
        };
        let used = cells.iter().filter(|cell| cell.metric == Metric::MemoryUsed);
        let used: BTreeMap<Slot, i64> = used.map(|cell| (cell.holder, cell.value)).collect();
        let total = of(Metric::MemoryTotal).or_else(|| {
            let reserved = of(Metric::MemoryReserved).unwrap_or_default();
            Some(sum(&used)? + of(Metric::MemoryFree)? + reserved)
        });
        let profile = match part.map(|part| &part.kind) {
            Some(PartKind::Slice(Partition::MigSlice { profile, .. })) => profile_bytes(profile.as_str()),
            _ => None,
        };
        let is_repeated = profile
            .zip(total)
            .is_some_and(|(profile, total)| total > profile + profile / 4);
        Self {
            cells,
            used,
            total,
            is_repeated,
        }
    }

    /// Memory, unless it is that of the whole GPU.
    fn own(&self, memory: Option<i64>) -> Reading<Bytes> {
        memory
            .filter(|_| !self.is_repeated)
            .map_or(Reading::Unsupported, bytes)
    }

    fn usage(&self, memory: Option<i64>) -> PartUsage {
        let of = |metric| self.cells.iter().find(|cell| cell.metric == metric);
        let share_of = |metric| of(metric).map_or(Reading::Unsupported, |cell| share(cell.value));
        PartUsage {
            utilization: share_of(Metric::EngineActive),
            sm_active: share_of(Metric::SmActive),
            memory_used: self.own(memory),
            processes: Reading::Unsupported,
        }
    }
}

/// `1g.10gb`, `1c.3g.40gb` and `1g.10gb+me` say how much memory they have.
fn profile_bytes(profile: &str) -> Option<i64> {
    let (before, _) = profile.split_once("gb")?;
    let gigabytes: i64 = before.rsplit('.').next()?.parse().ok()?;
    gigabytes.checked_mul(1 << 30)
}

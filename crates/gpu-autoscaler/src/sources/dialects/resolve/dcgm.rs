//! Pages of dcgm-exporter, and of all who speak its words.
//!
//! Three habits of it would be counted wrongly if they were believed. Values of the whole GPU are repeated for every MIG
//! instance. On a GPU that pods share, values of the whole GPU are repeated for every pod, or, with virtual GPUs, utilization and
//! memory are those of the pod's processes while all others are still repeated. And where the exporter cannot tell processes
//! apart, these two are zero for every pod, whatever the GPU does.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{Attribution, Bytes, GpuModel, PartUsage, Permille, Reading};

use super::super::cells::{Cell, DeviceSlot, PartSlot, Slot};
use super::super::fields::Metric;
use super::ours::figure;
use super::{Told, ToldPart, bytes, first, instances, share};

/// A GPU of which more than this is free does nothing worth counting, in thousandths.
const ALL_FREE: u64 = 970;

pub(super) fn resolve(device: &DeviceSlot, parts: &[PartSlot], cells: &[Cell]) -> Told {
    let mut told = Told::default();
    let mut slices: BTreeMap<u16, Vec<&Cell>> = BTreeMap::new();
    let mut whole = Vec::new();
    for cell in cells {
        match cell.part {
            Some(part) if is_of_instances(cell.metric) => slices.entry(part).or_default().push(cell),
            // The same value again for every instance and every pod: the first is as good as any.
            _ if cell.part.is_some() || !is_of_processes(cell.metric) => told.take(cell),
            _ => {}
        }
        if cell.part.is_none() {
            whole.push(cell);
        }
    }
    told.take_last_fault(cells);
    no_sensor(&mut told);
    shared(&mut told, device, &whole);
    for (slot, cells) in slices {
        instances::take(&mut told, parts, slot, &cells);
    }
    instances::sum_memory(&mut told);
    told
}

fn is_of_instances(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::EngineActive
            | Metric::SmActive
            | Metric::SmOccupancy
            | Metric::TensorActive
            | Metric::DramActive
            | Metric::MemoryUsed
            | Metric::MemoryFree
            | Metric::MemoryReserved
            | Metric::MemoryTotal
    )
}

fn is_of_processes(metric: Metric) -> bool {
    matches!(metric, Metric::Utilization | Metric::MemoryUsed)
}

/// Boards without a sensor in their memory report zero degrees.
fn no_sensor(told: &mut Told) {
    if told.sample.memory_temperature == Reading::Known(gpu_model::Celsius(0)) {
        told.sample.memory_temperature = Reading::Unsupported;
    }
}

/// The two values that may be a pod's own, and everything that follows from them.
fn shared(told: &mut Told, device: &DeviceSlot, cells: &[&Cell]) {
    let by = |metric| -> BTreeMap<Slot, i64> {
        let of = cells.iter().filter(|cell| cell.metric == metric);
        of.map(|cell| (cell.holder, cell.value)).collect()
    };
    let (utilization, memory) = (by(Metric::Utilization), by(Metric::MemoryUsed));
    let holders: BTreeSet<u16> = cells.iter().filter_map(|cell| cell.holder).collect();
    let meaning = meaning(device, &holders, [&utilization, &memory]);
    let engine = cells.iter().find(|cell| cell.metric == Metric::EngineActive);
    let engine = engine.map_or(Reading::Unsupported, |cell| share(cell.value));
    match meaning {
        Meaning::Device => {
            first(
                &mut told.sample.utilization,
                any(&utilization).map_or(Reading::Unsupported, share),
            );
            first(
                &mut told.sample.memory_used,
                any(&memory).map_or(Reading::Unsupported, bytes),
            );
            told.memory_from_its_parts(&owned(cells));
        }
        Meaning::Processes => {
            told.sample.utilization = engine;
            first(
                &mut told.sample.utilization,
                sum(&utilization).map_or(Reading::Unsupported, |sum| share(sum.min(1000))),
            );
            told.sample.memory_used = without_free(told, cells);
            first(
                &mut told.sample.memory_used,
                sum(&memory).map_or(Reading::Unsupported, bytes),
            );
        }
        Meaning::Nothing => {
            told.sample.utilization = engine;
            told.sample.memory_used = without_free(told, cells);
            if is_empty(told, device, cells) {
                first(&mut told.sample.utilization, Reading::Known(Permille::ZERO));
                first(&mut told.sample.memory_used, Reading::Known(Bytes::ZERO));
            }
        }
    }
    first(&mut told.sample.utilization, engine);
    for holder in holders {
        let part = held(told, meaning, &holder, cells, [&utilization, &memory]);
        told.parts.push(part);
    }
}

/// What utilization and used memory are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The whole GPU, however many pods are named.
    Device,
    /// The processes of each pod.
    Processes,
    /// Zero for all, which the GPU need not be.
    Nothing,
}

fn meaning(device: &DeviceSlot, holders: &BTreeSet<u16>, values: [&BTreeMap<Slot, i64>; 2]) -> Meaning {
    let is_shared = holders.len() > 1 || device.is_virtual;
    let remainder = values.iter().any(|by| by.contains_key(&None) && by.len() > 1);
    let differ = values
        .iter()
        .any(|by| by.values().collect::<BTreeSet<_>>().len() > 1);
    let all_zero = values.iter().all(|by| by.values().all(|value| *value == 0));
    match (is_shared, remainder || differ) {
        (_, true) => Meaning::Processes,
        (true, false) if all_zero => Meaning::Nothing,
        (true, false) if holders.len() == 1 => Meaning::Processes,
        (_, false) => Meaning::Device,
    }
}

fn held(
    told: &Told,
    meaning: Meaning,
    holder: &u16,
    cells: &[&Cell],
    values: [&BTreeMap<Slot, i64>; 2],
) -> ToldPart {
    let holders = cells
        .iter()
        .filter_map(|cell| cell.holder)
        .collect::<BTreeSet<_>>();
    let (usage, attribution) = match meaning {
        Meaning::Processes => {
            let mut usage = PartUsage::default();
            for (metric, by) in [(Metric::Utilization, values[0]), (Metric::MemoryUsed, values[1])] {
                if let Some(value) = by.get(&Some(*holder)) {
                    figure(&mut usage, metric, *value);
                }
            }
            (usage, Attribution::Own)
        }
        Meaning::Device if holders.len() == 1 => {
            let usage = PartUsage {
                utilization: told.sample.utilization,
                sm_active: told.sample.sm_active,
                memory_used: told.sample.memory_used,
                processes: Reading::Unsupported,
            };
            (usage, Attribution::Sole)
        }
        Meaning::Device | Meaning::Nothing => (PartUsage::default(), Attribution::Repeated),
    };
    ToldPart {
        part: None,
        holder: Some(*holder),
        memory_total: told.sample.memory_total,
        usage,
        attribution,
    }
}

/// What is neither free nor reserved, where the total is told.
fn without_free(told: &Told, cells: &[&Cell]) -> Reading<Bytes> {
    let of = |metric| {
        cells
            .iter()
            .find(|cell| cell.metric == metric)
            .map(|cell| cell.value)
    };
    let reserved = of(Metric::MemoryReserved).unwrap_or_default();
    match (told.sample.memory_total, of(Metric::MemoryFree)) {
        (Reading::Known(total), Some(free)) => {
            let rest = u64::try_from(free + reserved).unwrap_or_default();
            Reading::Known(Bytes(total.0.saturating_sub(rest)))
        }
        _ => Reading::Unsupported,
    }
}

/// Whether so much memory is free that nobody can be at work.
fn is_empty(told: &Told, device: &DeviceSlot, cells: &[&Cell]) -> bool {
    let known = GpuModel::find(&device.model).map(|model| model.memory);
    let Some(total) = told.sample.memory_total.known().or(known) else {
        return false;
    };
    let of = |metric| {
        cells
            .iter()
            .find(|cell| cell.metric == metric)
            .map(|cell| cell.value)
    };
    let Some(free) = of(Metric::MemoryFree) else {
        return false;
    };
    let rest = u64::try_from(free + of(Metric::MemoryReserved).unwrap_or_default()).unwrap_or_default();
    rest >= total.0 / 1000 * ALL_FREE
}

pub(super) fn any(by: &BTreeMap<Slot, i64>) -> Option<i64> {
    by.values().next().copied()
}

pub(super) fn sum(by: &BTreeMap<Slot, i64>) -> Option<i64> {
    (!by.is_empty()).then(|| by.values().copied().fold(0, i64::saturating_add))
}

fn owned(cells: &[&Cell]) -> Vec<Cell> {
    cells.iter().map(|cell| **cell).collect()
}

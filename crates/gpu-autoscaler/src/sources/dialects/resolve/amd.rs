//! Pages of AMD's exporter: one line a partition, most values on the first of them, and at most one pod a device, the last one
//! that the kubelet listed.

use std::collections::BTreeMap;

use gpu_model::{Attribution, Bytes, PartUsage, Reading};

use super::super::cells::{Cell, Slot};
use super::super::fields::Metric;
use super::ours::figure;
use super::{Told, ToldPart, bytes, first};

#[derive(Debug, Default)]
struct Part {
    usage: PartUsage,
    memory_total: Reading<Bytes>,
    holder: Slot,
}

pub(super) fn resolve(cells: &[Cell]) -> Told {
    let mut told = Told::default();
    let mut parts: BTreeMap<Slot, Part> = BTreeMap::new();
    for cell in cells {
        let part = parts.entry(cell.part).or_default();
        part.holder = part.holder.or(cell.holder);
        let is_of_parts = matches!(
            cell.metric,
            Metric::Utilization | Metric::MemoryUsed | Metric::MemoryTotal
        );
        if cell.part.is_none() || !is_of_parts {
            told.take(cell);
        }
    }
    for metric in [Metric::Utilization, Metric::MemoryUsed, Metric::MemoryTotal] {
        split(&mut told, &mut parts, cells, metric);
    }
    told.parts = parts
        .into_iter()
        .filter(|(slot, part)| slot.is_some() || part.holder.is_some())
        .map(|(part, told)| ToldPart {
            part,
            holder: told.holder,
            memory_total: told.memory_total,
            usage: told.usage,
            attribution: if part.is_some() {
                Attribution::Own
            } else {
                Attribution::Sole
            },
        })
        .collect();
    told
}

/// A value that only the first partition of several has is the GPU's; else each partition has its own, and memory sums up.
fn split(told: &mut Told, parts: &mut BTreeMap<Slot, Part>, cells: &[Cell], metric: Metric) {
    let of = |cell: &&Cell| cell.metric == metric;
    let tellers: Vec<&Cell> = cells.iter().filter(of).collect();
    let slices = parts.keys().filter(|slot| slot.is_some()).count();
    if let [only] = tellers.as_slice()
        && slices > 1
    {
        told.take(&Cell { part: None, ..**only });
        return;
    }
    for cell in &tellers {
        let Some(part) = parts.get_mut(&cell.part) else {
            continue;
        };
        figure(&mut part.usage, metric, cell.value);
        if metric == Metric::MemoryTotal {
            first(&mut part.memory_total, bytes(cell.value));
        }
    }
    if slices > 0 && metric != Metric::Utilization {
        let sum = tellers.iter().map(|cell| cell.value).fold(0, i64::saturating_add);
        if let Some(any) = tellers.first() {
            told.take(&Cell {
                part: None,
                value: sum,
                ..**any
            });
        }
    }
}

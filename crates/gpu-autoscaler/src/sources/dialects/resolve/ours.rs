//! Pages of gpu-exporter. It tells of whole GPUs without `partition`, of slices with it, of what no slice holds as `rest`, and
//! names an owner only where a value is the owner's alone; what was measured for containers has families of its own.

use std::collections::BTreeMap;

use gpu_model::{Attribution, PartUsage, Reading};

use super::super::cells::{Cell, PartKind, PartSlot, Slot};
use super::super::fields::Metric;
use super::{Told, ToldPart, bytes, first, share, small};

/// What is known of one part, and what of each of its holders.
#[derive(Debug, Default)]
struct Part {
    figures: PartUsage,
    memory_total: Reading<gpu_model::Bytes>,
    holders: BTreeMap<u16, Held>,
}

/// Figures that carry the holder's name, and those measured for its container.
#[derive(Debug, Default)]
struct Held {
    named: PartUsage,
    measured: PartUsage,
}

pub(super) fn resolve(parts: &[PartSlot], cells: &[Cell]) -> Told {
    let mut told = Told::default();
    let mut by_part: BTreeMap<Slot, Part> = BTreeMap::new();
    let mut is_down = false;
    for cell in cells {
        match (cell.metric, cell.part) {
            (Metric::Up, None) => is_down |= cell.value == 0,
            (Metric::ContainerUtilization | Metric::ContainerMemory, _) => {}
            (_, None) => told.take(cell),
            (_, Some(_)) => {}
        }
        by_part.entry(cell.part).or_default().take(cell);
    }
    whole_memory(&mut told, &by_part);
    for (slot, part) in by_part {
        let kind = slot
            .and_then(|slot| parts.get(usize::from(slot)))
            .map(|part| &part.kind);
        if kind != Some(&PartKind::Rest) {
            part.report(slot, &mut told.parts);
        }
    }
    if is_down {
        told.is_down();
    }
    told
}

/// A GPU in slices has its memory told slice by slice, with what none of them holds; together they are the GPU.
fn whole_memory(told: &mut Told, by_part: &BTreeMap<Slot, Part>) {
    let parts = || {
        by_part
            .iter()
            .filter(|(slot, _)| slot.is_some())
            .map(|(_, part)| part)
    };
    if !told.sample.memory_used.is_known() {
        let known: Vec<_> = parts()
            .filter_map(|part| part.figures.memory_used.known())
            .collect();
        if !known.is_empty() {
            told.sample.memory_used = Reading::Known(known.into_iter().sum());
        }
    }
    if !told.sample.memory_total.is_known() {
        let known: Vec<_> = parts().filter_map(|part| part.memory_total.known()).collect();
        if !known.is_empty() {
            told.sample.memory_total = Reading::Known(known.into_iter().sum());
        }
    }
}

impl Part {
    fn take(&mut self, cell: &Cell) {
        let measured = match cell.metric {
            Metric::ContainerUtilization => Some((Metric::Utilization, cell.value)),
            Metric::ContainerMemory => Some((Metric::MemoryUsed, cell.value)),
            _ => None,
        };
        match (measured, cell.holder) {
            (Some((metric, value)), Some(holder)) => {
                figure(
                    &mut self.holders.entry(holder).or_default().measured,
                    metric,
                    value,
                );
            }
            (Some(_), None) => {}
            (None, holder) => {
                figure(&mut self.figures, cell.metric, cell.value);
                if cell.metric == Metric::MemoryTotal {
                    first(&mut self.memory_total, bytes(cell.value));
                }
                if let Some(holder) = holder {
                    let held = self.holders.entry(holder).or_default();
                    figure(&mut held.named, cell.metric, cell.value);
                }
            }
        }
    }

    fn report(self, slot: Slot, parts: &mut Vec<ToldPart>) {
        let report = |holder, usage| ToldPart {
            part: slot,
            holder,
            memory_total: self.memory_total,
            usage,
            attribution: Attribution::Own,
        };
        if self.holders.is_empty() && slot.is_some() {
            parts.push(report(None, self.figures));
        }
        for (holder, held) in self.holders {
            parts.push(report(Some(holder), held.usage()));
        }
    }
}

impl Held {
    /// The part's figure where it is the holder's alone, else what was measured for the holder.
    fn usage(self) -> PartUsage {
        let mut usage = self.named;
        first(&mut usage.utilization, self.measured.utilization);
        first(&mut usage.memory_used, self.measured.memory_used);
        usage
    }
}

pub(super) fn figure(usage: &mut PartUsage, metric: Metric, value: i64) {
    match metric {
        Metric::Utilization => first(&mut usage.utilization, share(value)),
        Metric::SmActive => first(&mut usage.sm_active, share(value)),
        Metric::MemoryUsed => first(&mut usage.memory_used, bytes(value)),
        Metric::Processes => first(&mut usage.processes, small(value)),
        _ => {}
    }
}

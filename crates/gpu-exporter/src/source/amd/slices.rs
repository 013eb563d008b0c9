//! The partitions of a GPU: what the firmware's table and the compute driver say of each alone.

use std::path::Path;

use gpu_model::Reading;

use super::attribute::{Attribute, PAGE, Trouble, names, read_text};
use super::card::{Card, Partition};
use super::fill;
use super::growth::Held;
use super::tables::{Engines, MAX_XCC, Metrics, parse_partition};
use crate::readings::{Accepted, DeviceReadings, Field, PartField, Parts, SliceId, SliceReadings, Values};

/// Memory banks of a node, at most: one for each stack.
const MOST_BANKS: usize = 64;

/// Reads all partitions of one GPU.
pub(super) struct SliceReader {
    profile: String,
    slices: Vec<Slice>,
}

struct Slice {
    partition: Partition,
    id: SliceId,
    memory_total: Option<f64>,
    memory_used: Vec<Attribute>,
    /// The partition's own table, which newer kernels have instead of parts in the device's.
    table: Attribute,
    limits: Limits,
}

/// How long each compute die of a partition, or of a GPU that is not divided, was held below its limit.
#[derive(Debug, Default)]
pub(super) struct Limits([[Held; MAX_XCC]; 4]);

impl Limits {
    /// Adds the shares of the last interval to the parts.
    pub(super) fn update(&mut self, engines: &Engines, ticks: Option<u64>, into: &mut Parts) {
        let total = match engines.below_host_limit_total_accumulator.iter().flatten().next() {
            Some(_) => &engines.below_host_limit_total_accumulator,
            None => &engines.below_host_limit_accumulator,
        };
        let kinds = [
            (
                PartField::BelowLimitSharePower,
                &engines.below_host_limit_power_accumulator,
            ),
            (
                PartField::BelowLimitShareThermal,
                &engines.below_host_limit_thermal_accumulator,
            ),
            (PartField::BelowLimitShareTotal, total),
            (
                PartField::LowUtilizationShare,
                &engines.low_utilization_accumulator,
            ),
        ];
        for (held, (field, counters)) in self.0.iter_mut().zip(kinds) {
            for (index, (held, counter)) in (0..).zip(held.iter_mut().zip(counters)) {
                held.update(*counter, ticks, 0.0);
                if let Some(share) = held.share() {
                    into.push(field, index, Reading::Known(share));
                }
            }
        }
    }
}

impl SliceReader {
    pub(super) fn new(card: &Card) -> Self {
        Self {
            profile: card.profile(),
            slices: card.partitions.iter().map(Slice::new).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// Fills the slices in place. Without a table only the memory is known.
    pub(super) fn read(
        &mut self,
        table: Option<(&Metrics, Option<u64>)>,
        buffer: &mut [u8; PAGE],
        into: &mut DeviceReadings,
    ) {
        into.slices.resize_with(self.slices.len(), SliceReadings::empty);
        let mut rejected = 0;
        for (slice, shown) in self.slices.iter_mut().zip(&mut into.slices) {
            if shown.uuid != slice.partition.name {
                shown.id = slice.id;
                shown.uuid.clone_from(&slice.partition.name);
                shown.profile.clone_from(&self.profile);
                shown.render = Some(slice.partition.node.render);
            }
            shown.values = Values::default();
            shown.parts.clear();
            let mut set = |field, reading| {
                rejected += u32::from(shown.values.set(field, reading) == Accepted::OutOfRange);
            };
            let used = slice.memory_used(buffer);
            if let Some(total) = slice.memory_total {
                set(Field::MemoryTotal, Reading::Known(total));
                set(Field::MemoryFree, used.map(|used| (total - used).max(0.0)));
            }
            set(Field::MemoryUsed, used);
            let Some((table, ticks)) = table else {
                continue;
            };
            let engines = slice.engines(table, buffer);
            if let Some(busy) = fill::mean(&engines.gfx_busy_ratio) {
                set(Field::Utilization, Reading::Known(busy));
            }
            if let Some(clock) = fill::mean(slice.of_dies(&table.gfx_clock_hertz)) {
                set(Field::GraphicsClock, Reading::Known(clock));
                set(Field::SmClock, Reading::Known(clock));
            }
            fill::parts(
                &mut shown.parts,
                PartField::GraphicsClock,
                slice.of_dies(&table.gfx_clock_hertz),
            );
            fill::engines(&engines, &mut shown.parts);
            slice.limits.update(&engines, ticks, &mut shown.parts);
        }
        into.rejected += rejected;
    }
}

impl Slice {
    fn new(partition: &Partition) -> Self {
        let banks = Banks::of(&partition.node.directory);
        Self {
            id: SliceId {
                gi: partition.index,
                ci: 0,
            },
            partition: partition.clone(),
            memory_total: banks.total,
            memory_used: banks.used,
            table: match &partition.directory {
                Some(directory) => Attribute::open(&directory.join("xcp/xcp_metrics")),
                None => Attribute::absent(),
            },
            limits: Limits::default(),
        }
    }

    /// The sum over the banks that tell it.
    fn memory_used(&mut self, buffer: &mut [u8; PAGE]) -> Reading<f64> {
        let mut used = Reading::Unsupported;
        for bank in &mut self.memory_used {
            used = match (used, bank.integer(buffer)) {
                (Reading::Known(sum), Ok(bytes)) => Reading::Known(sum + bytes as f64),
                (_, Ok(bytes)) => Reading::Known(bytes as f64),
                (used, Err(Trouble::Unsupported)) => used,
                (_, Err(Trouble::Gone | Trouble::Failed(_))) => return Reading::Failed,
            };
        }
        used
    }

    /// The engines of the partition: from the part of the device's table, from its own, or by dies where only the whole is told.
    fn engines(&mut self, table: &Metrics, buffer: &mut [u8; PAGE]) -> Engines {
        let at = self.partition.index as usize;
        let own = table.partitions.get(at).copied().unwrap_or(Engines::EMPTY);
        if own != Engines::EMPTY {
            return own;
        }
        let of_partition = self
            .table
            .bytes(buffer)
            .ok()
            .and_then(|bytes| parse_partition(bytes).ok());
        if let Some(of_partition) = of_partition {
            return of_partition.whole;
        }
        let mut engines = Engines::EMPTY;
        let busy = self.of_dies(&table.whole.gfx_busy_ratio);
        engines.gfx_busy_ratio[..busy.len()].copy_from_slice(busy);
        let sums = self.of_dies(&table.whole.gfx_busy_accumulator);
        engines.gfx_busy_accumulator[..sums.len()].copy_from_slice(sums);
        engines
    }

    /// The part of a list of all compute dies that belongs to this partition.
    fn of_dies<'a, T>(&self, all: &'a [Option<T>; MAX_XCC]) -> &'a [Option<T>] {
        let dies = (self.partition.node.dies as usize).clamp(1, MAX_XCC);
        let start = (self.partition.index as usize).saturating_mul(dies);
        all.get(start..(start + dies).min(MAX_XCC)).unwrap_or_default()
    }
}

/// The memory of a node of the compute driver.
struct Banks {
    total: Option<f64>,
    used: Vec<Attribute>,
}

impl Banks {
    fn of(node: &Path) -> Self {
        let root = node.join("mem_banks");
        let mut banks = Self {
            total: None,
            used: Vec::new(),
        };
        for name in names(&root).unwrap_or_default().iter().take(MOST_BANKS) {
            let bank = root.join(name);
            let properties = read_text(&bank.join("properties")).unwrap_or_default();
            let value = |key: &str| {
                let mut lines = properties.lines().filter_map(|line| line.split_once(' '));
                lines.find(|(name, _)| *name == key)?.1.trim().parse::<f64>().ok()
            };
            // Device memory, visible to the host or not; the others are the host's and on-chip.
            if !value("heap_type").is_some_and(|kind| kind == 1.0 || kind == 2.0) {
                continue;
            }
            if let Some(size) = value("size_in_bytes").filter(|size| *size > 0.0) {
                banks.total = Some(banks.total.unwrap_or(0.0) + size);
            }
            let used = Attribute::open(&bank.join("used_memory"));
            if used.is_there() {
                banks.used.push(used);
            }
        }
        banks
    }
}

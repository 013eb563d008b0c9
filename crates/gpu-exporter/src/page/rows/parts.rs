//! The series of what a device has several of: parts, blocks, links by direction, clocks, processes.

use gpu_model::Reading;

use super::{Decimal, Rows};
use crate::page::amd_config::HealthThresholds;
use crate::page::catalog::{ClockBound, Direction, ErrorKind, Vocabulary};
use crate::page::labels::Place;
use crate::page::sink::Lines;
use crate::readings::{BlockErrors, ErrorBlock, Field, PartField, Parts, ProcessOccupancy};
use crate::snapshot::{DeviceSnapshot, DeviceState};

/// AMD's clocks in the order in which its exporter numbers them: word, per part, and of the device as it is, at least and at
/// most.
const CLOCKS: [(&str, Option<PartField>, [Field; 3]); 6] = [
    (
        "system",
        Some(PartField::GraphicsClock),
        [
            Field::GraphicsClock,
            Field::GraphicsClockMin,
            Field::GraphicsClockMax,
        ],
    ),
    (
        "memory",
        None,
        [Field::MemoryClock, Field::MemoryClockMin, Field::MemoryClockMax],
    ),
    (
        "video",
        Some(PartField::VideoClock),
        [Field::VideoClock, Field::VideoClockMin, Field::VideoClockMax],
    ),
    (
        "data",
        Some(PartField::DecoderClock),
        [
            Field::DecoderClock,
            Field::DecoderClockMin,
            Field::DecoderClockMax,
        ],
    ),
    (
        "soc",
        Some(PartField::SocClock),
        [Field::SocClock, Field::SocClockMin, Field::SocClockMax],
    ),
    (
        "fabric",
        None,
        [Field::FabricClock, Field::FabricClockMin, Field::FabricClockMax],
    ),
];

impl<'a> Rows<'a> {
    /// The device and its slices, each with its own numbers.
    fn places(&self) -> impl Iterator<Item = (&'a Place, &'a Parts)> {
        let (readings, labels) = (&self.device.readings, self.labels);
        let slices = readings.slices.iter().zip(&labels.slices);
        let of_slices = slices.filter_map(|(slice, place)| Some((place.as_ref()?, &slice.parts)));
        std::iter::once((&labels.whole, &readings.parts)).chain(of_slices)
    }

    pub(super) fn parts(&self, lines: &mut Lines<'_, '_>, series: &[(&str, PartField)]) {
        for (at, (place, parts)) in self.places().enumerate() {
            for (word, field) in series {
                for (index, value) in parts.of(*field) {
                    if at == 0 && self.is_of_first_slice(*field, index) {
                        continue;
                    }
                    let index = Decimal::new(u32::from(index));
                    match self.spec.labels {
                        [name] => self.float(lines, self.block(place), &[(name, index.as_str())], value),
                        [first, second] => {
                            let extra = [(*first, *word), (*second, index.as_str())];
                            self.float(lines, self.block(place), &extra, value);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Whether the first slice has this number of its own: in AMD's names the device goes by the labels of that slice.
    fn is_of_first_slice(&self, field: PartField, index: u16) -> bool {
        let first = self.device.readings.slices.first();
        self.vocabulary == Vocabulary::Amd
            && first.is_some_and(|slice| slice.parts.of(field).any(|(other, _)| other == index))
    }

    /// Each block once, with what it counts.
    fn blocks(&self) -> impl Iterator<Item = &'a BlockErrors> {
        let blocks = &self.device.readings.blocks;
        let is_first = |at: usize| {
            blocks[..at]
                .iter()
                .all(|earlier| earlier.block != blocks[at].block)
        };
        let all = blocks.iter().enumerate();
        all.filter(move |(at, _)| is_first(*at)).map(|(_, block)| block)
    }

    pub(super) fn block_errors(&self, lines: &mut Lines<'_, '_>) {
        for errors in self.blocks() {
            for kind in ErrorKind::ALL {
                if let Some(count) = count_of(errors, kind).known() {
                    let extra = [("block", errors.block.as_str()), ("type", kind.as_str())];
                    self.float(lines, self.whole(), &extra, count);
                }
            }
        }
    }

    pub(super) fn one_block(&self, lines: &mut Lines<'_, '_>, block: ErrorBlock, kind: ErrorKind) {
        let found = self.blocks().find(|errors| errors.block == block);
        if let Some(count) = found.and_then(|errors| count_of(errors, kind).known()) {
            self.float(lines, self.whole(), &[], count);
        }
    }

    pub(super) fn link_direction(&self, lines: &mut Lines<'_, '_>, direction: Direction) {
        let name = self.spec.labels.first().copied().unwrap_or("link");
        for link in self.links() {
            let bytes = match direction {
                Direction::Received => link.received_bytes,
                Direction::Sent => link.sent_bytes,
            };
            if let Some(bytes) = bytes.known() {
                let number = Decimal::new(link.link);
                self.float(lines, self.whole(), &[(name, number.as_str())], bytes);
            }
        }
    }

    /// The list of clocks, numbered over all of them, so that the same clock has the same number in each of the families.
    pub(super) fn clocks(&self, lines: &mut Lines<'_, '_>, bound: ClockBound) {
        let (values, parts) = (&self.device.readings.values, &self.device.readings.parts);
        let mut number = 0;
        for (word, part, [now, lowest, highest]) in CLOCKS {
            let is_there = [now, lowest, highest]
                .iter()
                .any(|field| values.known(*field).is_some());
            let of_parts = part.map_or(0, |part| parts.of(part).count());
            for at in 0..of_parts.max(usize::from(is_there)) {
                let of_part = part.and_then(|part| parts.of(part).nth(at));
                let value = match bound {
                    ClockBound::Now => of_part.map(|(_, value)| value).or_else(|| values.known(now)),
                    ClockBound::Lowest => values.known(lowest),
                    ClockBound::Highest => values.known(highest),
                };
                if let Some(value) = value {
                    let index = Decimal::new(number);
                    let extra = [("clock_index", index.as_str()), ("clock_type", word)];
                    self.float(lines, self.whole(), &extra, value);
                }
                number += 1;
            }
        }
    }

    pub(super) fn occupancy(&self, lines: &mut Lines<'_, '_>) {
        let name = self.spec.labels.first().copied().unwrap_or("process_id");
        let all = &self.device.readings.occupancy;
        let has_slices = self.vocabulary == Vocabulary::Amd && !self.labels.slices.is_empty();
        let place_of = |one: &ProcessOccupancy| self.shown_slice(one.slice).or(has_slices.then_some(0));
        for (at, one) in all.iter().enumerate() {
            let is_same = |other: &ProcessOccupancy| (other.pid, place_of(other)) == (one.pid, place_of(one));
            if all[..at].iter().any(is_same) {
                continue;
            }
            let place = place_of(one).and_then(|at| self.labels.slices[at].as_ref());
            let pid = Decimal::new(one.pid);
            let block = self.block(place.unwrap_or(&self.labels.whole));
            self.float(lines, block, &[(name, pid.as_str())], one.compute_units);
        }
    }

    /// 1 where errors are counted and no block has too many, 0 where one has or the device is gone; nothing where errors are
    /// not counted.
    pub(super) fn health(&self, lines: &mut Lines<'_, '_>, thresholds: &HealthThresholds) {
        if let Some(is_well) = is_well(self.device, thresholds) {
            lines.sample(self.whole(), i32::from(is_well));
        }
    }
}

fn is_well(device: &DeviceSnapshot, thresholds: &HealthThresholds) -> Option<bool> {
    if device.state == DeviceState::Lost {
        return Some(false);
    }
    let blocks = &device.readings.blocks;
    let mut counted = blocks
        .iter()
        .filter_map(|errors| Some((errors.block, errors.uncorrected.known()?)))
        .peekable();
    if counted.peek().is_some() {
        return Some(counted.all(|(block, count)| count <= thresholds.of(block)));
    }
    let total = device.readings.values.known(Field::EccUncorrectedVolatile)?;
    Some(total <= 0.0)
}

fn count_of(errors: &BlockErrors, kind: ErrorKind) -> Reading<f64> {
    match kind {
        ErrorKind::Corrected => errors.corrected,
        ErrorKind::Deferred => errors.deferred,
        ErrorKind::Uncorrected => errors.uncorrected,
    }
}

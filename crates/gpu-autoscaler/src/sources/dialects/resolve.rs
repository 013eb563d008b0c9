//! From the cells of one GPU in one vocabulary to its readings and its parts. What a vocabulary means is known here and nowhere else.

mod amd;
mod dcgm;
mod instances;
mod ours;

use std::time::Duration;

use gpu_model::{
    Attribution, Bytes, Celsius, FaultCount, GpuSample, Megahertz, Millijoules, Milliwatts, PartUsage,
    Permille, Reading, ThrottleReason, ThrottleTime,
};

use super::Dialect;
use super::cells::{Cell, DeviceSlot, PartSlot, Slot};
use super::fields::{Field, Metric};
use super::labels::Picked;

/// What one vocabulary told of one GPU.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) sample: GpuSample,
    pub(super) parts: Vec<ToldPart>,
    /// How old the values already were when the page was made.
    pub(super) age: Duration,
}

#[derive(Debug)]
pub(super) struct ToldPart {
    pub(super) part: Slot,
    pub(super) holder: Slot,
    pub(super) memory_total: Reading<Bytes>,
    pub(super) usage: PartUsage,
    pub(super) attribution: Attribution,
}

/// Which metric a line is about once its labels are known, and which of several; nothing where it is none that we need.
pub(super) fn sort(field: &Field, labels: &Picked<'_>) -> Option<(Metric, u32)> {
    let detail = labels.detail.as_deref();
    let metric = match (field.metric, detail) {
        (Metric::AnyTemperature, Some("gpu")) => Metric::Temperature,
        (Metric::AnyTemperature, Some("hotspot")) => Metric::HotspotTemperature,
        (Metric::AnyTemperature, Some("memory")) => Metric::MemoryTemperature,
        (Metric::AnyClock, Some("sm" | "system")) => Metric::ComputeClock,
        (Metric::AnyClock, Some("graphics")) => Metric::GraphicsClock,
        (Metric::AnyClock, Some("memory")) => Metric::MemoryClock,
        (Metric::Pcie, Some("receive")) => Metric::PcieReceived,
        (Metric::Pcie, Some("transmit")) => Metric::PcieSent,
        (Metric::AnyTemperature | Metric::AnyClock | Metric::Pcie, _) => return None,
        (metric @ (Metric::ThrottleTime | Metric::ThrottledNow), reason) => {
            return throttle_reason(reason?).map(|reason| (metric, reason as u32));
        }
        (Metric::Faults, code) => return Some((Metric::Faults, code?.parse().ok()?)),
        // DCGM's and AMD's families count nothing else; ours tells both kinds.
        (Metric::EccErrors, kind) => {
            let is_wanted = field.dialect != Dialect::Ours || kind == Some("uncorrected");
            return is_wanted.then_some((Metric::EccErrors, 0));
        }
        (metric, _) => metric,
    };
    // Of several clocks of a kind the first stands for the GPU.
    let is_first = labels.detail_index.as_deref().is_none_or(|index| index == "0");
    is_first.then_some((metric, 0))
}

fn throttle_reason(word: &str) -> Option<ThrottleReason> {
    match word {
        "power_cap" | "power" => Some(ThrottleReason::PowerCap),
        "hw_thermal" | "sw_thermal" | "thermal" | "memory_thermal" | "regulator_thermal"
        | "processor_hot" => Some(ThrottleReason::Thermal),
        "hw_slowdown" | "hw_power_brake" => Some(ThrottleReason::HardwareSlowdown),
        _ => None,
    }
}

/// Reads the cells of one GPU in one vocabulary.
pub(super) fn resolve(dialect: Dialect, device: &DeviceSlot, parts: &[PartSlot], cells: &[Cell]) -> Told {
    match dialect {
        Dialect::Ours => ours::resolve(parts, cells),
        Dialect::Dcgm => dcgm::resolve(device, parts, cells),
        Dialect::Amd => amd::resolve(cells),
        Dialect::Smi => {
            let mut told = Told::default();
            for cell in cells {
                told.take(cell);
            }
            told.memory_from_its_parts(cells);
            told
        }
    }
}

impl Told {
    /// Takes a value of the whole GPU; the first of its kind stays.
    fn take(&mut self, cell: &Cell) {
        let sample = &mut self.sample;
        let value = cell.value;
        match cell.metric {
            Metric::Utilization => first(&mut sample.utilization, share(value)),
            Metric::MemoryBandwidth => first(&mut sample.memory_bandwidth, share(value)),
            Metric::SmActive => first(&mut sample.sm_active, share(value)),
            Metric::SmOccupancy => first(&mut sample.sm_occupancy, share(value)),
            Metric::TensorActive => first(&mut sample.tensor_active, share(value)),
            Metric::DramActive => first(&mut sample.dram_active, share(value)),
            Metric::MemoryUsed => first(&mut sample.memory_used, bytes(value)),
            Metric::MemoryTotal => first(&mut sample.memory_total, bytes(value)),
            Metric::Power => first(&mut sample.power, small(value).map(Milliwatts)),
            Metric::PowerLimit => first(&mut sample.power_limit, small(value).map(Milliwatts)),
            Metric::Energy => first(&mut sample.energy, counted(value).map(Millijoules)),
            Metric::Temperature => sample.temperature = celsius(value),
            Metric::HotspotTemperature => first(&mut sample.temperature, celsius(value)),
            Metric::MemoryTemperature => first(&mut sample.memory_temperature, celsius(value)),
            Metric::ComputeClock => sample.compute_clock = small(value).map(Megahertz),
            Metric::GraphicsClock => first(&mut sample.compute_clock, small(value).map(Megahertz)),
            Metric::MemoryClock => first(&mut sample.memory_clock, small(value).map(Megahertz)),
            Metric::Busy => first(&mut sample.busy, counted(value).map(Duration::from_micros)),
            Metric::PcieReceived => first(&mut sample.pcie_received, bytes(value)),
            Metric::PcieSent => first(&mut sample.pcie_sent, bytes(value)),
            Metric::Processes => first(&mut sample.processes, small(value)),
            Metric::EccErrors => first(&mut sample.ecc_uncorrected, counted(value)),
            Metric::RowRemapFailed => first(&mut sample.row_remap_failed, Reading::Known(value == 1)),
            Metric::RowRemapPending => first(&mut sample.row_remap_pending, Reading::Known(value == 1)),
            Metric::Age => self.age = Duration::from_micros(u64::try_from(value).unwrap_or_default()),
            _ => self.take_list(cell),
        }
    }

    /// Metrics of which a GPU has several.
    fn take_list(&mut self, cell: &Cell) {
        let sample = &mut self.sample;
        match cell.metric {
            Metric::ThrottleTime => {
                let Some(reason) = reason(cell.detail) else { return };
                let total = Duration::from_micros(u64::try_from(cell.value).unwrap_or_default());
                let known = sample
                    .throttle_times
                    .iter_mut()
                    .find(|time| time.reason == reason);
                match known {
                    // Reasons of one kind hold at the same time: the longest of them is what is known for sure.
                    Some(known) => known.total = known.total.max(total),
                    None => sample.throttle_times.push(ThrottleTime { reason, total }),
                }
            }
            Metric::ThrottledNow => {
                let Some(reason) = reason(cell.detail) else { return };
                let mut reasons = sample.throttled_by.clone().known().unwrap_or_default();
                if cell.value == 1 && !reasons.contains(&reason) {
                    reasons.push(reason);
                }
                sample.throttled_by = Reading::Known(reasons);
            }
            Metric::ThrottleMask => first(&mut sample.throttled_by, Reading::Known(mask(cell.value))),
            Metric::Faults => {
                let count = u64::try_from(cell.value).unwrap_or_default();
                sample.faults.push(FaultCount {
                    code: cell.detail,
                    count,
                });
            }
            _ => {}
        }
    }

    /// The code of the last fault says that it came at least once. Where faults are counted, it says nothing new.
    fn take_last_fault(&mut self, cells: &[Cell]) {
        for cell in cells.iter().filter(|cell| cell.metric == Metric::LastFault) {
            let Ok(code) = u32::try_from(cell.value) else {
                continue;
            };
            if code != 0 && self.sample.faults.iter().all(|fault| fault.code != code) {
                self.sample.faults.push(FaultCount { code, count: 1 });
            }
        }
    }

    /// Where the total is not told, it is what is used, free and reserved.
    fn memory_from_its_parts(&mut self, cells: &[Cell]) {
        if self.sample.memory_total.is_known() {
            return;
        }
        let of = |metric| {
            cells
                .iter()
                .find(|cell| cell.metric == metric)
                .map(|cell| cell.value)
        };
        if let (Some(used), Some(free)) = (of(Metric::MemoryUsed), of(Metric::MemoryFree)) {
            let reserved = of(Metric::MemoryReserved).unwrap_or_default();
            self.sample.memory_total = bytes(used + free + reserved);
        }
    }

    /// The driver could not read the GPU: what is missing is missing for now, not for good.
    fn is_down(&mut self) {
        fail(&mut self.sample.utilization);
        fail(&mut self.sample.memory_used);
        fail(&mut self.sample.power);
        fail(&mut self.sample.temperature);
        fail(&mut self.sample.sm_active);
    }
}

fn fail<T>(reading: &mut Reading<T>) {
    if !reading.is_known() {
        *reading = Reading::Failed;
    }
}

fn first<T>(place: &mut Reading<T>, found: Reading<T>) {
    if !place.is_known() {
        *place = found;
    }
}

fn share(value: i64) -> Reading<Permille> {
    u16::try_from(value).map_or(Reading::Unsupported, |value| {
        Reading::Known(Permille::clamped(value))
    })
}

fn bytes(value: i64) -> Reading<Bytes> {
    counted(value).map(Bytes)
}

fn counted(value: i64) -> Reading<u64> {
    u64::try_from(value).map_or(Reading::Unsupported, Reading::Known)
}

fn small(value: i64) -> Reading<u32> {
    u32::try_from(value).map_or(Reading::Unsupported, Reading::Known)
}

fn celsius(value: i64) -> Reading<Celsius> {
    i16::try_from(value).map_or(Reading::Unsupported, |value| Reading::Known(Celsius(value)))
}

const REASONS: [ThrottleReason; 3] = [
    ThrottleReason::PowerCap,
    ThrottleReason::Thermal,
    ThrottleReason::HardwareSlowdown,
];

fn reason(detail: u32) -> Option<ThrottleReason> {
    REASONS.into_iter().find(|reason| *reason as u32 == detail)
}

/// NVML's bits; idle clocks, application clocks and the like are no throttling.
fn mask(bits: i64) -> Vec<ThrottleReason> {
    let bits_of = |reason| match reason {
        ThrottleReason::PowerCap => 0x4,
        ThrottleReason::Thermal => 0x20 | 0x40,
        ThrottleReason::HardwareSlowdown => 0x8 | 0x80,
    };
    let holds = |reason: &ThrottleReason| bits & bits_of(*reason) != 0;
    REASONS.into_iter().filter(holds).collect()
}

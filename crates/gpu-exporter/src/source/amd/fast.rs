//! What is cheap enough for every second, from files that stay open.
//!
//! Where a number comes from, the first that has it:
//! - utilisation: the kernel's own percentage, which has one unit on every chip, then the firmware's table;
//! - power, temperatures, clocks, voltages: the table, which is one question to the firmware for all of them, then the sensors;
//! - energy: the table of chips that count it in a known unit; otherwise power is summed up over time;
//! - memory: the kernel's allocator, which asks no hardware.
//!
//! A device that sleeps is not woken: its memory is shown and nothing else.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gpu_model::Reading;
use tracing::{info, warn};

use super::attribute::{Attribute, PAGE, Tally};
use super::card::Card;
use super::fill::{self, awake, put};
use super::growth::Unwrapped;
use super::processes::ProcessReader;
use super::sensors::{Inputs, Sensors, scaled};
use super::slices::{Limits, SliceReader};
use super::tables::{self, ENERGY_STEPS_A_JOULE, Metrics, TableError};
use super::throttle::Throttling;
use crate::readings::{DeviceReadings, Field, Values};
use crate::source::{DeviceReader, DriverFault};

const MILLI: f64 = 1e3;
const MICRO: f64 = 1e6;
const PERCENT: f64 = 1e2;

pub(super) struct FastReader {
    address: String,
    /// Whether the energy counter of the older tables has the unit of the newer ones.
    counts_energy: bool,
    files: Files,
    sensors: Sensors,
    buffer: Box<[u8; PAGE]>,
    tally: Tally,
    table_at: Option<Instant>,
    throttling: Throttling,
    limits: Limits,
    energy: Unwrapped,
    slices: SliceReader,
    processes: ProcessReader,
    seen: Seen,
    /// The last problem with the table, which is told when it changes.
    told: Option<&'static str>,
    is_asleep: bool,
}

struct Files {
    status: Attribute,
    table: Attribute,
    busy: Attribute,
    memory_busy: Attribute,
    video_busy: Attribute,
    memory_total: Attribute,
    memory_used: Attribute,
    visible_used: Attribute,
    host_used: Attribute,
}

impl Files {
    fn open(directory: &Path) -> Self {
        let file = |name: &str| Attribute::open(&directory.join(name));
        Self {
            status: file("power/runtime_status"),
            table: file("gpu_metrics"),
            busy: file("gpu_busy_percent"),
            memory_busy: file("mem_busy_percent"),
            video_busy: file("vcn_busy_percent"),
            memory_total: file("mem_info_vram_total"),
            memory_used: file("mem_info_vram_used"),
            visible_used: file("mem_info_vis_vram_used"),
            host_used: file("mem_info_gtt_used"),
        }
    }
}

/// Which fields this device has ever given. One that is missing later has failed: a counter that comes and goes would
/// otherwise be taken for one that the device never had.
struct Seen([bool; Field::COUNT]);

impl Seen {
    fn settle(&mut self, values: &mut Values) {
        for (field, seen) in Field::ALL.iter().zip(&mut self.0) {
            match values.get(*field) {
                Reading::Known(_) => *seen = true,
                Reading::Unsupported if *seen => {
                    values.set(*field, Reading::Failed);
                }
                Reading::Unsupported | Reading::Failed => {}
            }
        }
    }
}

impl FastReader {
    pub(super) fn new(card: &Arc<Card>, processes: ProcessReader) -> Self {
        let gfx = card.node.as_ref().and_then(|node| node.gfx);
        let gfx = gfx.map(|gfx| (gfx.major, gfx.minor, gfx.stepping));
        Self {
            address: card.found.address.clone(),
            // MI100 and MI200; Radeon boards count in a unit of their own.
            counts_energy: matches!(gfx, Some((9, 0, 8 | 10)))
                || matches!(card.chip, Some(0x738c | 0x738e | 0x7408 | 0x740c | 0x740f)),
            files: Files::open(&card.found.directory),
            sensors: Sensors::open(&Inputs::find(card.hwmon.as_deref())),
            buffer: Box::new([0; PAGE]),
            tally: Tally::default(),
            table_at: None,
            throttling: Throttling::default(),
            limits: Limits::default(),
            energy: Unwrapped::default(),
            slices: SliceReader::new(card),
            processes,
            seen: Seen([false; Field::COUNT]),
            told: None,
            is_asleep: false,
        }
    }

    /// Anything else than asleep is awake: an unknown word must not hide a device.
    fn looks_asleep(&mut self) -> bool {
        let status = self.files.status.text(self.buffer.as_mut_slice());
        let is_asleep = matches!(status, Ok("suspended" | "suspending"));
        if is_asleep != self.is_asleep {
            info!(device = %self.address, is_asleep, "a GPU fell asleep or awoke; it is not woken to be read");
        }
        self.is_asleep = is_asleep;
        is_asleep
    }

    fn read_memory(&mut self, into: &mut DeviceReadings) {
        let buffer = self.buffer.as_mut_slice();
        let files = &mut self.files;
        let mut bytes = |attribute: &mut Attribute, into: &mut DeviceReadings| {
            let outcome = attribute.integer(buffer);
            self.tally.note(into, outcome).map(|bytes| bytes as f64)
        };
        let total = bytes(&mut files.memory_total, into);
        let used = bytes(&mut files.memory_used, into);
        let visible = bytes(&mut files.visible_used, into);
        let host = bytes(&mut files.host_used, into);
        // A device without memory of its own says 0, which is not a size.
        let total = match total {
            Reading::Known(0.0) => Reading::Unsupported,
            other => other,
        };
        into.set(Field::MemoryTotal, total);
        into.set(Field::MemoryUsed, used);
        let free = total.zip(used).map(|(total, used)| (total - used).max(0.0));
        into.set(Field::MemoryFree, free);
        into.set(Field::VisibleMemoryUsed, visible);
        into.set(Field::HostMemoryUsed, host);
    }

    /// The firmware's table, or as much of it as could be read. What was wrong with it is counted every time and told once.
    fn read_table(&mut self, into: &mut DeviceReadings) -> Option<Metrics> {
        let bytes = self.files.table.bytes(self.buffer.as_mut_slice());
        let parsed = match bytes {
            Ok(bytes) => tables::parse(bytes),
            Err(trouble) => {
                self.tally.note::<()>(into, Err(trouble));
                return None;
            }
        };
        match parsed {
            Ok(table) => {
                self.told = None;
                self.tally.note(into, Ok(()));
                Some(table)
            }
            Err(error) => {
                let class = error.class();
                into.failed.push(class);
                if self.told != Some(class) {
                    self.told = Some(class);
                    warn!(device = %self.address, problem = %error, "cannot use the firmware's table of a GPU, or not all of it");
                }
                match error {
                    TableError::Truncated { partial, .. } | TableError::UnknownType { partial, .. } => {
                        Some(*partial)
                    }
                    TableError::Empty
                    | TableError::ShorterThanHeader { .. }
                    | TableError::UnknownVersion { .. } => None,
                }
            }
        }
    }

    fn read_awake(&mut self, into: &mut DeviceReadings) {
        let table = self.read_table(into);
        let table = table.as_ref();
        let ticks = table.and_then(|table| self.take_table(table, into));
        self.read_activity(table, into);
        self.read_sensors(into);
        let slices = table.map(|table| (table, ticks));
        self.slices.read(slices, &mut self.buffer, into);
    }

    fn take_table(&mut self, table: &Metrics, into: &mut DeviceReadings) -> Option<u64> {
        let now = Instant::now();
        let seconds = self
            .table_at
            .replace(now)
            .map_or(0.0, |before| now.saturating_duration_since(before).as_secs_f64());
        fill::fill(table, into);
        let ticks = self.throttling.update(table, seconds, into);
        let joules = table.energy_joules.or_else(|| self.joules(table));
        put(into, Field::Energy, awake(joules));
        if self.slices.is_empty() {
            fill::parts(
                &mut into.parts,
                crate::readings::PartField::GraphicsClock,
                several(&table.gfx_clock_hertz),
            );
            for engines in [&table.whole, &table.partitions[0]] {
                fill::engines(engines, &mut into.parts);
            }
            let counted = match table.partitions[0] == tables::Engines::EMPTY {
                true => &table.whole,
                false => &table.partitions[0],
            };
            self.limits.update(counted, ticks, &mut into.parts);
        }
        ticks
    }

    /// The counter of the older tables; that of v1.0 has 32 bits.
    fn joules(&mut self, table: &Metrics) -> Option<f64> {
        let raw = table.energy_raw.filter(|raw| self.counts_energy && *raw > 0)?;
        let is_short = table.version.format == 1 && table.version.content == 0;
        let raw = match u32::try_from(raw) {
            Ok(short) if is_short => self.energy.take(short),
            _ => raw,
        };
        Some(raw as f64 / ENERGY_STEPS_A_JOULE as f64)
    }

    fn read_activity(&mut self, table: Option<&Metrics>, into: &mut DeviceReadings) {
        let buffer = self.buffer.as_mut_slice();
        let questions = [
            (
                Field::Utilization,
                &mut self.files.busy,
                table.and_then(|table| table.gfx_busy_ratio),
            ),
            (
                Field::MemoryBandwidthUtilization,
                &mut self.files.memory_busy,
                table.and_then(|table| table.memory_busy_ratio),
            ),
            (
                Field::MediaUtilization,
                &mut self.files.video_busy,
                into.values.known(Field::MediaUtilization),
            ),
        ];
        for (field, attribute, of_table) in questions {
            let reading = match (attribute.integer(buffer), of_table) {
                (Ok(percent), _) => self.tally.note(into, Ok(percent as f64 / PERCENT)),
                (Err(_), Some(ratio)) => Reading::Known(ratio),
                (Err(trouble), None) => self.tally.note(into, Err(trouble)),
            };
            into.set(field, reading);
        }
    }

    /// Fills what the table does not have.
    fn read_sensors(&mut self, into: &mut DeviceReadings) {
        let sensors = &mut self.sensors;
        let values = [
            (Field::EdgeTemperature, &mut sensors.edge, MILLI),
            (Field::HotspotTemperature, &mut sensors.hotspot, MILLI),
            (Field::MemoryTemperature, &mut sensors.memory, MILLI),
            (Field::GraphicsVoltage, &mut sensors.graphics_voltage, MILLI),
        ];
        let buffer = self.buffer.as_mut_slice();
        for (field, attribute, unit) in values {
            if !into.values.get(field).is_known() {
                let outcome = scaled(attribute, buffer, unit);
                let reading = self.tally.note(into, outcome);
                into.set(field, reading);
            }
        }
        let has_power = [Field::PowerInstant, Field::PowerAverage]
            .iter()
            .any(|field| into.values.get(*field).is_known());
        if !has_power {
            let powers = [
                (Field::PowerInstant, &mut sensors.power_now),
                (Field::PowerAverage, &mut sensors.power_average),
            ];
            for (field, attribute) in powers {
                let outcome = scaled(attribute, buffer, MICRO);
                let reading = self.tally.note(into, outcome);
                into.set(field, reading);
            }
        }
        let clocks = [
            (Field::GraphicsClock, &mut sensors.graphics_clock),
            (Field::MemoryClock, &mut sensors.memory_clock),
        ];
        for (field, attribute) in clocks {
            if !into.values.get(field).is_known() {
                let outcome = attribute.integer(buffer).map(|hertz| hertz as f64);
                let reading = self.tally.note(into, outcome);
                into.set(field, reading);
                if field == Field::GraphicsClock {
                    into.set(Field::SmClock, reading);
                }
            }
        }
        let first = |fields: [Field; 2], values: &Values| match values.get(fields[0]) {
            Reading::Known(value) => Reading::Known(value),
            _ => values.get(fields[1]),
        };
        let temperature = first([Field::EdgeTemperature, Field::HotspotTemperature], &into.values);
        into.set(Field::Temperature, temperature);
        let power = first([Field::PowerInstant, Field::PowerAverage], &into.values);
        into.set(Field::Power, power);
    }
}

impl DeviceReader for FastReader {
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        self.tally.start();
        into.values = Values::default();
        into.parts.clear();
        into.links.clear();
        into.throttled = Reading::Unsupported;
        self.read_memory(into);
        if self.looks_asleep() {
            self.table_at = None;
            self.slices.read(None, &mut self.buffer, into);
        } else {
            self.read_awake(into);
        }
        self.processes.read(into);
        self.seen.settle(&mut into.values);
        self.tally.finish()
    }
}

/// A list with a single entry is the device's own number.
fn several(values: &[Option<f64>]) -> &[Option<f64>] {
    match values.iter().flatten().count() {
        0 | 1 => &[],
        _ => values,
    }
}

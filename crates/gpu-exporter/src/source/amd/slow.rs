//! What blocks or changes slowly: limits, clock ranges, the bus, errors, fans. Files are opened for each look, so that a node
//! of many GPUs does not hold thousands open for what is read twice a minute.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpu_model::Reading;

use super::attribute::{Attribute, MALFORMED, PAGE, Tally, Trouble, names};
use super::card::Card;
use super::fill::generation;
use super::sensors::{Inputs, scaled};
use super::text;
use crate::readings::{BlockErrors, DeviceReadings, ErrorBlock, Field, PeerPath, Values};
use crate::source::{DeviceReader, DriverFault};

/// A line for each bad page of 35 bytes: far more pages than a board has before it is replaced.
const LARGEST_PAGE_LIST: usize = 256 * 1024;

/// The files with the steps of each clock, and the fields for now, lowest and highest.
const CLOCKS: [(&str, Field, Field, Field); 6] = [
    (
        "pp_dpm_sclk",
        Field::GraphicsClock,
        Field::GraphicsClockMin,
        Field::GraphicsClockMax,
    ),
    (
        "pp_dpm_mclk",
        Field::MemoryClock,
        Field::MemoryClockMin,
        Field::MemoryClockMax,
    ),
    (
        "pp_dpm_socclk",
        Field::SocClock,
        Field::SocClockMin,
        Field::SocClockMax,
    ),
    (
        "pp_dpm_fclk",
        Field::FabricClock,
        Field::FabricClockMin,
        Field::FabricClockMax,
    ),
    (
        "pp_dpm_vclk",
        Field::VideoClock,
        Field::VideoClockMin,
        Field::VideoClockMax,
    ),
    (
        "pp_dpm_dclk",
        Field::DecoderClock,
        Field::DecoderClockMin,
        Field::DecoderClockMax,
    ),
];

pub(super) struct SlowReader {
    directory: PathBuf,
    inputs: Inputs,
    peers: Vec<PeerPath>,
    buffer: Box<[u8; PAGE]>,
    tally: Tally,
    /// The counters of the bus block for a second: not before there is a first page.
    is_first: bool,
}

impl SlowReader {
    pub(super) fn new(card: &Arc<Card>, peers: Vec<PeerPath>) -> Self {
        Self {
            directory: card.found.directory.clone(),
            inputs: Inputs::find(card.hwmon.as_deref()),
            peers,
            buffer: Box::new([0; PAGE]),
            tally: Tally::default(),
            is_first: true,
        }
    }

    /// What a file of the device says.
    fn ask<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Trouble> {
        let text = Attribute::open(&self.directory.join(name))
            .text(self.buffer.as_mut_slice())?
            .to_owned();
        match text.is_empty() {
            true => Err(Trouble::Unsupported),
            false => parse(&text).ok_or(MALFORMED),
        }
    }

    fn number(&mut self, into: &mut DeviceReadings, field: Field, name: &str) {
        let outcome = self.ask(name, text::number).map(|number| number as f64);
        let reading = self.tally.note(into, outcome);
        into.set(field, reading);
    }

    /// A file of the sensors in base units.
    fn sensor(&mut self, into: &mut DeviceReadings, field: Field, path: Option<PathBuf>, unit: f64) {
        let outcome = match path {
            Some(path) => scaled(&mut Attribute::open(&path), self.buffer.as_mut_slice(), unit),
            None => Err(Trouble::Unsupported),
        };
        let reading = self.tally.note(into, outcome);
        into.set(field, reading);
    }

    fn read_limits(&mut self, into: &mut DeviceReadings) {
        let limits = [
            (Field::PowerLimit, "power1_cap"),
            (Field::PowerLimitManagement, "power1_cap"),
            (Field::PowerLimitDefault, "power1_cap_default"),
            (Field::PowerLimitMin, "power1_cap_min"),
            (Field::PowerLimitMax, "power1_cap_max"),
        ];
        for (field, name) in limits {
            let path = self.inputs.path(name);
            self.sensor(into, field, Some(path), 1e6);
        }
        let first = self.inputs.edge.clone().or_else(|| self.inputs.hotspot.clone());
        let memory = self.inputs.memory.clone();
        let thresholds = [
            (Field::TemperatureSlowdown, &first, "crit"),
            (Field::TemperatureShutdown, &first, "emergency"),
            (Field::MemoryTemperatureMaxOperating, &memory, "crit"),
        ];
        for (field, input, suffix) in thresholds {
            let path = self.inputs.file(input.as_deref(), suffix);
            self.sensor(into, field, path, 1e3);
        }
    }

    fn read_fan(&mut self, into: &mut DeviceReadings) {
        let mut integer = |name: &str| {
            let path = self.inputs.path(name);
            Attribute::open(&path).integer(self.buffer.as_mut_slice())
        };
        let speed = integer("fan1_input").map(|turns| turns as f64);
        let duty = integer("pwm1").and_then(|pwm| match integer("pwm1_max") {
            Ok(most) if most > 0 => Ok(pwm as f64 / most as f64),
            Ok(_) => Err(MALFORMED),
            Err(trouble) => Err(trouble),
        });
        for (field, outcome) in [(Field::FanSpeed, speed), (Field::FanDuty, duty)] {
            let reading = self.tally.note(into, outcome);
            into.set(field, reading);
        }
    }

    fn read_clocks(&mut self, into: &mut DeviceReadings) {
        for (name, now, lowest, highest) in CLOCKS {
            // Some chips have the file and no steps in it.
            let levels = match self.ask(name, |text| Some(text::clock_levels(text))) {
                Ok(levels) => levels.ok_or(Trouble::Unsupported),
                Err(trouble) => Err(trouble),
            };
            let levels = self.tally.note(into, levels);
            into.set(lowest, levels.map(|levels| levels.lowest_hertz));
            into.set(highest, levels.map(|levels| levels.highest_hertz));
            // What the quick half reads wins; this is for devices where only the steps are known.
            let current = levels.known().and_then(|levels| levels.current_hertz);
            into.set(now, current.map_or(Reading::Unsupported, Reading::Known));
        }
        let most = into.values.get(Field::GraphicsClockMax);
        into.set(Field::SmClockMax, most);
    }

    fn read_bus(&mut self, into: &mut DeviceReadings) {
        let speeds = [
            (
                "current_link_speed",
                Field::PcieLinkSpeed,
                Field::PcieLinkGeneration,
            ),
            (
                "max_link_speed",
                Field::PcieLinkSpeedMax,
                Field::PcieLinkGenerationMax,
            ),
        ];
        for (name, speed, generation_of) in speeds {
            let outcome = self.ask(name, |text| Some(text::link_transfers_per_second(text)));
            let outcome = outcome.and_then(|speed| speed.ok_or(Trouble::Unsupported));
            let reading = self.tally.note(into, outcome);
            into.set(speed, reading);
            let number = reading.known().and_then(generation);
            into.set(generation_of, number.map_or(Reading::Unsupported, Reading::Known));
        }
        let widths = [
            ("current_link_width", Field::PcieLinkWidth),
            ("max_link_width", Field::PcieLinkWidthMax),
        ];
        for (name, field) in widths {
            let outcome = self.ask(name, |text| Some(text::link_width(text)));
            let outcome = outcome.and_then(|width| width.map(f64::from).ok_or(Trouble::Unsupported));
            let reading = self.tally.note(into, outcome);
            into.set(field, reading);
        }
        self.number(into, Field::PcieReplays, "pcie_replay_count");
        self.number(into, Field::VisibleMemoryTotal, "mem_info_vis_vram_total");
        self.number(into, Field::HostMemoryTotal, "mem_info_gtt_total");
    }

    /// Packets within a second, each taken for a full one: not a mean but the most that it can have been.
    fn read_throughput(&mut self, into: &mut DeviceReadings) {
        if std::mem::take(&mut self.is_first) {
            return;
        }
        let outcome = self.ask("pcie_bw", text::pcie_bandwidth);
        let reading = self.tally.note(into, outcome);
        let bytes = |packets: u64, payload: u64| packets.saturating_mul(payload) as f64;
        into.set(
            Field::PcieSentSample,
            reading.map(|seen| bytes(seen.sent_packets, seen.max_payload_bytes)),
        );
        into.set(
            Field::PcieReceivedSample,
            reading.map(|seen| bytes(seen.received_packets, seen.max_payload_bytes)),
        );
    }

    fn read_errors(&mut self, into: &mut DeviceReadings) {
        into.blocks.clear();
        for name in names(&self.directory.join("ras")).unwrap_or_default() {
            let Some(block) = name.strip_suffix("_err_count").and_then(block) else {
                continue;
            };
            let outcome = self.ask(&format!("ras/{name}"), text::error_counts);
            let Reading::Known(counts) = self.tally.note(into, outcome) else {
                continue;
            };
            let count =
                |value: Option<u64>| value.map_or(Reading::Unsupported, |value| Reading::Known(value as f64));
            if !into.blocks.iter().any(|known| known.block == block) {
                into.blocks.push(BlockErrors {
                    block,
                    corrected: count(counts.correctable),
                    uncorrected: count(counts.uncorrectable),
                    deferred: count(counts.deferred),
                });
            }
        }
        let sum = |of: fn(&BlockErrors) -> Reading<f64>| {
            let known = into.blocks.iter().filter_map(|block| of(block).known());
            known
                .reduce(|a, b| a + b)
                .map_or(Reading::Unsupported, Reading::Known)
        };
        let (corrected, uncorrected) = (sum(|block| block.corrected), sum(|block| block.uncorrected));
        let deferred = sum(|block| block.deferred);
        into.set(Field::EccCorrectedVolatile, corrected);
        into.set(Field::EccUncorrectedVolatile, uncorrected);
        into.set(Field::EccDeferredVolatile, deferred);
        let pages = page_list(&self.directory.join("ras/gpu_vram_bad_pages"));
        let pages = pages.map_or(Reading::Unsupported, |text| {
            Reading::Known(text::bad_pages(&text))
        });
        into.set(Field::BadPagesRetired, pages.map(|pages| pages.retired as f64));
        into.set(Field::BadPagesPending, pages.map(|pages| pages.pending as f64));
        into.set(
            Field::BadPagesUnreservable,
            pages.map(|pages| pages.unreservable as f64),
        );
    }
}

impl DeviceReader for SlowReader {
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        self.tally.start();
        into.values = Values::default();
        into.blocks.clear();
        into.peers.clone_from(&self.peers);
        let status = self.ask("power/runtime_status", |text| Some(text.starts_with("suspend")));
        if status == Ok(true) {
            return Ok(());
        }
        self.read_limits(into);
        self.read_fan(into);
        self.read_clocks(into);
        self.read_bus(into);
        self.read_errors(into);
        self.read_throughput(into);
        self.tally.finish()
    }
}

/// The block behind the name of a file.
fn block(name: &str) -> Option<ErrorBlock> {
    let name = match name {
        "pcie_bif" => "bif",
        other => other,
    };
    ErrorBlock::ALL.into_iter().find(|block| block.as_str() == name)
}

/// The list of bad pages, which may be longer than a page of memory.
fn page_list(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let mut list = Vec::new();
    let mut piece = [0; PAGE];
    while list.len() < LARGEST_PAGE_LIST {
        match file.read_at(&mut piece, list.len() as u64) {
            Ok(0) => break,
            Ok(length) => list.extend_from_slice(&piece[..length]),
            Err(_) => return None,
        }
    }
    text::text(&list).map(str::to_owned)
}

//! What `rocm-smi --json` says of a card, in the spellings of ROCm 2 to 7.

use std::sync::Arc;

use gpu_model::{Reading, Vendor};
use serde_json::Value;

use super::super::tool::json::{JsonFiller, Object, amd_uuid, document, pcie_generation};
use super::super::tool::quantity::Unit;
use super::super::tool::{Answer, Told, kernel_address};
use super::super::{DriverFault, Listed};
use crate::readings::{DeviceReadings, Field, ProcessReading};
use crate::snapshot::{Board, Identity};

/// As many as are listed of any source.
const MOST_CARDS: usize = 256;
const MOST_PROCESSES: usize = 4096;

const PLACES: &[(Field, Unit, &[&str])] = &[
    // The names without a unit are those of the first versions, which wrote it behind the number.
    (Field::Utilization, Unit::Percent, &["GPU use (%)", "GPU use"]),
    // Up to ROCm 6.0 the busy time of the memory was called its use.
    (
        Field::MemoryBandwidthUtilization,
        Unit::Percent,
        &["GPU Memory Read/Write Activity (%)", "GPU memory use (%)"],
    ),
    (Field::MemoryTotal, Unit::Bytes, &["VRAM Total Memory (B)"]),
    (Field::MemoryUsed, Unit::Bytes, &["VRAM Total Used Memory (B)"]),
    (
        Field::VisibleMemoryTotal,
        Unit::Bytes,
        &["VIS_VRAM Total Memory (B)"],
    ),
    (
        Field::VisibleMemoryUsed,
        Unit::Bytes,
        &["VIS_VRAM Total Used Memory (B)"],
    ),
    (Field::HostMemoryTotal, Unit::Bytes, &["GTT Total Memory (B)"]),
    (Field::HostMemoryUsed, Unit::Bytes, &["GTT Total Used Memory (B)"]),
    (
        Field::PowerAverage,
        Unit::Watts,
        &[
            "Average Graphics Package Power (W)",
            "Average Graphics Package Power(W)",
            "Average Graphics Package Power",
        ],
    ),
    (
        Field::PowerInstant,
        Unit::Watts,
        &["Current Socket Graphics Package Power (W)"],
    ),
    (
        Field::PowerLimit,
        Unit::Watts,
        &["Max Graphics Package Power (W)"],
    ),
    (
        Field::EdgeTemperature,
        Unit::Celsius,
        &[
            "Temperature (Sensor edge) (C)",
            "Temperature (Sensor #1)",
            "Temperature",
        ],
    ),
    (
        Field::HotspotTemperature,
        Unit::Celsius,
        &["Temperature (Sensor junction) (C)"],
    ),
    (
        Field::MemoryTemperature,
        Unit::Celsius,
        &["Temperature (Sensor memory) (C)", "Temperature (Sensor mem) (C)"],
    ),
    (Field::PcieReplays, Unit::Count, &["PCIe Replay Count"]),
    (Field::FanSpeed, Unit::Count, &["Fan RPM"]),
    (Field::FanDuty, Unit::Percent, &["Fan speed (%)"]),
];

/// The name of each clock and where it goes.
const CLOCKS: &[(&str, Field)] = &[
    ("sclk", Field::GraphicsClock),
    ("mclk", Field::MemoryClock),
    ("fclk", Field::FabricClock),
    ("socclk", Field::SocClock),
];

/// Understands what was printed; none where it is not that.
pub fn rocm_answer(text: &str) -> Option<Answer> {
    let document = document(text)?;
    let root = Object::of(&document)?;
    let system = root.get("system").and_then(Object::of);
    let driver = system
        .and_then(|system| system.word(&["Driver version"]))
        .unwrap_or_default();
    let mut cards: Vec<(u32, Object<'_>)> = root
        .0
        .iter()
        .filter_map(|(key, card)| Some((key.strip_prefix("card")?.parse().ok()?, Object::of(card)?)))
        .take(MOST_CARDS)
        .collect();
    if cards.is_empty() {
        return None;
    }
    cards.sort_by_key(|(index, _)| *index);
    let mut answer = Answer::default();
    for (index, card) in &cards {
        let mut told = told(*index, *card, &driver);
        if let (1, Some(system), Ok(readings)) = (cards.len(), system, &mut told.outcome) {
            readings.processes = processes(system);
        }
        let is_twin = |other: &Told| other.listed.identity.uuid == told.listed.identity.uuid;
        if answer.devices.iter().any(is_twin) {
            // Partitions of one card have its id, and nothing tells their memory apart.
            answer
                .undescribed
                .push(DriverFault::Failed { class: "partition" });
        } else {
            answer.devices.push(told);
        }
    }
    Some(answer)
}

fn told(index: u32, card: Object<'_>, driver: &str) -> Told {
    let address = kernel_address(&card.word(&["PCI Bus"]).unwrap_or_else(|| format!("card{index}")));
    let series = card.word(&["Card series", "Device Name", "Product Name", "Card model"]);
    let identity = Identity {
        vendor: Vendor::Amd,
        index,
        minor: None,
        uuid: amd_uuid(card.word(&["Unique ID"]).as_deref(), &address),
        model: series.as_deref().map(market_name).unwrap_or_default(),
        pci_bus_id: address,
        serial: card.word(&["Serial Number"]),
        vbios: card.word(&["VBIOS version"]),
        driver_version: driver.to_owned(),
        architecture: None,
        board: Board {
            series,
            maker: card.word(&["Card vendor"]),
            ..Board::default()
        },
    };
    Told {
        listed: Listed {
            identity: Arc::new(identity),
            layout: Vec::new(),
        },
        outcome: readings(card),
    }
}

/// `Arcturus GL-XL [Instinct MI100]` is sold as what stands in the brackets.
fn market_name(series: &str) -> String {
    let inner = series.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(series, |(name, _)| name).trim().to_owned()
}

fn readings(card: Object<'_>) -> Result<DeviceReadings, DriverFault> {
    let mut filler = JsonFiller::default();
    filler.fill(card, PLACES);
    let values = &filler.readings.values;
    let power = match values.get(Field::PowerInstant) {
        Reading::Unsupported => values.get(Field::PowerAverage),
        instant => instant,
    };
    filler.set(Field::Power, power);
    filler.first_temperature();
    // The counter starts with the driver; a card in use that has counted nothing has no counter.
    let energy = filler
        .number(card, &["Accumulated Energy (uJ)"], Unit::Count)
        .map(|micro| micro / 1e6);
    filler.set(
        Field::Energy,
        if energy == Reading::Known(0.0) {
            Reading::Unsupported
        } else {
            energy
        },
    );
    for (name, field) in CLOCKS {
        let speed = [format!("{name} clock speed"), format!("{name} clock level")];
        let hertz = clock(card, &speed);
        filler.set(*field, hertz);
    }
    if let Some((gigatransfers, lanes)) = card.word(&["pcie clock level"]).as_deref().and_then(bus) {
        filler.set(Field::PcieLinkSpeed, Reading::Known(gigatransfers * 1e9));
        filler.set(Field::PcieLinkWidth, Reading::Known(lanes));
        let generation = pcie_generation(gigatransfers).map_or(Reading::Unsupported, Reading::Known);
        filler.set(Field::PcieLinkGeneration, generation);
    }
    filler.finish()
}

/// `(300Mhz)`, `300Mhz` or `0 (300Mhz)`; a level without a speed is none.
fn clock(card: Object<'_>, names: &[String]) -> Reading<f64> {
    let hertz = |name: &String| {
        let text = card.word(&[name])?;
        let speed = text.rsplit('(').next()?.trim_end_matches(')');
        speed
            .to_ascii_lowercase()
            .ends_with("hz")
            .then(|| Unit::Megahertz.read(speed))?
    };
    names
        .iter()
        .find_map(hertz)
        .map_or(Reading::Unsupported, Reading::Known)
}

/// `1 (16.0GT/s x16)`.
fn bus(text: &str) -> Option<(f64, f64)> {
    let inner = text.split_once('(')?.1.split_once(')')?.0;
    let (speed, lanes) = inner.split_once("GT/s")?;
    Some((
        speed.trim().parse().ok()?,
        lanes.trim().strip_prefix('x')?.parse().ok()?,
    ))
}

/// `"PID42": "python, 1, 1048576, 0, 0"`: name, number of GPUs, bytes of memory, bytes moved, share of compute units. Which GPUs
/// is not told, so this is of use with a single card.
fn processes(system: Object<'_>) -> Reading<Vec<ProcessReading>> {
    let mut processes = Vec::new();
    for (key, value) in system.0.iter().take(MOST_PROCESSES) {
        let pid = key.strip_prefix("PID").and_then(|pid| pid.trim().parse().ok());
        let (Some(pid), Some(text)) = (pid, Value::as_str(value)) else {
            continue;
        };
        let memory = text
            .rsplit(',')
            .nth(2)
            .and_then(|memory| Unit::Bytes.read(memory));
        processes.push(ProcessReading {
            pid,
            slice: None,
            memory_bytes: memory.map_or(Reading::Unsupported, Reading::Known),
            utilization: Reading::Unsupported,
        });
    }
    if processes.is_empty() {
        return Reading::Unsupported;
    }
    Reading::Known(processes)
}

#[cfg(test)]
mod tests;

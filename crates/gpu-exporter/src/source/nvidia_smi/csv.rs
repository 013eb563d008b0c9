//! The tables of `nvidia-smi --query-...=... --format=csv`: a line of names with their units in brackets, then a line each. Columns
//! are found by their names, so that any set of them in any order is understood.

use std::collections::BTreeMap;

use gpu_model::Reading;

use super::super::tool::quantity::{self, Unit};
use super::super::tool::{Answer, Told};
use super::fields::{FLAGS, PLACES};
use super::filler::Filler;
use super::health::{COUNTED, REASONS, read_fabric, read_performance_state, throttles};
use super::identity::{Passport, listed};
use super::xml_report::add_process;
use crate::readings::{Field, ProcessReading};

/// As many GPUs and processes as are read elsewhere.
const MOST_ROWS: usize = 4096;
/// Newer drivers know some three hundred names.
const MOST_COLUMNS: usize = 2048;

/// A table with its column names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table<'a> {
    columns: BTreeMap<&'a str, usize>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Table<'a> {
    /// The table whose header has the given column, whatever stands before it; lines after `#` are remarks. A row with another number of cells than the
    /// header has is no row: warnings stand between them.
    pub fn parse(text: &'a str, column: &str) -> Option<Self> {
        let mut lines = text.lines();
        let columns: BTreeMap<&str, usize> = lines.by_ref().take(MOST_ROWS).find_map(|line| {
            let names: BTreeMap<&str, usize> = cells(line)
                .take(MOST_COLUMNS)
                .enumerate()
                .map(|(at, cell)| (cell.split(" [").next().unwrap_or(cell), at))
                .collect();
            (names.contains_key(column) && !line.starts_with('#')).then_some(names)
        })?;
        let width = columns.values().max().map_or(0, |last| last + 1);
        let rows = lines
            .take(MOST_ROWS)
            .map(|line| cells(line).take(MOST_COLUMNS).collect::<Vec<_>>())
            .filter(|row| row.len() == width)
            .collect();
        Some(Self { columns, rows })
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { table: self, cells })
    }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

/// One line of a table.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table<'a>,
    cells: &'a [&'a str],
}

impl<'a> Row<'a> {
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.cells.get(*self.table.columns.get(name)?).copied()
    }

    fn any(self, names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        names.iter().filter_map(move |name| self.get(name))
    }
}

/// The names that the help for `--query-gpu` has in quotation marks.
pub fn known_fields(help: &str) -> Vec<&str> {
    let is_name = |text: &&str| {
        !text.is_empty()
            && text.len() < 128
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
    };
    // Between the first and second mark, the third and fourth, ...
    help.lines()
        .take(MOST_ROWS)
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .filter(is_name)
        .collect()
}

/// Understands a table of GPUs, and one of their processes where there is one.
pub fn csv_answer(gpus: &str, processes: Option<&str>) -> Option<Answer> {
    let table = Table::parse(gpus, "uuid").or_else(|| Table::parse(gpus, "gpu_uuid"))?;
    let mut by_gpu = processes.and_then(processes_by_gpu);
    let devices = table.rows().enumerate().map(|(index, row)| {
        let mut told = told(row, index);
        if let (Ok(readings), Some(by_gpu)) = (&mut told.outcome, &mut by_gpu) {
            readings.processes =
                Reading::Known(by_gpu.remove(&told.listed.identity.uuid).unwrap_or_default());
        }
        told
    });
    Some(Answer {
        devices: devices.collect(),
        undescribed: Vec::new(),
    })
}

fn processes_by_gpu(text: &str) -> Option<BTreeMap<String, Vec<ProcessReading>>> {
    let table = Table::parse(text, "pid")?;
    let mut by_gpu: BTreeMap<String, Vec<ProcessReading>> = BTreeMap::new();
    for row in table.rows() {
        let (Some(gpu), Some(pid)) = (
            row.get("gpu_uuid"),
            row.get("pid").and_then(|pid| pid.parse().ok()),
        ) else {
            continue;
        };
        let memory = row.any(&["used_gpu_memory", "used_memory"]).next();
        let memory = memory.map_or(Reading::Unsupported, |text| {
            quantity::reading(text, Unit::Mebibytes).unwrap_or(Reading::Failed)
        });
        add_process(by_gpu.entry(gpu.to_owned()).or_default(), pid, None, memory);
    }
    Some(by_gpu)
}

/// The seven totals that the table has by name.
const TOTALS: &[(Field, &[&str])] = &[
    (
        Field::EccCorrectedVolatile,
        &["ecc.errors.corrected.volatile.total"],
    ),
    (
        Field::EccUncorrectedVolatile,
        &["ecc.errors.uncorrected.volatile.total"],
    ),
    (
        Field::EccCorrectedAggregate,
        &["ecc.errors.corrected.aggregate.total"],
    ),
    (
        Field::EccUncorrectedAggregate,
        &["ecc.errors.uncorrected.aggregate.total"],
    ),
];

/// What tells which GPU a row is about; every driver knows these.
const IDENTITY: &[&str] = &[
    "index",
    "uuid",
    "name",
    "pci.bus_id",
    "driver_version",
    "serial",
    "vbios_version",
];
const OTHERS: &[&str] = &["pstate", "fabric.state"];
const REASON_PREFIXES: [&str; 2] = ["clocks_event_reasons", "clocks_throttle_reasons"];

/// Every name that is worth asking for, those first without which nothing can be told.
pub(super) fn wanted() -> Vec<String> {
    let fixed = IDENTITY
        .iter()
        .chain(PLACES.iter().chain(FLAGS).flat_map(|place| place.csv));
    let fixed = fixed
        .chain(TOTALS.iter().flat_map(|(_, names)| *names))
        .chain(OTHERS);
    let mut names: Vec<String> = fixed.map(|name| (*name).to_owned()).collect();
    for prefix in REASON_PREFIXES {
        names.extend(REASONS.iter().map(|(reason, _)| format!("{prefix}.{reason}")));
        names.extend(
            COUNTED
                .iter()
                .flat_map(|(ends, _)| *ends)
                .map(|end| format!("{prefix}_counters.{end}")),
        );
    }
    names
}

/// How many of the wanted names are the least that has to be known.
pub(super) fn needed() -> usize {
    IDENTITY.len()
}

fn told(row: Row<'_>, place: usize) -> Told {
    let mut filler = Filler::default();
    let mut word = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| filler.word(row.get(name).into_iter()))
    };
    let index = word(&["index"])
        .and_then(|index| index.parse().ok())
        .unwrap_or(place);
    let passport = Passport {
        uuid: word(&["uuid", "gpu_uuid"]).filter(|uuid| uuid.starts_with("GPU-")),
        name: word(&["name", "gpu_name"]),
        bus_id: word(&["pci.bus_id", "gpu_bus_id"]).unwrap_or_default(),
        minor: None,
        serial: word(&["serial", "gpu_serial"]),
        vbios: word(&["vbios_version"]),
        driver: word(&["driver_version"]).unwrap_or_default(),
        architecture: None,
    };
    let state = word(&["pstate"]);
    let fabric = word(&["fabric.state"]);
    for place in PLACES {
        let value = filler.number(row.any(place.csv), place.unit);
        filler.set(place.field, value);
    }
    for (field, names) in TOTALS {
        let value = filler.number(row.any(names), Unit::Count);
        filler.set(*field, value);
    }
    for flag in FLAGS {
        let value = filler.flag(row.any(flag.csv)).map(|yes| f64::from(u8::from(yes)));
        filler.set(flag.field, value);
    }
    read_performance_state(state, &mut filler);
    read_fabric(fabric, &mut filler);
    read_reasons(row, &mut filler);
    Told {
        listed: listed(passport.identity(index)),
        outcome: filler.finish(),
    }
}

fn read_reasons(row: Row<'_>, filler: &mut Filler) {
    let named = |end: &str| {
        REASON_PREFIXES
            .iter()
            .find_map(|prefix| row.get(&format!("{prefix}.{end}")))
    };
    let reasons: Vec<_> = REASONS
        .iter()
        .map(|(end, reason)| (*reason, filler.flag(named(end).into_iter())))
        .collect();
    filler.readings.throttled = throttles(&reasons);
    for (ends, reason) in COUNTED {
        let texts = ends.iter().filter_map(|end| {
            REASON_PREFIXES
                .iter()
                .find_map(|prefix| row.get(&format!("{prefix}_counters.{end}")))
        });
        filler.readings.throttle_seconds[*reason as usize] = filler.number(texts, Unit::Microseconds);
    }
}

#[cfg(test)]
mod tests;

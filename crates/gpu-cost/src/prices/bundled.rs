//! The table of prices that comes with the program, and its text: one line a price, sorted, each with its date and origin.

use std::fmt;

use gpu_model::{CapacityType, Cloud, NanoUsd};
use jiff::civil::Date;

use super::{PriceVersion, parse_usd, write_usd};
use crate::{Moment, PriceSource};

const TABLE: &str = include_str!("../../data/prices.csv");
pub(super) const HEADER: &str = "cloud,instance_type,region,zone,capacity_type,usd_per_hour,as_of,origin";
/// The table is made for some thousand rows; ten times that is another file.
const MOST_ROWS: usize = 50_000;

/// The table: what is said of it as a whole, and its prices in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceTable {
    /// Lines of explanation, without their `#`.
    pub notes: Vec<String>,
    pub rows: Vec<TableRow>,
}

/// One price of the table. The order of the fields is the order of the rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableRow {
    pub cloud: Cloud,
    pub instance_type: String,
    pub region: String,
    /// Absent where one price holds in every zone.
    pub zone: Option<String>,
    pub capacity: CapacityType,
    pub rate: NanoUsd,
    pub as_of: Date,
    /// Where the figure was read, by a short name that the notes explain.
    pub origin: String,
}

/// Why a table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("line {line} of the table is not `{expected}`")]
    Header { line: usize, expected: &'static str },
    #[error("line {line} of the table has no valid {field}: `{text}`")]
    Field {
        line: usize,
        field: &'static str,
        text: String,
    },
    #[error("line {line} of the table is out of order or there twice: sort it with `cargo xtask prices`")]
    Order { line: usize },
    #[error("the table has over {most} rows")]
    TooLong { most: usize },
}

/// The bundled prices, valid until something better is known.
pub fn bundled_prices() -> Result<Vec<PriceVersion>, TableError> {
    let table = parse_table(TABLE)?;
    Ok(table.rows.into_iter().map(TableRow::version).collect())
}

impl TableRow {
    fn version(self) -> PriceVersion {
        PriceVersion {
            cloud: self.cloud,
            instance_type: self.instance_type,
            region: self.region,
            zone: self.zone,
            capacity: self.capacity,
            // A table says what a price is and when that was read, not since when: it stands in for all time, and its age
            // goes along with every answer.
            valid: PriceVersion::ALWAYS,
            rate: self.rate,
            source: PriceSource::Bundled,
            as_of: midnight(self.as_of),
        }
    }
}

fn midnight(date: Date) -> Moment {
    let at = date
        .to_zoned(jiff::tz::TimeZone::UTC)
        .map(|zoned| zoned.timestamp());
    at.map_or(Moment(0), Moment::from)
}

/// Reads the text of a table and insists on its order.
pub fn parse_table(text: &str) -> Result<PriceTable, TableError> {
    let mut table = PriceTable {
        notes: Vec::new(),
        rows: Vec::new(),
    };
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((_, note)) = lines.next_if(|(_, line)| line.starts_with('#')) {
        table.notes.push(note[1..].trim_start().to_owned());
    }
    match lines.next() {
        Some((_, HEADER)) => {}
        other => {
            return Err(TableError::Header {
                line: other.map_or(1, |(line, _)| line),
                expected: HEADER,
            });
        }
    }
    for (number, line) in lines {
        let row = parse_row(number, line)?;
        if table.rows.last().is_some_and(|before| !precedes(before, &row)) {
            return Err(TableError::Order { line: number });
        }
        if table.rows.len() == MOST_ROWS {
            return Err(TableError::TooLong { most: MOST_ROWS });
        }
        table.rows.push(row);
    }
    Ok(table)
}

/// Strictly, by place alone: two prices for the same place are one too many.
fn precedes(a: &TableRow, b: &TableRow) -> bool {
    place(a) < place(b)
}

pub(super) fn place(row: &TableRow) -> (Cloud, &str, &str, Option<&str>, CapacityType) {
    (
        row.cloud,
        &row.instance_type,
        &row.region,
        row.zone.as_deref(),
        row.capacity,
    )
}

fn parse_row(number: usize, line: &str) -> Result<TableRow, TableError> {
    let mut fields = line.split(',');
    let mut next = |field: &'static str| {
        let text = fields.next().unwrap_or_default();
        let wrong = TableError::Field {
            line: number,
            field,
            text: text.chars().take(80).collect(),
        };
        (text, wrong)
    };
    let filled = |(text, wrong): (&str, TableError)| {
        if text.is_empty() {
            Err(wrong)
        } else {
            Ok(text.to_owned())
        }
    };
    let (cloud, wrong) = next("cloud");
    let cloud = parse_cloud(cloud).ok_or(wrong)?;
    let instance_type = filled(next("instance type"))?;
    let region = filled(next("region"))?;
    let (zone, _) = next("zone");
    let zone = (!zone.is_empty()).then(|| zone.to_owned());
    let (capacity, wrong) = next("capacity type");
    let capacity = parse_capacity(capacity).ok_or(wrong)?;
    let (rate, wrong) = next("price");
    let rate = parse_usd(rate).ok().filter(|rate| rate.0 > 0).ok_or(wrong)?;
    let (as_of, wrong) = next("date");
    let as_of = as_of.parse().map_err(|_| wrong)?;
    let origin = filled(next("origin"))?;
    if fields.next().is_some() {
        return Err(TableError::Field {
            line: number,
            field: "end",
            text: "more fields than the header names".to_owned(),
        });
    }
    Ok(TableRow {
        cloud,
        instance_type,
        region,
        zone,
        capacity,
        rate,
        as_of,
        origin,
    })
}

/// Writes the text of a table. Reading it gives the table again.
pub fn write_table(out: &mut impl fmt::Write, table: &PriceTable) -> fmt::Result {
    for note in &table.notes {
        writeln!(out, "# {note}")?;
    }
    writeln!(out, "{HEADER}")?;
    for row in &table.rows {
        let zone = row.zone.as_deref().unwrap_or("");
        write!(
            out,
            "{},{},{},{zone},{},",
            row.cloud.as_str(),
            row.instance_type,
            row.region,
            row.capacity.as_str()
        )?;
        write_usd(out, row.rate)?;
        writeln!(out, ",{},{}", row.as_of, row.origin)?;
    }
    Ok(())
}

pub(super) fn parse_cloud(text: &str) -> Option<Cloud> {
    [Cloud::Aws, Cloud::Gcp, Cloud::Azure, Cloud::OnPremises]
        .into_iter()
        .find(|cloud| cloud.as_str() == text)
}

fn parse_capacity(text: &str) -> Option<CapacityType> {
    [
        CapacityType::Spot,
        CapacityType::OnDemand,
        CapacityType::Reserved,
        CapacityType::Owned,
    ]
    .into_iter()
    .find(|capacity| capacity.as_str() == text)
}

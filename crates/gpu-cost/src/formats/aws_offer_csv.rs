//! AWS's public offer file of EC2 as comma-separated values: five lines about the file, a line of names, a line a price.

use std::io::{BufReader, Read};

use gpu_model::{CapacityType, Cloud};

use super::csv::record;
use super::{Bounded, FormatError, Limits, PricePoint};
use crate::Moment;
use crate::prices::parse_usd;

const LINES_BEFORE_THE_NAMES: usize = 5;

/// The columns that are read, by name.
struct Columns {
    term: usize,
    unit: usize,
    price: usize,
    currency: usize,
    effective: usize,
    instance_type: usize,
    tenancy: usize,
    system: usize,
    software: usize,
    capacity: usize,
    region: usize,
}

impl Columns {
    fn find(names: &[String]) -> Result<Self, FormatError> {
        let place = |name: &'static str| {
            names
                .iter()
                .position(|found| found == name)
                .ok_or(FormatError::Missing(name))
        };
        Ok(Self {
            term: place("TermType")?,
            unit: place("Unit")?,
            price: place("PricePerUnit")?,
            currency: place("Currency")?,
            effective: place("EffectiveDate")?,
            instance_type: place("Instance Type")?,
            tenancy: place("Tenancy")?,
            system: place("Operating System")?,
            software: place("Pre Installed S/W")?,
            capacity: place("CapacityStatus")?,
            region: place("Region Code")?,
        })
    }
}

/// Reads the on-demand prices of the machine types that are wanted, a line at a time.
pub fn read(
    reader: impl Read,
    wanted: &dyn Fn(&str) -> bool,
    limits: Limits,
) -> Result<Vec<PricePoint>, FormatError> {
    let mut reader = BufReader::with_capacity(64 * 1024, Bounded::new(reader, limits.bytes));
    let mut fields = Vec::new();
    for _ in 0..=LINES_BEFORE_THE_NAMES {
        if !record(&mut reader, &mut fields)? {
            return Err(FormatError::Missing("line of column names"));
        }
    }
    let columns = Columns::find(&fields)?;
    let mut points = Vec::new();
    while record(&mut reader, &mut fields)? {
        let field = |place: usize| fields.get(place).map_or("", String::as_str);
        let plain = field(columns.term) == "OnDemand"
            && field(columns.unit) == "Hrs"
            && field(columns.currency) == "USD"
            && field(columns.tenancy) == "Shared"
            && field(columns.system) == "Linux"
            && matches!(field(columns.software), "NA" | "")
            && field(columns.capacity) == "Used";
        if !plain || !wanted(field(columns.instance_type)) || field(columns.region).is_empty() {
            continue;
        }
        let rate = parse_usd(field(columns.price))?;
        if rate.0 <= 0 {
            continue;
        }
        if points.len() >= limits.points {
            return Err(FormatError::TooMany(limits.points));
        }
        points.push(PricePoint {
            cloud: Cloud::Aws,
            instance_type: field(columns.instance_type).to_owned(),
            region: field(columns.region).to_owned(),
            zone: None,
            capacity: CapacityType::OnDemand,
            since: midnight(field(columns.effective)),
            rate,
        });
    }
    points.sort();
    points.dedup();
    Ok(points)
}

fn midnight(date: &str) -> Option<Moment> {
    let date: jiff::civil::Date = date.parse().ok()?;
    let at = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Moment::from(at.timestamp()))
}

//! AWS's history of spot prices, in the JSON of its command line and of its software kits.

use std::io::Read;

use gpu_model::{CapacityType, Cloud};
use jiff::Timestamp;
use serde::Deserialize;

use super::{Bounded, FormatError, Limits, PricePoint};
use crate::Moment;
use crate::prices::parse_usd;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    spot_price_history: Option<Vec<Entry>>,
    #[serde(default)]
    next_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    instance_type: String,
    availability_zone: Option<String>,
    availability_zone_id: Option<String>,
    #[serde(default)]
    product_description: String,
    spot_price: String,
    timestamp: String,
}

/// One page of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub points: Vec<PricePoint>,
    /// Asks for the next page.
    pub next: Option<String>,
}

/// Reads a page. The region is the one that was asked; zones are by id where the answer has it, because names differ from
/// account to account.
pub fn read(reader: impl Read, region: &str, limits: Limits) -> Result<Page, FormatError> {
    let answer: Answer =
        serde_json::from_reader(std::io::BufReader::new(Bounded::new(reader, limits.bytes)))?;
    let history = answer
        .spot_price_history
        .ok_or(FormatError::Missing("SpotPriceHistory"))?;
    let mut points = Vec::new();
    for entry in history {
        if !entry.product_description.starts_with("Linux/UNIX") {
            continue;
        }
        if points.len() >= limits.points {
            return Err(FormatError::TooMany(limits.points));
        }
        let rate = parse_usd(&entry.spot_price)?;
        let since: Timestamp = entry
            .timestamp
            .parse()
            .map_err(|_| FormatError::Missing("Timestamp"))?;
        points.push(PricePoint {
            cloud: Cloud::Aws,
            instance_type: entry.instance_type,
            region: region.to_owned(),
            zone: entry.availability_zone_id.or(entry.availability_zone),
            capacity: CapacityType::Spot,
            since: Some(Moment::from(since)),
            rate,
        });
    }
    points.sort();
    Ok(Page {
        points,
        next: answer.next_token.filter(|token| !token.is_empty()),
    })
}

//! Azure's retail prices, page by page.

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
    items: Option<Vec<Item>>,
    next_page_link: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    #[serde(default)]
    currency_code: String,
    /// A float in the list. It is read as the shortest text that means it, which is the text that was written.
    retail_price: serde_json::Number,
    #[serde(default)]
    arm_region_name: String,
    #[serde(default)]
    arm_sku_name: String,
    #[serde(default)]
    sku_name: String,
    #[serde(default)]
    product_name: String,
    #[serde(default)]
    unit_of_measure: String,
    #[serde(rename = "type", default)]
    kind: String,
    effective_start_date: Option<String>,
}

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub points: Vec<PricePoint>,
    /// The address of the next page.
    pub next: Option<String>,
}

/// Reads the on-demand and spot prices of Linux machines on a page.
pub fn read(reader: impl Read, wanted: &dyn Fn(&str) -> bool, limits: Limits) -> Result<Page, FormatError> {
    let answer: Answer =
        serde_json::from_reader(std::io::BufReader::new(Bounded::new(reader, limits.bytes)))?;
    let items = answer.items.ok_or(FormatError::Missing("Items"))?;
    let mut points = Vec::new();
    for item in items {
        if !item.is_plain() || !wanted(&item.arm_sku_name) {
            continue;
        }
        let rate = parse_usd(&item.retail_price.to_string())?;
        if rate.0 <= 0 {
            continue;
        }
        if points.len() >= limits.points {
            return Err(FormatError::TooMany(limits.points));
        }
        let since = item.effective_start_date.as_deref();
        points.push(PricePoint {
            cloud: Cloud::Azure,
            capacity: item.capacity(),
            instance_type: item.arm_sku_name,
            region: item.arm_region_name,
            zone: None,
            since: since
                .and_then(|text| text.parse::<Timestamp>().ok())
                .map(Moment::from),
            rate,
        });
    }
    points.sort();
    Ok(Page {
        points,
        next: answer.next_page_link.filter(|link| !link.is_empty()),
    })
}

impl Item {
    fn is_plain(&self) -> bool {
        self.currency_code == "USD"
            && self.kind == "Consumption"
            && self.unit_of_measure == "1 Hour"
            && !self.product_name.contains("Windows")
            && !self.product_name.ends_with(" Win")
            // The market before spot; its rows still stand beside them.
            && !self.sku_name.ends_with("Low Priority")
            && !self.arm_region_name.is_empty()
    }

    fn capacity(&self) -> CapacityType {
        if self.sku_name.ends_with(" Spot") {
            CapacityType::Spot
        } else {
            CapacityType::OnDemand
        }
    }
}

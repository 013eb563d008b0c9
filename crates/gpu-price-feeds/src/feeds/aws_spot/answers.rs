//! What EC2 answers: pages of the history, zones, refusals.

use std::collections::BTreeMap;

use gpu_cost::Moment;
use gpu_cost::formats::{FormatError, PricePoint};
use gpu_cost::prices::parse_usd;
use gpu_model::{CapacityType, Cloud};
use gpu_runtime::http::client::{Response, StatusCode};
use jiff::Timestamp;

use crate::aws::xml::{self, Item};
use crate::feeds::FeedError;

/// One page of the history.
pub(super) struct Page {
    pub(super) prices: Vec<SpotPrice>,
    /// Asks for the next page.
    pub(super) next: Option<String>,
}

/// A price with both names of its zone, as far as the answer has them.
pub(super) struct SpotPrice {
    /// Its zone is not set.
    pub(super) point: PricePoint,
    pub(super) zone_name: Option<String>,
    pub(super) zone_id: Option<String>,
}

/// Reads a page.
pub(super) fn history(text: &str, region: &str) -> Result<Page, FormatError> {
    const LIST: &str = "spotPriceHistorySet";
    let items = xml::items(text, LIST).ok_or(FormatError::Missing(LIST))?;
    let mut prices = Vec::with_capacity(items.len());
    for item in items {
        prices.extend(price(item, region)?);
    }
    Ok(Page {
        prices,
        next: xml::value(text, "nextToken"),
    })
}

fn price(mut item: Item, region: &str) -> Result<Option<SpotPrice>, FormatError> {
    let mut take = |name: &'static str| item.remove(name).filter(|text| !text.is_empty());
    if !take("productDescription").is_some_and(|product| product.starts_with("Linux/UNIX")) {
        return Ok(None);
    }
    let missing = FormatError::Missing;
    let rate = parse_usd(&take("spotPrice").ok_or(missing("spotPrice"))?)?;
    let since: Timestamp = take("timestamp")
        .and_then(|text| text.parse().ok())
        .ok_or(missing("timestamp"))?;
    let point = PricePoint {
        cloud: Cloud::Aws,
        instance_type: take("instanceType").ok_or(missing("instanceType"))?,
        region: region.to_owned(),
        zone: None,
        capacity: CapacityType::Spot,
        since: Some(Moment::from(since)),
        rate,
    };
    let price = SpotPrice {
        point,
        zone_name: take("availabilityZone"),
        zone_id: take("availabilityZoneId"),
    };
    // Without a zone it would pass for a price of the whole region, and without an amount for a gift.
    let usable = price.point.rate.0 > 0 && (price.zone_name.is_some() || price.zone_id.is_some());
    Ok(usable.then_some(price))
}

impl SpotPrice {
    /// The price under each name of its zone: lists have the id, nodes often only the name.
    pub(super) fn points(self) -> impl Iterator<Item = PricePoint> {
        let Self {
            point,
            zone_name,
            zone_id,
        } = self;
        zone_id.into_iter().chain(zone_name).map(move |zone| PricePoint {
            zone: Some(zone),
            ..point.clone()
        })
    }
}

/// The ids of zones by their names.
pub(super) fn zones(text: &str) -> Result<BTreeMap<String, String>, FormatError> {
    const LIST: &str = "availabilityZoneInfo";
    let items = xml::items(text, LIST).ok_or(FormatError::Missing(LIST))?;
    let pairs = items
        .into_iter()
        .filter_map(|mut item| Some((item.remove("zoneName")?, item.remove("zoneId")?)));
    Ok(pairs.collect())
}

/// An answer that is none.
pub(super) struct Refusal {
    status: StatusCode,
    /// AWS's word for it.
    code: String,
}

impl Refusal {
    pub(super) fn read(response: &Response) -> Self {
        let text = std::str::from_utf8(&response.body).unwrap_or_default();
        let code = xml::value(text, "Code").unwrap_or_default();
        let proper = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '.';
        Self {
            status: response.status,
            code: code.chars().filter(proper).take(60).collect(),
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.status == StatusCode::TOO_MANY_REQUESTS
            || self.status.is_server_error()
            || matches!(
                self.code.as_str(),
                "RequestLimitExceeded" | "Throttling" | "ThrottlingException"
            )
    }

    pub(super) fn into_error(self, action: &str) -> FeedError {
        let Self { status, code } = self;
        let refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if refused || code == "AuthFailure" || code == "RequestExpired" {
            return FeedError::Credentials {
                reason: format!(
                    "EC2 refused {action} with {status} {code}: allow `ec2:{action}` to the role"
                ),
            };
        }
        FeedError::Service {
            status: status.as_u16(),
            code,
        }
    }
}

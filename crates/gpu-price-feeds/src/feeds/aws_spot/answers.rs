//! What EC2 answers: pages of the history, zones, refusals.

use std::collections::BTreeMap;

use gpu_cost::Moment;
use gpu_cost::formats::aws_spot::Page;
use gpu_cost::formats::{FormatError, PricePoint};
use gpu_cost::prices::parse_usd;
use gpu_model::{CapacityType, Cloud};
use gpu_runtime::http::client::{Response, StatusCode};
use jiff::Timestamp;

use crate::aws::xml::{self, Item};
use crate::feeds::FeedError;

/// One page of the history; zones are by id where the answer has it.
pub(super) fn history(text: &str, region: &str) -> Result<Page, FormatError> {
    const LIST: &str = "spotPriceHistorySet";
    let items = xml::items(text, LIST).ok_or(FormatError::Missing(LIST))?;
    let mut points = Vec::with_capacity(items.len());
    for item in items {
        if let Some(point) = point(item, region)? {
            points.push(point);
        }
    }
    Ok(Page {
        points,
        next: xml::value(text, "nextToken"),
    })
}

fn point(mut item: Item, region: &str) -> Result<Option<PricePoint>, FormatError> {
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
        zone: take("availabilityZoneId").or_else(|| take("availabilityZone")),
        capacity: CapacityType::Spot,
        since: Some(Moment::from(since)),
        rate,
    };
    Ok((point.rate.0 > 0).then_some(point))
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

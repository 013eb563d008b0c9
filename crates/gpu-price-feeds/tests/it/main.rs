//! Feeds against servers that behave as the clouds document it, and as they do on bad days; documents in files; the desk.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests meet the world outside, and an unwrap is an assertion"
)]

mod aws_offer;
mod azure_retail;
mod desk;
mod gcp_catalog;
mod memory;
mod restarts;
mod server;

use gpu_cost::formats::PricePoint;
use gpu_model::Cloud;
use gpu_price_feeds::Wanted;
use gpu_price_feeds::feeds::{Answer, Feed, FeedError, ListRequest};
use gpu_runtime::http::client::{ClientSettings, Proxies};

/// A client to which the proxies of this machine mean nothing.
fn local() -> ClientSettings {
    ClientSettings {
        proxies: Proxies::Never,
        ..ClientSettings::default()
    }
}

fn request(cloud: Cloud, region: Option<&str>, places: &[(&str, &str)]) -> ListRequest {
    let mut wanted = Wanted::new();
    for (region, name) in places {
        wanted.add(cloud, region, name);
    }
    ListRequest {
        region: region.map(str::to_owned),
        wanted,
    }
}

/// `region type capacity price` of every price, sorted.
fn lines(points: &[PricePoint]) -> Vec<String> {
    let text = |point: &PricePoint| {
        let (region, name) = (&point.region, &point.instance_type);
        let zone = point
            .zone
            .as_deref()
            .map(|zone| format!("/{zone}"))
            .unwrap_or_default();
        format!("{region}{zone} {name} {} {}", point.capacity.as_str(), point.rate)
    };
    let mut lines: Vec<String> = points.iter().map(text).collect();
    lines.sort();
    lines
}

/// The prices of a list, or the class of what went wrong.
async fn read(feed: &impl Feed, request: &ListRequest) -> Result<Vec<String>, FeedError> {
    match feed.fetch(request, None).await? {
        Answer::Prices { points, .. } => Ok(lines(&points)),
        Answer::Unchanged => panic!("nothing was known before"),
    }
}

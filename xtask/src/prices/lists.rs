//! Price lists from files. What a file is, its first bytes say.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gpu_cost::formats::{Limits, PricePoint, aws_offer, aws_offer_csv, aws_spot, azure_retail, gcp_skus};
use gpu_cost::prices::MachineType;
use gpu_model::Cloud;
use jiff::civil::Date;

use super::normalized;
use super::tables::Tables;

/// Enough to see what a file is: the names that tell come first.
const HEAD: usize = 64 * 1024;

enum Kind {
    Normalized,
    AwsOffer,
    AwsOfferCsv,
    AwsSpot,
    GcpSkus,
    AzureRetail,
}

fn kind(head: &str) -> Option<Kind> {
    let begins = head.trim_start();
    if begins.starts_with(normalized::HEADER) {
        return Some(Kind::Normalized);
    }
    if begins.starts_with("\"FormatVersion\"") {
        return Some(Kind::AwsOfferCsv);
    }
    let has = |name: &str| head.contains(&format!("\"{name}\""));
    match () {
        () if has("SpotPriceHistory") => Some(Kind::AwsSpot),
        () if has("offerCode") => Some(Kind::AwsOffer),
        () if has("skus") => Some(Kind::GcpSkus),
        () if has("Items") => Some(Kind::AzureRetail),
        () => None,
    }
}

/// Takes a file over, and says how much of it.
pub(super) fn take(path: &Path, as_of: Option<Date>, tables: &mut Tables) -> Result<String> {
    let shown = path.display();
    let open = || File::open(path).with_context(|| format!("failed to open `{shown}`"));
    let mut head = Vec::new();
    open()?.take(HEAD as u64).read_to_end(&mut head)?;
    let Some(kind) = kind(&String::from_utf8_lossy(&head)) else {
        bail!("`{shown}` is no price list that we know");
    };
    if let Kind::Normalized = kind {
        return take_normalized(&std::fs::read_to_string(path)?, tables);
    }
    let Some(as_of) = as_of else {
        bail!("say with `--as-of DATE` on which day `{shown}` was read");
    };
    let limits = Limits::default();
    let aws = |name: &str| tables.knows(Cloud::Aws, name);
    let azure = |name: &str| tables.knows(Cloud::Azure, name);
    let (points, origin): (Vec<PricePoint>, &str) = match kind {
        Kind::AwsOffer => (aws_offer::read(open()?, &aws, limits)?, "aws-offer"),
        Kind::AwsOfferCsv => (aws_offer_csv::read(open()?, &aws, limits)?, "aws-offer"),
        Kind::AwsSpot => {
            let region = region_of(&head).with_context(|| format!("`{shown}` names no zone"))?;
            let points = aws_spot::read(open()?, &region, limits)?.points;
            let known = points
                .into_iter()
                .filter(|point| aws(&point.instance_type))
                .collect();
            (known, "aws-spot")
        }
        Kind::GcpSkus => {
            let mut pieces = gcp_skus::Pieces::default();
            pieces.read(open()?, limits)?;
            let types: Vec<MachineType> = tables.types.values().cloned().collect();
            (pieces.points(&types), "gcp-skus")
        }
        Kind::AzureRetail => (
            azure_retail::read(open()?, &azure, limits)?.points,
            "azure-retail",
        ),
        Kind::Normalized => unreachable!("taken above"),
    };
    let count = points.len();
    tables.take(points, as_of, origin);
    Ok(format!("{count} prices of {origin}"))
}

fn take_normalized(text: &str, tables: &mut Tables) -> Result<String> {
    let lines = normalized::read(text)?;
    let count = lines.len();
    let mut by_day: std::collections::BTreeMap<Date, Vec<PricePoint>> = Default::default();
    for line in lines {
        tables
            .types
            .insert((line.known.cloud, line.known.name.clone()), line.known);
        by_day.entry(line.as_of).or_default().extend(line.points);
    }
    for (as_of, points) in by_day {
        tables.take(points, as_of, "catalog");
    }
    Ok(format!("{count} nodes"))
}

/// The history of one region names it only in its zones: `us-east-1a`.
fn region_of(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let (_, after) = text.split_once("\"AvailabilityZone\"")?;
    let zone = after.split('"').nth(1)?;
    Some(
        zone.trim_end_matches(|letter: char| letter.is_ascii_lowercase())
            .to_owned(),
    )
}

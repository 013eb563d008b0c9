//! A price as a list has it, and prices with their validity made from many.

use std::io;

use gpu_model::{CapacityType, Cloud, NanoUsd};

use crate::prices::{DecimalError, PriceVersion};
use crate::{Moment, PriceSource, Span};

/// What an hour of a machine type costs somewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PricePoint {
    pub cloud: Cloud,
    pub instance_type: String,
    pub region: String,
    pub zone: Option<String>,
    pub capacity: CapacityType,
    /// Since when, where the list says it.
    pub since: Option<Moment>,
    pub rate: NanoUsd,
}

/// How much is read at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub bytes: u64,
    pub points: usize,
}

impl Default for Limits {
    /// The largest regional list of AWS is under half a gigabyte; a page of the others under ten megabytes.
    fn default() -> Self {
        Self {
            bytes: 4 << 30,
            points: 200_000,
        }
    }
}

/// Why a list cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("failed to read the price list as JSON")]
    Json(#[from] serde_json::Error),
    #[error("failed to read the price list")]
    Read(#[from] io::Error),
    #[error("the price list has no `{0}` where it belongs: its format has changed")]
    Missing(&'static str),
    #[error("the price list has an amount that is none")]
    Amount(#[from] DecimalError),
    #[error("the price list holds over {0} prices that were asked for")]
    TooMany(usize),
    #[error("a line of the price list is longer than {0} bytes")]
    LongLine(usize),
}

/// Prices with their validity: each holds from its instant until the next of the same place. The first of a place holds
/// before that too, because a list tells the last change and not the beginning.
pub fn versions(mut points: Vec<PricePoint>, source: PriceSource, as_of: Moment) -> Vec<PriceVersion> {
    points.sort();
    points.dedup();
    let place = |point: &PricePoint| {
        (
            point.cloud,
            point.instance_type.clone(),
            point.region.clone(),
            point.zone.clone(),
            point.capacity,
        )
    };
    let mut versions: Vec<PriceVersion> = Vec::with_capacity(points.len());
    let mut before = None;
    for point in points {
        let here = place(&point);
        let same_place = before.as_ref() == Some(&here);
        let start = if same_place { point.since } else { None };
        let start = start.unwrap_or(PriceVersion::ALWAYS.start);
        if same_place && let Some(last) = versions.last_mut() {
            last.valid.end = start;
        }
        versions.push(PriceVersion {
            cloud: point.cloud,
            instance_type: point.instance_type,
            region: point.region,
            zone: point.zone,
            capacity: point.capacity,
            valid: Span::new(start, PriceVersion::ALWAYS.end),
            rate: point.rate,
            source,
            as_of,
        });
        before = Some(here);
    }
    versions.retain(|version| !version.valid.is_empty());
    versions
}

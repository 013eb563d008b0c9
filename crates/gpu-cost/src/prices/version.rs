//! A price of a cloud, with its place and its validity.

use gpu_model::{CapacityType, Cloud, NanoUsd};

use super::Base;
use crate::{Machine, Moment, PriceSource, Span, UnpricedReason};

/// What an hour of a machine type costs somewhere, for as long as it is valid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PriceVersion {
    pub cloud: Cloud,
    pub instance_type: String,
    pub region: String,
    /// Absent where one price holds in every zone.
    pub zone: Option<String>,
    pub capacity: CapacityType,
    pub valid: Span,
    pub rate: NanoUsd,
    pub source: PriceSource,
    pub as_of: Moment,
}

impl PriceVersion {
    /// A validity without end on either side, for tables that say what a price is and not since when.
    pub const ALWAYS: Span = Span::new(Moment(i64::MIN), Moment(i64::MAX));
}

/// The price in force. Better sources come first, then the exact zone, then the youngest.
///
/// The versions are of one cloud and type, and in order. A type may have thousands of them, a month of spot prices in every
/// zone, so they are gone through once, and only those of the region.
pub(super) fn find(versions: &[PriceVersion], machine: &Machine, at: Moment) -> Result<Base, UnpricedReason> {
    let region = machine.region.as_deref().ok_or(UnpricedReason::NoRegion)?;
    let first = versions.partition_point(|version| version.region.as_str() < region);
    let count = versions[first..].partition_point(|version| version.region == region);
    let here = &versions[first..first + count];
    if here.is_empty() {
        return Err(UnpricedReason::UnknownRegion);
    }
    let (capacity, assumed) = match machine.capacity {
        // A reservation of capacity alone is paid like on demand; a commitment, if there is one, comes before this.
        CapacityType::Reserved => (CapacityType::OnDemand, true),
        capacity => (capacity, false),
    };
    let mut known = false;
    let mut valid: Vec<&PriceVersion> = Vec::new();
    for version in here {
        if version.capacity == capacity || version.capacity == machine.capacity {
            known = true;
            if version.valid.contains(at) {
                valid.push(version);
            }
        }
    }
    if !known {
        return Err(UnpricedReason::UnknownCapacityType);
    }
    let source = valid
        .iter()
        .map(|version| version.source)
        .min()
        .ok_or(UnpricedReason::OutsideValidity)?;
    let from_source = || valid.iter().filter(|version| version.source == source);
    let zone = machine.zone.as_deref();
    let youngest = |version: &&&PriceVersion| (version.valid.start, version.as_of, version.rate);
    let exact = from_source()
        .filter(|version| version.zone.is_some() && version.zone.as_deref() == zone)
        .max_by_key(youngest);
    let regional = || {
        from_source()
            .filter(|version| version.zone.is_none())
            .max_by_key(youngest)
    };
    if let Some(version) = exact.or_else(regional) {
        let assumed = assumed && version.capacity != machine.capacity;
        return Ok(base(version, assumed));
    }
    // Other zones have a price and this one has none, or the node names its zone otherwise: the dearest, and it says so.
    let dearest = from_source().max_by_key(|version| (version.rate, version.as_of));
    dearest
        .map(|version| base(version, true))
        .ok_or(UnpricedReason::OutsideValidity)
}

fn base(version: &PriceVersion, estimate: bool) -> Base {
    Base {
        rate: version.rate,
        list: version.rate,
        source: version.source,
        as_of: version.as_of,
        estimate,
    }
}

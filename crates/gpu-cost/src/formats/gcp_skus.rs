//! Google's catalogue of billing. It prices parts: a GPU, a core, a gibibyte; a machine's price is put together from them.

use std::collections::BTreeMap;
use std::io::Read;

use gpu_model::{CapacityType, Cloud, NanoUsd};
use jiff::Timestamp;
use serde::Deserialize;

use super::{Bounded, FormatError, Limits, PricePoint};
use crate::Moment;
use crate::prices::MachineType;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    skus: Option<Vec<Sku>>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sku {
    #[serde(default)]
    description: String,
    category: Option<Category>,
    #[serde(default)]
    service_regions: Vec<String>,
    #[serde(default)]
    pricing_info: Vec<PricingInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Category {
    #[serde(default)]
    resource_family: String,
    #[serde(default)]
    usage_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PricingInfo {
    effective_time: Option<String>,
    pricing_expression: Option<Expression>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expression {
    #[serde(default)]
    usage_unit: String,
    #[serde(default)]
    tiered_rates: Vec<Rate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rate {
    unit_price: Option<UnitPrice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UnitPrice {
    #[serde(default)]
    currency_code: String,
    #[serde(default)]
    units: String,
    #[serde(default)]
    nanos: i64,
}

/// What a price is the price of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Gpu,
    Core,
    Gibibyte,
}

/// How Google calls the pieces of a family of machines.
struct Family {
    /// How the names of its types begin.
    machines: &'static str,
    /// How the descriptions of its GPU begin, and those of its cores and memory, once the words of the market are taken off.
    gpu: &'static str,
    host: Option<&'static str>,
}

const FAMILIES: &[Family] = &[
    family("a2-ultragpu-", "Nvidia Tesla A100 80GB GPU", "A2 Instance"),
    family("a2-", "Nvidia Tesla A100 GPU", "A2 Instance"),
    family("a3-megagpu-", "Nvidia H100 80GB Mega GPU", "A3 Instance"),
    family("a3-ultragpu-", "H200 141GB GPU", "A3Ultra Instance"),
    family("a3-", "Nvidia H100 80GB GPU", "A3 Instance"),
    family("g2-", "Nvidia L4 GPU", "G2 Instance"),
    // The price of a slice of these holds the whole machine's part.
    Family {
        machines: "a4-",
        gpu: "A4 Nvidia B200 (1 gpu slice)",
        host: None,
    },
    family("g4-", "RTX 6000 96GB", "G4 Instance"),
];

const fn family(machines: &'static str, gpu: &'static str, host: &'static str) -> Family {
    Family {
        machines,
        gpu,
        host: Some(host),
    }
}

/// Prices of pieces, gathered over the pages of the catalogue.
#[derive(Debug, Default)]
pub struct Pieces {
    found: BTreeMap<(Key, Option<Moment>), NanoUsd>,
}

/// Family, piece, region and market.
type Key = (usize, Piece, String, CapacityType);

impl Pieces {
    /// Reads a page, and says how to ask for the next.
    pub fn read(&mut self, reader: impl Read, limits: Limits) -> Result<Option<String>, FormatError> {
        let answer: Answer =
            serde_json::from_reader(std::io::BufReader::new(Bounded::new(reader, limits.bytes)))?;
        for sku in answer.skus.ok_or(FormatError::Missing("skus"))? {
            self.take(&sku, limits)?;
        }
        Ok(answer.next_page_token.filter(|token| !token.is_empty()))
    }

    fn take(&mut self, sku: &Sku, limits: Limits) -> Result<(), FormatError> {
        let Some(category) = &sku.category else {
            return Ok(());
        };
        let capacity = match category.usage_type.as_str() {
            "OnDemand" => CapacityType::OnDemand,
            "Preemptible" => CapacityType::Spot,
            _ => return Ok(()),
        };
        if category.resource_family != "Compute" {
            return Ok(());
        }
        let text = sku
            .description
            .trim_start_matches("Spot Preemptible ")
            .trim_start_matches("Preemptible ");
        for (family, piece) in pieces_of(text) {
            for info in &sku.pricing_info {
                let Some(rate) = info.hourly(piece) else { continue };
                let since = info.effective_time.as_deref();
                let since = since
                    .and_then(|text| text.parse::<Timestamp>().ok())
                    .map(Moment::from);
                for region in &sku.service_regions {
                    if self.found.len() >= limits.points {
                        return Err(FormatError::TooMany(limits.points));
                    }
                    let key = ((family, piece, region.clone(), capacity), since);
                    self.found.insert(key, rate);
                }
            }
        }
        Ok(())
    }

    /// The prices of machine types, in every region that has all of their pieces.
    pub fn points(&self, types: &[MachineType]) -> Vec<PricePoint> {
        let mut points = Vec::new();
        for known in types.iter().filter(|known| known.cloud == Cloud::Gcp) {
            let family = FAMILIES
                .iter()
                .position(|family| known.name.starts_with(family.machines));
            let Some(family) = family else { continue };
            for (region, capacity) in self.places(family) {
                if let Some((rate, since)) = self.machine(family, known, &region, capacity) {
                    points.push(PricePoint {
                        cloud: Cloud::Gcp,
                        instance_type: known.name.clone(),
                        region,
                        zone: None,
                        capacity,
                        since,
                        rate,
                    });
                }
            }
        }
        points.sort();
        points
    }

    fn places(&self, family: usize) -> Vec<(String, CapacityType)> {
        let mut places: Vec<_> = self
            .found
            .keys()
            .filter(|((of, piece, ..), _)| *of == family && *piece == Piece::Gpu)
            .map(|((_, _, region, capacity), _)| (region.clone(), *capacity))
            .collect();
        places.sort();
        places.dedup();
        places
    }

    fn machine(
        &self,
        family: usize,
        known: &MachineType,
        region: &str,
        capacity: CapacityType,
    ) -> Option<(NanoUsd, Option<Moment>)> {
        let latest = |piece: Piece| {
            let key = (family, piece, region.to_owned(), capacity);
            let first = (key.clone(), None);
            self.found
                .range(first..)
                .take_while(|((found, _), _)| *found == key)
                .last()
                .map(|((_, since), rate)| (*rate, *since))
        };
        let (gpu, mut since) = latest(Piece::Gpu)?;
        let mut nanos = i128::from(gpu.0) * i128::from(known.gpu_thousandths) / 1000;
        if FAMILIES[family].host.is_some() {
            let (core, core_since) = latest(Piece::Core)?;
            let (memory, memory_since) = latest(Piece::Gibibyte)?;
            nanos += i128::from(core.0) * i128::from(known.vcpus);
            nanos += i128::from(memory.0) * i128::from(known.memory_mib) / 1024;
            since = since.max(core_since).max(memory_since);
        }
        let rate = i64::try_from(nanos).ok().filter(|rate| *rate > 0)?;
        Some((NanoUsd(rate), since))
    }
}

/// The families of which a description names a piece: an A2's core is the core of both kinds of A2.
fn pieces_of(text: &str) -> Vec<(usize, Piece)> {
    let mut found = Vec::new();
    for (index, family) in FAMILIES.iter().enumerate() {
        if begins(text, family.gpu) {
            found.push((index, Piece::Gpu));
        }
        let host = family.host.and_then(|host| text.strip_prefix(host));
        let Some(rest) = host else { continue };
        if begins(rest, " Core") {
            found.push((index, Piece::Core));
        } else if begins(rest, " Ram") {
            found.push((index, Piece::Gibibyte));
        }
    }
    found
}

/// Whether a text is about these words alone: sole tenants, workstations and reservations have rows with more.
fn begins(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| {
        rest.starts_with(" running in ") || rest.starts_with(" attached to Spot Preemptible VMs")
    })
}

impl PricingInfo {
    /// The first tier that costs something; a free allowance is a tier too. A price in another unit is no price of the piece.
    fn hourly(&self, piece: Piece) -> Option<NanoUsd> {
        let expression = self.pricing_expression.as_ref()?;
        let unit = match piece {
            Piece::Gpu | Piece::Core => "h",
            Piece::Gibibyte => "GiBy.h",
        };
        if expression.usage_unit != unit {
            return None;
        }
        expression
            .tiered_rates
            .iter()
            .filter_map(|rate| rate.unit_price.as_ref())
            .filter(|price| price.currency_code == "USD")
            .filter_map(UnitPrice::amount)
            .find(|amount| amount.0 > 0)
    }
}

impl UnitPrice {
    fn amount(&self) -> Option<NanoUsd> {
        let units: i64 = if self.units.is_empty() {
            0
        } else {
            self.units.parse().ok()?
        };
        units
            .checked_mul(1_000_000_000)?
            .checked_add(self.nanos)
            .map(NanoUsd)
    }
}

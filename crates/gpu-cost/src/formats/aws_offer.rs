//! AWS's public offer file of EC2 in JSON: products first, then the terms under which each is sold.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use gpu_model::{CapacityType, Cloud, NanoUsd};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{Bounded, FormatError, Limits, PricePoint};
use crate::Moment;
use crate::prices::parse_usd;

/// Reads the on-demand prices of the machine types that are wanted. Memory grows with those, not with the file.
pub fn read(
    reader: impl Read,
    wanted: &dyn Fn(&str) -> bool,
    limits: Limits,
) -> Result<Vec<PricePoint>, FormatError> {
    let mut offer = Offer {
        wanted,
        limits,
        products: BTreeMap::new(),
        points: Vec::new(),
        terms_seen: false,
        too_many: false,
    };
    let bounded = std::io::BufReader::with_capacity(64 * 1024, Bounded::new(reader, limits.bytes));
    let mut json = serde_json::Deserializer::from_reader(bounded);
    let outcome = Root(&mut offer).deserialize(&mut json).and_then(|()| json.end());
    if offer.too_many {
        return Err(FormatError::TooMany(limits.points));
    }
    outcome?;
    if !offer.terms_seen {
        return Err(FormatError::Missing("terms"));
    }
    offer.points.sort();
    Ok(offer.points)
}

/// What is kept while the file passes by.
struct Offer<'a> {
    wanted: &'a dyn Fn(&str) -> bool,
    limits: Limits,
    /// Type and region, by the product's id.
    products: BTreeMap<String, (String, String)>,
    points: Vec<PricePoint>,
    terms_seen: bool,
    too_many: bool,
}

#[derive(Deserialize)]
struct Product {
    #[serde(default)]
    attributes: Attributes,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Attributes {
    instance_type: Option<String>,
    region_code: Option<String>,
    operating_system: Option<String>,
    tenancy: Option<String>,
    pre_installed_sw: Option<String>,
    capacitystatus: Option<String>,
    market_option: Option<String>,
}

impl Attributes {
    /// A plain Linux machine that is paid while it runs; licences, dedicated hosts and reserved capacity have rows of their
    /// own.
    fn is_plain(&self) -> bool {
        let is = |value: &Option<String>, wanted: &str| value.as_deref() == Some(wanted);
        is(&self.operating_system, "Linux")
            && is(&self.tenancy, "Shared")
            && is(&self.pre_installed_sw, "NA")
            && is(&self.capacitystatus, "Used")
            && self
                .market_option
                .as_deref()
                .is_none_or(|market| market == "OnDemand")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    effective_date: Option<String>,
    #[serde(default)]
    price_dimensions: BTreeMap<String, Dimension>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dimension {
    #[serde(default)]
    unit: String,
    #[serde(default)]
    price_per_unit: BTreeMap<String, String>,
}

/// An hour's price of a term, where it has one.
fn hourly(term: &Term) -> Option<(NanoUsd, Option<Moment>)> {
    let dimension = term.price_dimensions.values().find(|it| it.unit == "Hrs")?;
    let rate = parse_usd(dimension.price_per_unit.get("USD")?).ok()?;
    let since = term.effective_date.as_deref();
    let since = since
        .and_then(|text| text.parse::<Timestamp>().ok())
        .map(Moment::from);
    (rate.0 > 0).then_some((rate, since))
}

macro_rules! walk_map {
    ($seed:ident, $expecting:literal, |$offer:ident, $key:ident, $map:ident| $body:block) => {
        struct $seed<'o, 'a>(&'o mut Offer<'a>);

        impl<'de> DeserializeSeed<'de> for $seed<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_map(self)
            }
        }

        impl<'de> Visitor<'de> for $seed<'_, '_> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expecting)
            }

            fn visit_map<M: MapAccess<'de>>(self, mut $map: M) -> Result<(), M::Error> {
                let $offer = self.0;
                while let Some($key) = $map.next_key::<String>()? {
                    $body
                }
                Ok(())
            }
        }
    };
}

walk_map!(Root, "an offer file", |offer, key, map| {
    match key.as_str() {
        "products" => map.next_value_seed(Products(&mut *offer))?,
        "terms" => {
            offer.terms_seen = true;
            map.next_value_seed(Terms(&mut *offer))?;
        }
        _ => {
            map.next_value::<IgnoredAny>()?;
        }
    }
});

walk_map!(Products, "products by id", |offer, sku, map| {
    let product: Product = map.next_value()?;
    let attributes = product.attributes;
    if attributes.is_plain()
        && let (Some(name), Some(region)) = (attributes.instance_type, attributes.region_code)
        && (offer.wanted)(&name)
    {
        if offer.products.len() >= offer.limits.points {
            offer.too_many = true;
            return Err(serde::de::Error::custom("too many products"));
        }
        offer.products.insert(sku, (name, region));
    }
});

walk_map!(Terms, "terms by kind", |offer, kind, map| {
    if kind == "OnDemand" {
        map.next_value_seed(OnDemand(&mut *offer))?;
    } else {
        map.next_value::<IgnoredAny>()?;
    }
});

walk_map!(OnDemand, "terms by product", |offer, sku, map| {
    let Some((name, region)) = offer.products.get(&sku) else {
        map.next_value::<IgnoredAny>()?;
        continue;
    };
    let terms: BTreeMap<String, Term> = map.next_value()?;
    for (rate, since) in terms.values().filter_map(hourly) {
        offer.points.push(PricePoint {
            cloud: Cloud::Aws,
            instance_type: name.clone(),
            region: region.clone(),
            zone: None,
            capacity: CapacityType::OnDemand,
            since,
            rate,
        });
    }
    if offer.points.len() > offer.limits.points {
        offer.too_many = true;
        return Err(serde::de::Error::custom("too many prices"));
    }
});

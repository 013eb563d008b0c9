//! What a row says about its price: where it came from and how old it was, or why there is none.

use gpu_model::{CapacityType, NanoUsd};
use serde::{Deserialize, Serialize};

use crate::Moment;

/// The price that was in force, or the reason why nobody knows it. There is no third case, and no default price.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
pub enum PriceNote {
    Priced {
        /// What an hour of the whole node costs after discounts and commitments.
        rate: NanoUsd,
        /// What it costs without them.
        list: NanoUsd,
        source: PriceSource,
        /// When the source said so.
        as_of: Moment,
        capacity: CapacityType,
        /// The price is not of this zone but the highest of its region, or the like.
        estimate: bool,
        /// The commitment that covers the node, or whose unused part this is.
        commitment: Option<String>,
    },
    Unpriced {
        reason: UnpricedReason,
    },
}

impl PriceNote {
    pub fn rate(&self) -> Option<NanoUsd> {
        match self {
            PriceNote::Priced { rate, .. } => Some(*rate),
            PriceNote::Unpriced { .. } => None,
        }
    }

    /// How many seconds old what the source said is at an instant.
    pub fn age_seconds(&self, now: Moment) -> Option<u64> {
        match self {
            PriceNote::Priced { as_of, .. } => {
                let old = now.0.saturating_sub(as_of.0).max(0) / 1000;
                u64::try_from(old).ok()
            }
            PriceNote::Unpriced { .. } => None,
        }
    }

    /// A text that names the price version: the same price from the same source has the same one.
    pub fn id(&self) -> Option<String> {
        match self {
            PriceNote::Priced {
                rate,
                source,
                as_of,
                capacity,
                ..
            } => Some(format!(
                "{}/{}/{}@{as_of}",
                source.as_str(),
                capacity.as_str(),
                rate.0
            )),
            PriceNote::Unpriced { .. } => None,
        }
    }

    pub fn list(&self) -> Option<NanoUsd> {
        match self {
            PriceNote::Priced { list, .. } => Some(*list),
            PriceNote::Unpriced { .. } => None,
        }
    }
}

/// Where a price comes from, in the order in which they are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriceSource {
    /// Somebody of this cluster wrote it down: a ConfigMap or a custom resource.
    Override,
    /// A reservation, savings plan or committed use that covers the node.
    Commitment,
    /// The cloud's bill.
    Bill,
    /// The cloud's price interface, asked by us.
    Live,
    /// The sheet of an own data centre.
    Sheet,
    /// The table that comes with the program.
    Bundled,
}

impl PriceSource {
    pub const ALL: [Self; 6] = [
        Self::Override,
        Self::Commitment,
        Self::Bill,
        Self::Live,
        Self::Sheet,
        Self::Bundled,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            PriceSource::Override => "override",
            PriceSource::Commitment => "commitment",
            PriceSource::Bill => "bill",
            PriceSource::Live => "live",
            PriceSource::Sheet => "sheet",
            PriceSource::Bundled => "bundled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == text)
    }
}

/// Why a node has no price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnpricedReason {
    /// The node does not say what type it is.
    NoInstanceType,
    /// The node does not say where it is.
    NoRegion,
    /// No list knows the type.
    UnknownInstanceType,
    /// The type is known, in other regions.
    UnknownRegion,
    /// The type and region are known, but not for this way of paying.
    UnknownCapacityType,
    /// Every price that is known begins later or ended before.
    OutsideValidity,
    /// An own machine without a row in the sheet.
    NotInSheet,
}

impl UnpricedReason {
    pub const ALL: [Self; 7] = [
        Self::NoInstanceType,
        Self::NoRegion,
        Self::UnknownInstanceType,
        Self::UnknownRegion,
        Self::UnknownCapacityType,
        Self::OutsideValidity,
        Self::NotInSheet,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            UnpricedReason::NoInstanceType => "no-instance-type",
            UnpricedReason::NoRegion => "no-region",
            UnpricedReason::UnknownInstanceType => "unknown-instance-type",
            UnpricedReason::UnknownRegion => "unknown-region",
            UnpricedReason::UnknownCapacityType => "unknown-capacity-type",
            UnpricedReason::OutsideValidity => "outside-validity",
            UnpricedReason::NotInSheet => "not-in-sheet",
        }
    }

    /// What is missing, for people who can mend it.
    pub const fn words(self) -> &'static str {
        match self {
            UnpricedReason::NoInstanceType => "the node names no machine type",
            UnpricedReason::NoRegion => "the node names no region",
            UnpricedReason::UnknownInstanceType => "no price list has its machine type",
            UnpricedReason::UnknownRegion => "no price list has its machine type in its region",
            UnpricedReason::UnknownCapacityType => "no price list has its machine type in its market",
            UnpricedReason::OutsideValidity => "no price is valid at this time",
            UnpricedReason::NotInSheet => "no row of the price sheet covers it",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// What somebody can do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            UnpricedReason::NoInstanceType => "label the node with node.kubernetes.io/instance-type",
            UnpricedReason::NoRegion => "label the node with topology.kubernetes.io/region",
            UnpricedReason::UnknownInstanceType
            | UnpricedReason::UnknownRegion
            | UnpricedReason::UnknownCapacityType => "write an override, or let live prices be fetched",
            UnpricedReason::OutsideValidity => "extend the price's validity, or let live prices be fetched",
            UnpricedReason::NotInSheet => "add the machine to the sheet of own machines",
        }
    }
}

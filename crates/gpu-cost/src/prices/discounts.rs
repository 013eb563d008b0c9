//! Negotiated discounts: a share off a cloud's price. They apply to the whole node, its GPUs included.

use gpu_model::{CapacityType, Cloud, NanoUsd, Permille};
use serde::{Deserialize, Serialize};

use super::thousandths;
use crate::{Machine, Moment, Span};

/// An agreement with a cloud.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discount {
    pub name: String,
    pub cloud: Cloud,
    /// The types it is for; all where absent.
    pub instance_type: Option<String>,
    /// The way of paying it is for. Absent means on demand and reserved: spot prices are already the market's.
    pub capacity: Option<CapacityType>,
    /// What is taken off.
    pub off: Permille,
    pub valid: Span,
}

impl Discount {
    fn applies(&self, machine: &Machine, at: Moment) -> bool {
        let capacity = match self.capacity {
            Some(capacity) => capacity == machine.capacity,
            None => machine.capacity != CapacityType::Spot,
        };
        let named = self.instance_type.is_none() || self.instance_type == machine.instance_type;
        self.cloud == machine.cloud && capacity && named && self.valid.contains(at)
    }
}

/// The price after every discount that applies, one after the other, as bills do it.
pub(super) fn apply(discounts: &[Discount], machine: &Machine, at: Moment, rate: NanoUsd) -> NanoUsd {
    discounts
        .iter()
        .filter(|discount| discount.applies(machine, at))
        .fold(rate, |rate, discount| {
            thousandths(rate, 1000 - discount.off.get())
        })
}

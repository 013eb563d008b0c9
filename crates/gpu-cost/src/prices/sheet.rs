//! What own machines cost: what they were bought for, spread over their life, with support, room and measured power.

use gpu_model::{Milliwatts, NanoUsd, Permille};
use serde::{Deserialize, Serialize};

use super::{Base, scaled};
use crate::{Machine, Moment, PriceSource, Span};

/// Hours of a mean month: 365 days of 24 hours over 12.
const MONTH_HOURS: u64 = 730;
const YEAR_HOURS: u64 = 8760;

/// One kind of own machine. Amounts are of one machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SheetRow {
    pub name: String,
    /// Which machines: by their node pool, their type or their GPU. What is absent is not asked for.
    pub pool: Option<String>,
    pub instance_type: Option<String>,
    pub gpu_model: Option<String>,
    pub purchase: NanoUsd,
    /// What it will be sold for in the end.
    pub residual: NanoUsd,
    pub life_months: u32,
    /// Of the purchase, every year.
    pub support_per_year: Permille,
    /// Rack, network and staff.
    pub fixed_per_month: NanoUsd,
    pub power: Option<Tariff>,
    pub valid: Span,
    pub as_of: Moment,
}

/// What power costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tariff {
    pub per_kilowatt_hour: NanoUsd,
    /// Power usage effectiveness in thousandths: 1,300 where cooling and losses add three tenths.
    pub pue_thousandths: u32,
}

impl Tariff {
    /// What an hour at this draw costs.
    pub fn per_hour(&self, drawn: Milliwatts) -> NanoUsd {
        let milliwatts = u64::from(drawn.0) * u64::from(self.pue_thousandths);
        scaled(self.per_kilowatt_hour, milliwatts, 1_000_000_000)
    }
}

impl SheetRow {
    /// What an owned hour costs without power, used or not.
    pub fn owned_hour(&self) -> NanoUsd {
        let life = u64::from(self.life_months.max(1)) * MONTH_HOURS;
        let lost = NanoUsd(self.purchase.0.saturating_sub(self.residual.0));
        let support = u64::from(self.support_per_year.get());
        [
            scaled(lost, 1, life),
            scaled(self.purchase, support, 1000 * YEAR_HOURS),
            scaled(self.fixed_per_month, 1, MONTH_HOURS),
        ]
        .into_iter()
        .sum()
    }

    fn matches(&self, machine: &Machine) -> bool {
        let fits = |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
        fits(&self.pool, &machine.pool)
            && fits(&self.instance_type, &machine.instance_type)
            && fits(&self.gpu_model, &machine.gpu_model)
    }

    fn conditions(&self) -> usize {
        [&self.pool, &self.instance_type, &self.gpu_model]
            .into_iter()
            .flatten()
            .count()
    }
}

/// The price of an own machine; the row that asks for most holds. Power that nobody measured is left out, and the price says
/// that it is an estimate.
pub(super) fn price(
    rows: &[SheetRow],
    machine: &Machine,
    at: Moment,
    drawn: Option<Milliwatts>,
) -> Option<Base> {
    let row = rows
        .iter()
        .filter(|row| row.valid.contains(at) && row.matches(machine))
        .max_by_key(|row| (row.conditions(), row.valid.start, &row.name))?;
    let (power, estimate) = match (row.power, drawn) {
        (None, _) => (NanoUsd::ZERO, false),
        (Some(tariff), Some(drawn)) => (tariff.per_hour(drawn), false),
        (Some(_), None) => (NanoUsd::ZERO, true),
    };
    let rate = [row.owned_hour(), power].into_iter().sum();
    Some(Base {
        rate,
        list: rate,
        source: PriceSource::Sheet,
        as_of: row.as_of,
        estimate,
    })
}

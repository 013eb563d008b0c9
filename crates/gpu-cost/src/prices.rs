//! What an hour of a machine costs, and who says so.
//!
//! The order in which prices are believed: an override that somebody of this cluster wrote; a commitment that covers the
//! machine; the cloud's bill; the cloud's live price; for own machines the sheet; the table that comes with the program. A
//! negotiated discount applies to bill-less cloud prices, that of the GPUs included. Where nothing is known the answer is
//! `Unpriced` with the reason: there is no default price.

mod bundled;
mod commitments;
mod decimal;
mod discounts;
mod machine_types;
mod overrides;
mod sheet;
mod split;
mod version;

use std::collections::BTreeMap;

use gpu_model::{CapacityType, Cloud, MachineId, Milliwatts, NanoUsd};

use crate::{Machine, Moment, PriceNote, PriceSource, Span, UnpricedReason};

pub use bundled::{PriceTable, TableError, TableRow, bundled_prices, parse_table, write_table};
pub(crate) use commitments::Coverage;
pub use commitments::{Commitment, CommitmentKind};
pub use decimal::{DecimalError, parse_usd, write_usd};
pub use discounts::Discount;
pub use machine_types::{
    MachineType, bundled_machine_types, find_machine_type, parse_machine_types, write_machine_types,
};
pub use overrides::{Override, OverrideRate};
pub use sheet::{SheetRow, Tariff};
pub use split::NodeSplit;
pub use version::PriceVersion;

/// All prices that are known, with their validity.
#[derive(Debug, Clone, Default)]
pub struct PriceBook {
    overrides: Vec<Override>,
    commitments: Vec<Commitment>,
    discounts: Vec<Discount>,
    sheet: Vec<SheetRow>,
    versions: BTreeMap<(Cloud, String), Vec<PriceVersion>>,
    power: BTreeMap<MachineId, Vec<(Span, Milliwatts)>>,
}

/// A price before commitments: what it is, and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Base {
    rate: NanoUsd,
    list: NanoUsd,
    source: PriceSource,
    as_of: Moment,
    estimate: bool,
}

impl PriceBook {
    /// A book that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A book with the table that comes with the program.
    pub fn with_bundled() -> Result<Self, TableError> {
        let mut book = Self::default();
        book.add_versions(bundled_prices()?);
        Ok(book)
    }

    pub fn add_override(&mut self, rule: Override) {
        self.overrides.push(rule);
        self.overrides.sort();
    }

    pub fn add_commitment(&mut self, commitment: Commitment) {
        self.commitments.push(commitment);
        self.commitments.sort();
    }

    pub fn add_discount(&mut self, discount: Discount) {
        self.discounts.push(discount);
        self.discounts.sort();
    }

    pub fn add_sheet_row(&mut self, row: SheetRow) {
        self.sheet.push(row);
        self.sheet.sort();
    }

    /// Adds prices of a bill, of a live source or of the bundled table.
    pub fn add_versions(&mut self, versions: impl IntoIterator<Item = PriceVersion>) {
        for version in versions {
            let place = (version.cloud, version.instance_type.clone());
            self.versions.entry(place).or_default().push(version);
        }
        for list in self.versions.values_mut() {
            list.sort();
            list.dedup();
        }
    }

    /// Notes the mean power that an own machine drew over a span.
    pub fn record_power(&mut self, machine: MachineId, span: Span, power: Milliwatts) {
        let list = self.power.entry(machine).or_default();
        let place = list.partition_point(|(old, _)| *old < span);
        if list.get(place).is_none_or(|(old, _)| *old != span) {
            list.insert(place, (span, power));
        }
    }

    /// What an hour of a machine costs at an instant, before commitments, which need to know the whole fleet.
    pub fn quote(&self, machine: &Machine, at: Moment) -> PriceNote {
        match self.base(machine, at) {
            Ok(base) => note(machine, base),
            Err(reason) => PriceNote::Unpriced { reason },
        }
    }

    /// The prices of a span, each with the part of the span in which it holds. Together they are the span.
    pub(crate) fn quotes(
        &self,
        machine: &Machine,
        span: Span,
        coverage: &Coverage,
    ) -> Vec<(Span, PriceNote)> {
        let mut cuts = self.edges(machine, span);
        cuts.extend(coverage.edges(&machine.id, span));
        cuts.push(span.start);
        cuts.push(span.end);
        cuts.sort();
        cuts.dedup();
        let mut quotes: Vec<(Span, PriceNote)> = Vec::new();
        for pair in cuts.windows(2) {
            let piece = Span::new(pair[0], pair[1]);
            let price = match coverage.at(&machine.id, piece.start) {
                Some(covered) => covered,
                None => self.quote(machine, piece.start),
            };
            match quotes.last_mut() {
                Some((before, same)) if *same == price => before.end = piece.end,
                _ => quotes.push((piece, price)),
            }
        }
        quotes
    }

    fn base(&self, machine: &Machine, at: Moment) -> Result<Base, UnpricedReason> {
        let listed = self.listed(machine, at);
        let ruling = self
            .overrides
            .iter()
            .filter(|rule| rule.valid.contains(at))
            .filter_map(|rule| Some((rule.specificity(machine)?, rule.rate_for(machine)?, rule)))
            // The most specific rule holds; of equal ones the youngest, then the last by name.
            .max_by_key(|(specificity, _, rule)| (*specificity, rule.valid.start, &rule.name));
        if let Some((_, rate, rule)) = ruling {
            return Ok(Base {
                rate,
                list: listed.map_or(rate, |base| base.list),
                source: PriceSource::Override,
                as_of: rule.as_of,
                estimate: false,
            });
        }
        let mut base = listed?;
        if base.source != PriceSource::Bill && base.source != PriceSource::Sheet {
            base.rate = discounts::apply(&self.discounts, machine, at, base.rate);
        }
        Ok(base)
    }

    /// The price without anything that was agreed in particular.
    fn listed(&self, machine: &Machine, at: Moment) -> Result<Base, UnpricedReason> {
        if machine.cloud == Cloud::OnPremises || machine.capacity == CapacityType::Owned {
            let power = self.power_at(&machine.id, at);
            return sheet::price(&self.sheet, machine, at, power).ok_or(UnpricedReason::NotInSheet);
        }
        let name = machine
            .instance_type
            .as_deref()
            .ok_or(UnpricedReason::NoInstanceType)?;
        let versions = self
            .versions
            .get(&(machine.cloud, name.to_owned()))
            .ok_or(UnpricedReason::UnknownInstanceType)?;
        version::find(versions, machine, at)
    }

    fn power_at(&self, machine: &MachineId, at: Moment) -> Option<Milliwatts> {
        let list = self.power.get(machine)?;
        list.iter()
            .find(|(span, _)| span.contains(at))
            .map(|(_, power)| *power)
    }

    /// Where in a span the price of a machine may change.
    fn edges(&self, machine: &Machine, span: Span) -> Vec<Moment> {
        let versions = machine
            .instance_type
            .as_ref()
            .and_then(|name| self.versions.get(&(machine.cloud, name.clone())));
        let listed = versions.into_iter().flatten().map(|version| version.valid);
        let agreed = self
            .overrides
            .iter()
            .map(|rule| rule.valid)
            .chain(self.discounts.iter().map(|discount| discount.valid))
            .chain(self.sheet.iter().map(|row| row.valid));
        let power = self.power.get(&machine.id);
        let power = power.into_iter().flatten().map(|(span, _)| *span);
        listed
            .chain(agreed)
            .chain(power)
            .flat_map(|valid| [valid.start, valid.end])
            .filter(|at| span.contains(*at))
            .collect()
    }
}

fn note(machine: &Machine, base: Base) -> PriceNote {
    PriceNote::Priced {
        rate: base.rate,
        list: base.list,
        source: base.source,
        as_of: base.as_of,
        capacity: machine.capacity,
        estimate: base.estimate,
        commitment: None,
    }
}

/// A share of an amount in thousandths, rounded to the nearest unit.
fn thousandths(amount: NanoUsd, share: u16) -> NanoUsd {
    scaled(amount, u64::from(share), 1000)
}

/// An amount times a fraction, rounded to the nearest unit, half up.
fn scaled(amount: NanoUsd, times: u64, over: u64) -> NanoUsd {
    let over = i128::from(over.max(1));
    let exact = i128::from(amount.0) * i128::from(times);
    let rounded = (exact + over / 2).div_euclid(over);
    NanoUsd(i64::try_from(rounded).unwrap_or(i64::MAX))
}

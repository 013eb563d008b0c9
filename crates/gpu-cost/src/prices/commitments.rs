//! What is paid whether it is used or not: reservations, savings plans, committed use. What covers no machine is a cost of
//! its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gpu_model::{CapacityType, ClusterId, MachineId, NanoUsd, Permille};
use serde::{Deserialize, Serialize};

use super::{PriceBook, scaled, thousandths};
use crate::apportion::charge;
use crate::{
    Amounts, CommitmentName, Entry, GpuTime, LedgerRow, Machine, Moment, Part, Phase, PriceNote, PriceSource,
    RowKey, ShareBasis, Slot, Span, Subject,
};

/// A commitment. They are used up in their order: those for machines before those for money.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Commitment {
    pub kind: CommitmentKind,
    pub name: CommitmentName,
    pub valid: Span,
    /// When the figures were read.
    pub as_of: Moment,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommitmentKind {
    /// So many machines at so much an hour each, what was paid up front spread over the term: reserved instances, committed
    /// use of machines, capacity blocks.
    Machines { count: u32, rate: NanoUsd },
    /// So much money an hour, spent at a discount: savings plans, flexible committed use.
    Spend { per_hour: NanoUsd, off: Permille },
}

impl Commitment {
    fn covers(&self, machine: &Machine) -> bool {
        let eligible = matches!(machine.capacity, CapacityType::OnDemand | CapacityType::Reserved);
        let fits = |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
        eligible
            && self.name.cloud == machine.cloud
            && fits(&self.name.region, &machine.region)
            && fits(&self.name.instance_type, &machine.instance_type)
    }
}

/// Which machine is covered by which commitment, from instant to instant, and what covers nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coverage {
    covered: BTreeMap<MachineId, Vec<(Span, PriceNote)>>,
    unused: Vec<Unused>,
}

#[derive(Debug, Clone)]
struct Unused {
    name: Arc<CommitmentName>,
    span: Span,
    rate: NanoUsd,
    as_of: Moment,
}

impl Coverage {
    /// Assigns commitments to the machines of a window: the one that was launched first is covered first.
    pub(crate) fn of(mut lives: Vec<(Span, Arc<Machine>)>, prices: &PriceBook, window: Span) -> Self {
        let mut coverage = Self::default();
        if prices.commitments.is_empty() {
            return coverage;
        }
        lives.sort_by(|a, b| (a.0.start, &a.1.id).cmp(&(b.0.start, &b.1.id)));
        let mut cuts = BTreeSet::from([window.start, window.end]);
        for (life, machine) in &lives {
            let inside = |at: &Moment| window.contains(*at);
            cuts.extend([life.start, life.end].into_iter().filter(inside));
            cuts.extend(prices.edges(machine, window));
        }
        for commitment in &prices.commitments {
            let ends = [commitment.valid.start, commitment.valid.end];
            cuts.extend(ends.into_iter().filter(|at| window.contains(*at)));
        }
        let cuts: Vec<Moment> = cuts.into_iter().collect();
        for pair in cuts.windows(2) {
            coverage.assign(&lives, prices, Span::new(pair[0], pair[1]));
        }
        coverage
    }

    /// A stretch in which neither machines nor prices change.
    fn assign(&mut self, lives: &[(Span, Arc<Machine>)], prices: &PriceBook, span: Span) {
        let at = span.start;
        let mut open: Vec<&Arc<Machine>> = lives
            .iter()
            .filter(|(life, _)| life.contains(at))
            .map(|(_, machine)| machine)
            // An override says what the machine costs; no commitment changes that.
            .filter(|machine| {
                !matches!(
                    prices.quote(machine, at),
                    PriceNote::Priced {
                        source: PriceSource::Override | PriceSource::Bill,
                        ..
                    }
                )
            })
            .collect();
        for commitment in prices.commitments.iter().filter(|held| held.valid.contains(at)) {
            let rest = match commitment.kind {
                CommitmentKind::Machines { count, rate } => {
                    self.cover_machines(&mut open, commitment, prices, span, count, rate)
                }
                CommitmentKind::Spend { per_hour, off } => {
                    self.cover_spend(&mut open, commitment, prices, span, per_hour, off)
                }
            };
            self.leave(commitment, span, rest);
        }
    }

    /// Covers up to so many machines; what an hour of the rest costs comes back.
    fn cover_machines(
        &mut self,
        open: &mut Vec<&Arc<Machine>>,
        commitment: &Commitment,
        prices: &PriceBook,
        span: Span,
        count: u32,
        rate: NanoUsd,
    ) -> NanoUsd {
        let mut left = count;
        open.retain(|machine| {
            if left == 0 || !commitment.covers(machine) {
                return true;
            }
            left -= 1;
            let list = prices.quote(machine, span.start).list().unwrap_or(rate);
            self.note(machine, commitment, span, rate, list);
            false
        });
        NanoUsd(rate.0.saturating_mul(i64::from(left)))
    }

    /// Spends up to so much an hour at the discount; the last machine may be covered in part.
    fn cover_spend(
        &mut self,
        open: &mut Vec<&Arc<Machine>>,
        commitment: &Commitment,
        prices: &PriceBook,
        span: Span,
        per_hour: NanoUsd,
        off: Permille,
    ) -> NanoUsd {
        let mut left = per_hour.0;
        open.retain(|machine| {
            let price = prices.quote(machine, span.start);
            let (Some(rate), Some(list)) = (price.rate(), price.list()) else {
                return true;
            };
            let reduced = thousandths(rate, 1000 - off.get());
            if left <= 0 || reduced.0 <= 0 || !commitment.covers(machine) {
                return true;
            }
            let spent = reduced.0.min(left);
            left -= spent;
            let uncovered = u64::try_from(reduced.0 - spent).unwrap_or(0);
            let whole = u64::try_from(reduced.0).unwrap_or(1);
            let beyond = scaled(rate, uncovered, whole);
            self.note(machine, commitment, span, NanoUsd(spent + beyond.0), list);
            false
        });
        NanoUsd(left)
    }

    fn note(&mut self, machine: &Machine, commitment: &Commitment, span: Span, rate: NanoUsd, list: NanoUsd) {
        let price = PriceNote::Priced {
            rate,
            list,
            source: PriceSource::Commitment,
            as_of: commitment.as_of,
            capacity: machine.capacity,
            estimate: false,
            commitment: Some(commitment.name.id.clone()),
        };
        self.covered
            .entry(machine.id.clone())
            .or_default()
            .push((span, price));
    }

    fn leave(&mut self, commitment: &Commitment, span: Span, rate: NanoUsd) {
        if rate.0 <= 0 {
            return;
        }
        let before = self
            .unused
            .iter_mut()
            .rev()
            .find(|unused| unused.name.id == commitment.name.id);
        match before {
            Some(before) if before.span.end == span.start && before.rate == rate => {
                before.span.end = span.end
            }
            _ => self.unused.push(Unused {
                name: Arc::new(commitment.name.clone()),
                span,
                rate,
                as_of: commitment.as_of,
            }),
        }
    }

    pub(crate) fn at(&self, machine: &MachineId, at: Moment) -> Option<PriceNote> {
        let list = self.covered.get(machine)?;
        list.iter()
            .find(|(span, _)| span.contains(at))
            .map(|(_, price)| price.clone())
    }

    pub(crate) fn edges(&self, machine: &MachineId, within: Span) -> Vec<Moment> {
        let list = self.covered.get(machine).into_iter().flatten();
        list.flat_map(|(span, _)| [span.start, span.end])
            .filter(|at| within.contains(*at))
            .collect()
    }

    /// A row for every stretch of a commitment that covered nothing.
    pub(crate) fn unused(&self, cluster: &ClusterId, window: Span) -> Vec<LedgerRow> {
        let mut rows = Vec::with_capacity(self.unused.len());
        for unused in &self.unused {
            let span = unused.span.overlap(window);
            let amount = charge(unused.rate, span);
            let row = LedgerRow {
                key: RowKey([0; 16]),
                entry: Entry::Charge,
                revision: 0,
                cluster: cluster.clone(),
                subject: Subject::Commitment(unused.name.clone()),
                span,
                part: Part::UnusedCommitment,
                slot: Slot::Whole,
                holder: None,
                phase: Phase::None,
                basis: ShareBasis::WholeNode,
                time: GpuTime::default(),
                amounts: Some(Amounts {
                    list: amount,
                    allocated: amount,
                    unused: amount,
                    ..Amounts::default()
                }),
                price: PriceNote::Priced {
                    rate: unused.rate,
                    list: unused.rate,
                    source: PriceSource::Commitment,
                    as_of: unused.as_of,
                    capacity: CapacityType::Reserved,
                    estimate: false,
                    commitment: Some(unused.name.id.clone()),
                },
            };
            rows.push(row.sealed());
        }
        rows
    }
}

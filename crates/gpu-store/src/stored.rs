//! A row as a database keeps it: numbers, and the numbers of what many rows share. Both stores read and write this.

use gpu_cost::{
    Amounts, Entry, GpuTime, LedgerRow, Moment, Part, Phase, PriceNote, RowKey, ShareBasis, Span,
};
use gpu_model::NanoUsd;
use serde::{Deserialize, Serialize};

use crate::ledger::{Dimensions, Measures, reverses};

/// A row of the table of intervals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRow {
    /// The place in the order of writing. It is not part of what the row says.
    pub seq: i64,
    pub cluster: i32,
    pub set: i64,
    pub price: i64,
    pub start: Moment,
    pub end: Moment,
    pub key: RowKey,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reverses: Option<RowKey>,
    pub revision: u32,
    pub part: Part,
    pub phase: Phase,
    pub basis: ShareBasis,
    pub time: GpuTime,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub amounts: Option<Amounts>,
    /// Follows from basis and price; kept so that folding needs no price.
    pub is_estimate: bool,
}

impl StoredRow {
    pub(crate) fn of(row: &LedgerRow, seq: i64, cluster: i32, set: i64, price: i64) -> Self {
        Self {
            seq,
            cluster,
            set,
            price,
            start: row.span.start,
            end: row.span.end,
            key: row.key,
            reverses: reverses(row),
            revision: row.revision,
            part: row.part,
            phase: row.phase,
            basis: row.basis,
            time: row.time,
            amounts: row.amounts,
            is_estimate: Measures::of(row).is_estimate,
        }
    }

    pub(crate) fn span(&self) -> Span {
        Span::new(self.start, self.end)
    }

    pub(crate) fn measures(&self) -> Measures {
        Measures {
            time: self.time,
            amounts: self.amounts,
            is_estimate: self.is_estimate,
        }
    }

    /// Whether both say the same, wherever they stand in the order of writing. Whom they charge is compared by the caller, who can
    /// look the sets up.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let mut other = other.clone();
        other.seq = self.seq;
        other.set = self.set;
        *self == other
    }

    /// Whether this row takes `original` back to the last unit.
    pub(crate) fn undoes(&self, original: &Self) -> bool {
        original.reverses.is_none()
            && self.reverses == Some(original.key)
            && self.price == original.price
            && self.span() == original.span()
            && self.part == original.part
            && self.time == original.time.negated()
            && self.amounts == original.amounts.map(Amounts::negated)
    }

    /// The five amounts as columns; all none where the row has no price.
    pub(crate) fn amount_columns(&self) -> [Option<i64>; 5] {
        match self.amounts {
            None => [None; 5],
            Some(amounts) => [
                Some(amounts.list.0),
                Some(amounts.allocated.0),
                Some(amounts.used.0),
                Some(amounts.unused.0),
                Some(amounts.unmeasured.0),
            ],
        }
    }

    pub(crate) fn amounts_of(columns: [Option<i64>; 5]) -> Option<Amounts> {
        let [list, allocated, used, unused, unmeasured] = columns;
        Some(Amounts {
            list: NanoUsd(list?),
            allocated: NanoUsd(allocated?),
            used: NanoUsd(used?),
            unused: NanoUsd(unused?),
            unmeasured: NanoUsd(unmeasured?),
        })
    }

    /// The row of the ledger, from what it shares with others.
    pub(crate) fn row(&self, dimensions: &Dimensions, price: &PriceNote) -> LedgerRow {
        LedgerRow {
            key: self.key,
            entry: match self.reverses {
                None => Entry::Charge,
                Some(of) => Entry::Reversal { of },
            },
            revision: self.revision,
            cluster: dimensions.cluster.clone(),
            subject: dimensions.subject.clone(),
            span: self.span(),
            part: self.part,
            slot: dimensions.slot.clone(),
            holder: dimensions.holder.clone(),
            phase: self.phase,
            basis: self.basis,
            time: self.time,
            amounts: self.amounts,
            price: price.clone(),
        }
    }
}

/// What of a row is added up, and to what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredRow {
    pub(crate) seq: i64,
    pub(crate) cluster: i32,
    pub(crate) set: i64,
    pub(crate) part: Part,
    pub(crate) price: i64,
    pub(crate) span: Span,
    pub(crate) measures: Measures,
}

/// The columns of a [`MeasuredRow`], in its order.
pub(crate) const MEASURED: &str = "seq, cluster, set_id, part, start_ms, end_ms, is_estimate, held_ms, used_ms, unmeasured_ms, \
     list, allocated, used, unused, unmeasured, price";

/// A short name for a text that is too long to be a key: two texts with the same name are the same text.
pub(crate) fn digest(text: &str) -> [u8; 16] {
    use sha2::Digest as _;
    let mut short = [0; 16];
    short.copy_from_slice(&sha2::Sha256::digest(text.as_bytes())[..16]);
    short
}

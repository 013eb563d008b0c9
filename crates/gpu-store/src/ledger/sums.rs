//! Amounts added up over rows, and the part of a row that falls into a span.

use gpu_cost::{Amounts, GpuTime, LedgerRow, PriceNote, Span};
use serde::{Deserialize, Serialize};

/// Times in milliseconds of a whole GPU, money in billionths of a dollar. `allocated = used + unused + unmeasured`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sums {
    pub held_ms: i64,
    pub used_ms: i64,
    pub unmeasured_ms: i64,
    /// The part of `held_ms` that has no price: the money is whole only where this is 0.
    pub unpriced_ms: i64,
    pub list: i64,
    pub allocated: i64,
    pub used: i64,
    pub unused: i64,
    pub unmeasured: i64,
    /// The part of `allocated` that rests on an assumed share or on a price of another zone.
    pub estimated: i64,
}

/// The columns of [`Sums`], in the order of [`Sums::to_array`].
pub const SUM_COLUMNS: [&str; 10] = [
    "held_ms",
    "used_ms",
    "unmeasured_ms",
    "unpriced_ms",
    "list",
    "allocated",
    "used",
    "unused",
    "unmeasured",
    "estimated",
];

impl Sums {
    pub fn to_array(&self) -> [i64; 10] {
        [
            self.held_ms,
            self.used_ms,
            self.unmeasured_ms,
            self.unpriced_ms,
            self.list,
            self.allocated,
            self.used,
            self.unused,
            self.unmeasured,
            self.estimated,
        ]
    }

    pub fn from_array(from: [i64; 10]) -> Self {
        let [
            held_ms,
            used_ms,
            unmeasured_ms,
            unpriced_ms,
            list,
            allocated,
            used,
            unused,
            unmeasured,
            estimated,
        ] = from;
        Self {
            held_ms,
            used_ms,
            unmeasured_ms,
            unpriced_ms,
            list,
            allocated,
            used,
            unused,
            unmeasured,
            estimated,
        }
    }

    /// Adds, or says that the sum left the range of nine billion dollars.
    #[must_use = "a sum that overflowed was not taken"]
    pub fn add(&mut self, other: &Self) -> Option<()> {
        let mut sum = self.to_array();
        for (mine, theirs) in sum.iter_mut().zip(other.to_array()) {
            *mine = mine.checked_add(theirs)?;
        }
        *self = Self::from_array(sum);
        Some(())
    }

    /// Takes away, or says that the difference left its range.
    #[must_use = "a difference that overflowed was not taken"]
    pub fn subtract(&mut self, other: &Self) -> Option<()> {
        let mut rest = self.to_array();
        for (mine, theirs) in rest.iter_mut().zip(other.to_array()) {
            *mine = mine.checked_sub(theirs)?;
        }
        *self = Self::from_array(rest);
        Some(())
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// What of a row is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measures {
    pub time: GpuTime,
    pub amounts: Option<Amounts>,
    pub is_estimate: bool,
}

impl Measures {
    pub fn of(row: &LedgerRow) -> Self {
        let price_is_estimate = matches!(row.price, PriceNote::Priced { estimate: true, .. });
        Self {
            time: row.time,
            amounts: row.amounts,
            is_estimate: row.basis.is_estimate() || price_is_estimate,
        }
    }

    /// The part of these amounts that falls into `part` of `whole`.
    ///
    /// Amounts grow evenly from the start of the row, rounded towards zero at every instant: the part between two instants is the
    /// difference of two such values. So the parts of any cut sum to the row, and hours sum to their day, to the last billionth.
    pub fn within(&self, whole: Span, part: Span) -> Sums {
        let part = whole.overlap(part);
        if part.is_empty() {
            return Sums::default();
        }
        if part == whole {
            return self.all();
        }
        let length = i128::from(whole.milliseconds());
        let until = |amount: i64, elapsed: i64| -> i64 {
            let grown = i128::from(amount) * i128::from(elapsed) / length;
            i64::try_from(grown).expect("a part is at most the whole")
        };
        let first = part.start.0 - whole.start.0;
        let last = part.end.0 - whole.start.0;
        let mut all = self.all().to_array();
        for amount in &mut all {
            *amount = until(*amount, last) - until(*amount, first);
        }
        let mut sums = Sums::from_array(all);
        // Three roundings may leave a unit over; what nobody used takes it, so that the three kinds still make the whole.
        sums.unused = sums.allocated - sums.used - sums.unmeasured;
        sums
    }

    fn all(&self) -> Sums {
        let amounts = self.amounts.unwrap_or_default();
        Sums {
            held_ms: self.time.held_ms,
            used_ms: self.time.used_ms,
            unmeasured_ms: self.time.unmeasured_ms,
            unpriced_ms: if self.amounts.is_none() {
                self.time.held_ms
            } else {
                0
            },
            list: amounts.list.0,
            allocated: amounts.allocated.0,
            used: amounts.used.0,
            unused: amounts.unused.0,
            unmeasured: amounts.unmeasured.0,
            estimated: if self.is_estimate { amounts.allocated.0 } else { 0 },
        }
    }
}

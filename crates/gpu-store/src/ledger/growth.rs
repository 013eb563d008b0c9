//! A row cut at one border after the other. The result is that of [`Measures::within`] for every piece; what is saved is the divisions:
//! between borders that lie equally far apart an amount grows by a quotient and a remainder that are worked out once.

use gpu_cost::{Grain, Moment, Span};

use super::bucket::ceil;
use super::sums::{Measures, Sums};

const STEP: Grain = Grain::FiveMinutes;

/// The columns that grow by themselves; the other three follow from them.
const GROWING: usize = 7;

/// One amount on its way from nothing to all of it. Amounts may be negative: they are rounded towards zero.
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    is_negative: bool,
    whole: u64,
    /// What has grown so far, and the remainder of the division that says so.
    grown: u64,
    rest: u64,
    /// What a step adds to both.
    step_grown: u64,
    step_rest: u64,
}

impl Column {
    fn new(amount: i64, length: u64) -> Self {
        let mut column = Self {
            is_negative: amount < 0,
            whole: amount.unsigned_abs(),
            ..Self::default()
        };
        (column.step_grown, column.step_rest) = column.at(STEP.milliseconds().unsigned_abs(), length);
        column
    }

    /// Quotient and remainder of the amount after so many milliseconds.
    fn at(&self, elapsed: u64, length: u64) -> (u64, u64) {
        if let Some(product) = self.whole.checked_mul(elapsed) {
            return (product / length, product % length);
        }
        let product = u128::from(self.whole) * u128::from(elapsed);
        let length = u128::from(length);
        // A step that is longer than the row is never taken, and may be anything.
        let grown = u64::try_from(product / length).unwrap_or(u64::MAX);
        (
            grown,
            u64::try_from(product % length).expect("a remainder is less than the length"),
        )
    }

    fn jump(&mut self, elapsed: u64, length: u64) {
        (self.grown, self.rest) = self.at(elapsed, length);
    }

    fn step(&mut self, length: u64) {
        self.grown = self.grown.wrapping_add(self.step_grown);
        self.rest = self.rest.wrapping_add(self.step_rest);
        if self.rest >= length {
            self.rest -= length;
            self.grown = self.grown.wrapping_add(1);
        }
    }

    fn value(&self) -> i64 {
        // At most the whole, which came from this type.
        let grown = self.grown.cast_signed();
        if self.is_negative { -grown } else { grown }
    }
}

/// The pieces of a row, five minutes for five minutes.
#[derive(Debug)]
pub(super) struct Pieces {
    row: Span,
    all: Sums,
    columns: [Column; GROWING],
    length: u64,
    at: Moment,
    /// What has grown up to `at`.
    before: [i64; GROWING],
    is_first: bool,
}

impl Pieces {
    /// The pieces of a row from an instant on.
    pub(super) fn from(measures: &Measures, row: Span, from: Moment) -> Self {
        let all = measures.within(row, row);
        let at = row.start.max(from);
        let length = row.milliseconds().unsigned_abs();
        // Most rows lie in one bucket as a whole, and are not cut at all.
        let is_cut = at > row.start || ceil(STEP, Moment(at.0 + 1)) < row.end;
        let mut columns = [Column::default(); GROWING];
        let mut before = [0; GROWING];
        if is_cut && at < row.end {
            columns = growing(&all).map(|amount| Column::new(amount, length));
            for (column, before) in columns.iter_mut().zip(&mut before) {
                column.jump((at.0 - row.start.0).unsigned_abs(), length);
                *before = column.value();
            }
        }
        Self {
            row,
            all,
            columns,
            length,
            at,
            before,
            is_first: true,
        }
    }

    pub(super) fn all(&self) -> &Sums {
        &self.all
    }
}

impl Iterator for Pieces {
    type Item = (Span, Sums);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.row.end {
            return None;
        }
        let border = ceil(STEP, Moment(self.at.0 + 1)).min(self.row.end);
        let piece = Span::new(self.at, border);
        self.at = border;
        if piece == self.row {
            return Some((piece, self.all));
        }
        let now = if border == self.row.end {
            growing(&self.all)
        } else {
            for column in &mut self.columns {
                if self.is_first {
                    column.jump((border.0 - self.row.start.0).unsigned_abs(), self.length);
                } else {
                    column.step(self.length);
                }
            }
            self.columns.map(|column| column.value())
        };
        self.is_first = false;
        let mut grown = now;
        for (grown, before) in grown.iter_mut().zip(self.before) {
            *grown -= before;
        }
        self.before = now;
        Some((piece, sums(grown, &self.all)))
    }
}

fn growing(all: &Sums) -> [i64; GROWING] {
    [
        all.held_ms,
        all.used_ms,
        all.unmeasured_ms,
        all.list,
        all.allocated,
        all.used,
        all.unmeasured,
    ]
}

fn sums(grown: [i64; GROWING], all: &Sums) -> Sums {
    let [held_ms, used_ms, unmeasured_ms, list, allocated, used, unmeasured] = grown;
    Sums {
        held_ms,
        used_ms,
        unmeasured_ms,
        // All of what is held has a price, or none of it.
        unpriced_ms: if all.unpriced_ms == 0 { 0 } else { held_ms },
        list,
        allocated,
        used,
        unused: allocated - used - unmeasured,
        unmeasured,
        estimated: if all.estimated == 0 { 0 } else { allocated },
    }
}

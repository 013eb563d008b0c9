//! Sums over buckets of time, made from rows. They can be thrown away and made again.

use std::collections::BTreeMap;

use gpu_model::{NanoUsd, Permille};

use crate::{Amounts, GpuTime, Grain, LedgerRow, PriceNote, RollupKey, RollupRow, Span};

/// Sums rows up into buckets of a grain. A row that crosses a border is cut there by a meter, so that its pieces sum to it.
pub fn roll_up(rows: &[LedgerRow], grain: Grain) -> Vec<RollupRow> {
    let mut sums: BTreeMap<RollupKey, RollupRow> = BTreeMap::new();
    for row in rows {
        for bucket in grain.buckets(row.span) {
            let key = RollupKey {
                grain,
                start: bucket.start,
                cluster: row.cluster.clone(),
                part: row.part,
                holder: row.holder.clone(),
            };
            let sum = sums.entry(key.clone()).or_insert_with(|| RollupRow {
                key,
                time: GpuTime::default(),
                amounts: Amounts::default(),
                unpriced_ms: 0,
                estimated: NanoUsd::ZERO,
            });
            add(sum, row, row.span.overlap(bucket));
        }
    }
    let empty = |sum: &RollupRow| {
        sum.time == GpuTime::default() && sum.amounts == Amounts::default() && sum.unpriced_ms == 0
    };
    // What was charged and taken back again leaves nothing, and nothing is not worth a row.
    sums.into_values().filter(|sum| !empty(sum)).collect()
}

/// Sums roll-ups up into a coarser grain.
pub fn roll_up_further(rows: &[RollupRow], grain: Grain) -> Vec<RollupRow> {
    let mut sums: BTreeMap<RollupKey, RollupRow> = BTreeMap::new();
    for row in rows {
        let key = RollupKey {
            grain,
            start: grain.bucket(row.key.start).start,
            ..row.key.clone()
        };
        let sum = sums.entry(key.clone()).or_insert_with(|| RollupRow {
            key,
            time: GpuTime::default(),
            amounts: Amounts::default(),
            unpriced_ms: 0,
            estimated: NanoUsd::ZERO,
        });
        sum.time = sum.time.plus(row.time);
        sum.amounts = sum.amounts.plus(row.amounts);
        sum.unpriced_ms = sum.unpriced_ms.saturating_add(row.unpriced_ms);
        sum.estimated = NanoUsd(sum.estimated.0.saturating_add(row.estimated.0));
    }
    sums.into_values().collect()
}

fn add(sum: &mut RollupRow, row: &LedgerRow, part: Span) {
    let cut = |amount: i64| metered(amount, row.span, part);
    let money = |amount: NanoUsd| NanoUsd(cut(amount.0));
    let time = GpuTime {
        held_ms: cut(row.time.held_ms),
        used_ms: cut(row.time.used_ms),
        unmeasured_ms: cut(row.time.unmeasured_ms),
    };
    sum.time = sum.time.plus(time);
    let Some(amounts) = row.amounts else {
        sum.unpriced_ms = sum.unpriced_ms.saturating_add(time.held_ms);
        return;
    };
    let (allocated, used, unmeasured) = (
        money(amounts.allocated),
        money(amounts.used),
        money(amounts.unmeasured),
    );
    sum.amounts = sum.amounts.plus(Amounts {
        list: money(amounts.list),
        allocated,
        used,
        // What is left, so that the three sum to the whole in every bucket too.
        unused: NanoUsd(allocated.0 - used.0 - unmeasured.0),
        unmeasured,
    });
    let assumed_price = matches!(row.price, PriceNote::Priced { estimate: true, .. });
    if row.basis.is_estimate() || assumed_price {
        sum.estimated = NanoUsd(sum.estimated.0.saturating_add(allocated.0));
    }
}

/// The part of an amount that falls into a part of its span: the difference of two readings, so that any cut sums up. A
/// negative amount is the mirror of the positive one, so that a reversal cancels its charge in every bucket.
fn metered(amount: i64, whole: Span, part: Span) -> i64 {
    let length = i128::from(whole.milliseconds().max(1));
    let until = |at: i64| i128::from(amount) * i128::from(at - whole.start.0) / length;
    let piece = until(part.end.0) - until(part.start.0);
    i64::try_from(piece).expect("a part is at most the whole")
}

/// What share of the money, or of the time where there is no price, did work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Efficiency {
    /// Used of all that was paid for, unmeasured left out. Absent where nothing was measured.
    pub used: Option<Permille>,
    /// How much of what was paid for was measured or known to be idle.
    pub known: Option<Permille>,
}

/// The efficiency of a sum. What nobody measured counts neither as used nor as wasted, and `known` says how much that is.
pub fn efficiency(rows: &[RollupRow]) -> Efficiency {
    let time = rows
        .iter()
        .fold(GpuTime::default(), |sum, row| sum.plus(row.time));
    let known = time.held_ms.saturating_sub(time.unmeasured_ms);
    Efficiency {
        used: share(time.used_ms, known),
        known: share(known, time.held_ms),
    }
}

fn share(part: i64, whole: i64) -> Option<Permille> {
    let part = u128::try_from(part).ok()?;
    let whole = u128::try_from(whole).ok().filter(|whole| *whole > 0)?;
    u16::try_from(part * 1000 / whole).ok().map(Permille::clamped)
}

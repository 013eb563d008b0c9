//! The ledger as a bill: FOCUS 1.3, an hour at a time.

use std::io::Write;

use gpu_cost::focus::{self, Account, Column, Record};
use gpu_cost::prices::Commitment;
use gpu_cost::{
    Amounts, Entry, GpuTime, Grain, LedgerRow, Moment, Part, Phase, PriceNote, RowKey, ShareBasis, Span,
};
use gpu_model::{ClusterId, NanoUsd};

use super::{clipped, sums_of};
use crate::error::StoreError;
use crate::ledger::{WindowError, floor};
use crate::query::{MOST_ROWS, RowQuery, SetSum};
use crate::store::Store;

/// What was written as FOCUS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FocusWritten {
    pub records: u64,
    /// Rows that have no price, and so no place in a bill.
    pub unpriced: u64,
    /// Records that were made from sums of an hour because their rows are dropped. They have no key, and say so by their method.
    pub from_sums: u64,
}

/// The method of a pod's share where only the sum of an hour is left.
const SUMMED: &str = "hour-sum";

/// Writes the rows that start in the window as FOCUS 1.3 with its columns for split costs. An hour is read and written at a time:
/// its rows have to be together, because their ratios sum to one. Hours whose rows are dropped are written from their sums.
pub async fn export_focus(
    store: &dyn Store,
    cluster: Option<ClusterId>,
    window: Span,
    account: &Account,
    commitments: &[Commitment],
    mut to: impl Write + Send,
) -> Result<FocusWritten, StoreError> {
    for edge in [window.start, window.end] {
        if floor(Grain::Hour, edge) != edge {
            return Err(StoreError::StepEdge {
                step: Grain::Hour.as_str(),
                edge,
            });
        }
    }
    let floors = store.facts().await?.floors;
    if window.start < floors.hour {
        return Err(WindowError::NoPrices {
            kept_from: floors.hour,
        }
        .into());
    }
    let failed = |error| StoreError::failed("write the export", error);
    let mut written = FocusWritten::default();
    let mut text = String::new();
    for (number, hour) in Grain::Hour.buckets(window).enumerate() {
        let is_summed = hour.start < floors.raw;
        let rows = if is_summed {
            summed_rows(store, cluster.clone(), hour).await?
        } else {
            // The part before the floor of a row that reaches over it is in the sums.
            let across = (hour.start == floors.raw && window.start < hour.start).then_some(floors.raw);
            rows_of(store, cluster.clone(), hour, across).await?
        };
        let mut export = focus::export(&rows, account, commitments);
        if is_summed {
            export.records.iter_mut().for_each(say_that_it_is_a_sum);
            written.from_sums += export.records.len() as u64;
        }
        written.records += export.records.len() as u64;
        written.unpriced += export.unpriced as u64;
        text.clear();
        focus::write_csv(&mut text, &export.records)
            .map_err(|error| StoreError::failed("write the export", error))?;
        // Every hour comes with the line of names, which is written once.
        let lines = match number {
            0 => text.as_str(),
            _ => text.split_once('\n').map_or("", |(_, lines)| lines),
        };
        to.write_all(lines.as_bytes()).map_err(failed)?;
    }
    to.flush().map_err(failed)?;
    Ok(written)
}

/// The rows that start in the hour, and the later part of those that reach over an instant.
async fn rows_of(
    store: &dyn Store,
    cluster: Option<ClusterId>,
    hour: Span,
    across: Option<Moment>,
) -> Result<Vec<LedgerRow>, StoreError> {
    let mut query = RowQuery {
        cluster,
        window: Some(hour),
        limit: MOST_ROWS,
        ..RowQuery::default()
    };
    let mut rows = Vec::new();
    loop {
        let page = store.rows(query.clone()).await?;
        for row in page.rows {
            if hour.contains(row.span.start) {
                rows.push(row);
            } else if let Some(floor) = across {
                rows.push(clipped(row, floor));
            }
        }
        if page.next.is_none() {
            return Ok(rows);
        }
        query.after = page.next;
    }
}

/// The sums of an hour as rows. Key, phase and basis stand for nothing, and are taken out of the records again.
async fn summed_rows(
    store: &dyn Store,
    cluster: Option<ClusterId>,
    hour: Span,
) -> Result<Vec<LedgerRow>, StoreError> {
    let mut rows: Vec<LedgerRow> = Vec::new();
    let mut failure = None;
    sums_of(store, cluster, Grain::Hour, hour, |sum| {
        let number = rows.len();
        match summed_row(sum, number) {
            Some(row) if !sum.sums.is_zero() => rows.push(row),
            Some(_) => {}
            // Sums of an older program do not tell prices apart.
            None => failure = Some(WindowError::NoPrices { kept_from: hour.end }),
        }
        Ok(())
    })
    .await?;
    failure.map_or(Ok(rows), |error| Err(error.into()))
}

fn summed_row(sum: &SetSum, number: usize) -> Option<LedgerRow> {
    let price = (**sum.price.as_ref()?).clone();
    let dimensions = &*sum.dimensions;
    let amounts = Amounts {
        list: NanoUsd(sum.sums.list),
        allocated: NanoUsd(sum.sums.allocated),
        used: NanoUsd(sum.sums.used),
        unused: NanoUsd(sum.sums.unused),
        unmeasured: NanoUsd(sum.sums.unmeasured),
    };
    // The order of the records of an origin; nothing else is made of it.
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(number as u64).to_be_bytes());
    Some(LedgerRow {
        key: RowKey(key),
        entry: Entry::Charge,
        revision: 0,
        cluster: dimensions.cluster.clone(),
        subject: dimensions.subject.clone(),
        span: sum.bucket,
        part: sum.part,
        slot: dimensions.slot.clone(),
        holder: dimensions.holder.clone(),
        phase: Phase::None,
        basis: if sum.sums.estimated == 0 {
            ShareBasis::Exclusive
        } else {
            ShareBasis::TimeShareEstimate
        },
        time: GpuTime {
            held_ms: sum.sums.held_ms,
            used_ms: sum.sums.used_ms,
            unmeasured_ms: sum.sums.unmeasured_ms,
        },
        amounts: matches!(price, PriceNote::Priced { .. }).then_some(amounts),
        price,
    })
}

fn say_that_it_is_a_sum(record: &mut Record) {
    record.set(Column::RowKey, None);
    if record.get(Column::AllocatedMethodId).is_some() && record.get(Column::Part) == Some(Part::Pod.as_str())
    {
        record.set(Column::AllocatedMethodId, SUMMED.to_owned());
    }
}

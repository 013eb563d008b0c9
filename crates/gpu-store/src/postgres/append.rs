//! Batches into tables, each in one transaction, rows by COPY.

use std::collections::HashMap;

use gpu_cost::{Grain, Moment, RowKey};
use tokio_postgres::{Client, Transaction};

use super::known::Known;
use super::layout::{self, Layout};
use super::pool::{Failing, is_unique_violation};
use super::{records, rows, schema};
use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{check_row, floor};
use crate::store::{Appended, Batch};
use crate::stored::StoredRow;

/// Whether the database is asked first which rows it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// Nearly every batch is new: copy it, and look only when a row is in the way.
    NewRows,
    KnownRows,
}

pub(super) async fn append(
    client: &mut Client,
    known: &mut Known,
    batch: &Batch,
) -> Result<Appended, StoreError> {
    for row in &batch.rows {
        check_row(row)?;
    }
    match attempt(client, known, batch, Expect::NewRows).await? {
        Some(done) => Ok(done),
        None => attempt(client, known, batch, Expect::KnownRows)
            .await?
            .ok_or_else(|| {
                StoreError::failed(
                    "write a batch",
                    "a row was in the way and is gone again: write it again",
                )
            }),
    }
}

/// None when a row was in the way of a batch that was expected to be new.
async fn attempt(
    client: &mut Client,
    known: &mut Known,
    batch: &Batch,
    expect: Expect,
) -> Result<Option<Appended>, StoreError> {
    const ACT: &str = "write a batch";
    let transaction = client.transaction().await.or_fail(ACT)?;
    schema::take_turn(&transaction).await?;
    let (mut state, is_loading) = schema::read_state(&transaction).await?;
    if is_loading {
        return Err(StoreError::HalfRestored);
    }
    known.turn_to(state.epoch);
    let before = state;
    let mut done = Appended::default();
    let found = number(&transaction, known, batch, &mut state, expect).await?;
    done.rows_known = batch.rows.len() - found.len();
    done.rows_written = found.len();
    check_reversals(&transaction, &found).await?;
    if !found.is_empty() {
        make_days(&transaction, known, &found).await?;
        match rows::copy_in(&transaction, &found).await {
            Ok(()) => {}
            Err(error) if is_unique_violation(&error) && expect == Expect::NewRows => {
                // What was learnt in this transaction goes with it.
                transaction.rollback().await.or_fail(ACT)?;
                *known = Known::default();
                return Ok(None);
            }
            Err(error) => return Err(error).or_fail(ACT),
        }
    }
    for record in &batch.records {
        let cluster = known.cluster(&transaction, &record.cluster).await?;
        if records::put(&transaction, cluster, record).await? {
            done.records_written += 1;
        } else {
            done.records_known += 1;
        }
    }
    for record in &batch.replacements {
        let cluster = known.cluster(&transaction, &record.cluster).await?;
        records::replace(&transaction, cluster, record).await?;
        done.records_written += 1;
    }
    if state != before {
        schema::write_state(&transaction, &state).await?;
    }
    transaction.commit().await.or_fail(ACT)?;
    Ok(Some(done))
}

/// The rows that are new, numbered in the order of their keys. What a batch holds is one fact: a reversal may stand before the row that
/// it takes back.
async fn number(
    transaction: &Transaction<'_>,
    known: &mut Known,
    batch: &Batch,
    state: &mut State,
    expect: Expect,
) -> Result<Vec<StoredRow>, StoreError> {
    let numbers = known.learn(transaction, &batch.rows).await?;
    let mut there: HashMap<(Moment, RowKey), StoredRow> = HashMap::new();
    if expect == Expect::KnownRows {
        let keys: Vec<(Moment, RowKey)> = batch.rows.iter().map(|row| (row.span.start, row.key)).collect();
        for row in rows::find(transaction, "row_key", &keys).await? {
            there.insert((row.start, row.key), row);
        }
    }
    let mut all = Vec::with_capacity(batch.rows.len());
    for (row, numbers) in batch.rows.iter().zip(numbers) {
        if row.span.start < state.floors.raw {
            return Err(StoreError::TooLate {
                key: row.key,
                start: row.span.start,
                floor: state.floors.raw,
            });
        }
        all.push(StoredRow::of(row, 0, numbers.cluster, numbers.set, numbers.price));
    }
    // In the order of the index.
    all.sort_by_key(|row| (row.start, row.key));
    let mut new: Vec<StoredRow> = Vec::with_capacity(all.len());
    for mut stored in all {
        if let Some(last) = new.last()
            && (last.start, last.key) == (stored.start, stored.key)
        {
            there.insert((last.start, last.key), last.clone());
        }
        if let Some(earlier) = there.get(&(stored.start, stored.key)) {
            if !earlier.says_the_same(&stored)
                || !charge_the_same(transaction, earlier.set, stored.set).await?
            {
                return Err(StoreError::RowDiffers { key: stored.key });
            }
            continue;
        }
        stored.seq = state.last + 1;
        state.last = stored.seq;
        state.longest_ms = state.longest_ms.max(stored.span().milliseconds());
        new.push(stored);
    }
    Ok(new)
}

/// Whether two sets name the same things. They are nearly always one set.
async fn charge_the_same(transaction: &Transaction<'_>, one: i64, other: i64) -> Result<bool, StoreError> {
    if one == other {
        return Ok(true);
    }
    let found = rows::dimensions(transaction, [one, other].into_iter()).await?;
    Ok(match (found.get(&one), found.get(&other)) {
        (Some(one), Some(other)) => one.names_the_same(other),
        _ => false,
    })
}

/// A reversal takes back a row that is there, exactly, and once.
async fn check_reversals(transaction: &Transaction<'_>, new: &[StoredRow]) -> Result<(), StoreError> {
    let reversals: Vec<(&StoredRow, RowKey)> =
        new.iter().filter_map(|row| Some((row, row.reverses?))).collect();
    if reversals.is_empty() {
        return Ok(());
    }
    let keys: Vec<(Moment, RowKey)> = reversals.iter().map(|(row, of)| (row.start, *of)).collect();
    let mut originals = HashMap::new();
    for row in rows::find(transaction, "row_key", &keys).await? {
        originals.insert(row.key, row);
    }
    for row in new {
        originals.entry(row.key).or_insert_with(|| row.clone());
    }
    let mut reversed: HashMap<RowKey, RowKey> = HashMap::new();
    for row in rows::find(transaction, "reverses", &keys).await? {
        if let Some(of) = row.reverses {
            reversed.insert(of, row.key);
        }
    }
    for (row, of) in reversals {
        let key = row.key;
        let original = originals
            .get(&of)
            .ok_or(StoreError::NothingToReverse { key, of })?;
        if !row.undoes(original) || !charge_the_same(transaction, row.set, original.set).await? {
            return Err(StoreError::NoReversal { key, of });
        }
        if reversed.insert(of, key).is_some_and(|other| other != key) {
            return Err(StoreError::ReversedTwice { key, of });
        }
    }
    Ok(())
}

/// Makes sure that every row has a partition to go to.
async fn make_days(
    transaction: &Transaction<'_>,
    known: &mut Known,
    new: &[StoredRow],
) -> Result<(), StoreError> {
    let mut days: Vec<Moment> = new.iter().map(|row| floor(Grain::Day, row.start)).collect();
    days.sort_unstable();
    days.dedup();
    days.retain(|day| !known.days.contains(day));
    if days.is_empty() || Layout::read(transaction).await? != Layout::Partitions {
        return Ok(());
    }
    let there = layout::partitions(transaction).await?;
    for day in days {
        if !there.contains(&day) {
            layout::make_partition(transaction, day).await?;
        }
        known.days.push(day);
    }
    Ok(())
}

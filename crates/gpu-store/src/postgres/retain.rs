//! Dropping what is older than it has to be kept: whole partitions of rows at once, everything else a bounded piece at a time.

use gpu_cost::{Grain, Moment};
use tokio_postgres::{Client, Transaction};

use super::known::Known;
use super::layout::{self, Layout};
use super::pool::Failing;
use super::{fold, schema};
use crate::error::StoreError;
use crate::ledger::grain_code;
use crate::record::RecordKind;
use crate::retention::{Floors, Retention};
use crate::store::Progress;

/// Rows of one step.
const ROWS_AT_ONCE: i64 = 20_000;

pub(super) async fn retain(
    client: &mut Client,
    known: &mut Known,
    retention: Retention,
    now: Moment,
) -> Result<Progress, StoreError> {
    const ACT: &str = "drop old rows";
    let retention = retention.checked()?;
    // Sums are made of rows while these are there.
    let folded = fold::fold_some(client, known).await?;
    if !folded.is_done {
        return Ok(folded);
    }
    let transaction = client.transaction().await.or_fail(ACT)?;
    schema::take_turn(&transaction).await?;
    let (mut state, _) = schema::read_state(&transaction).await?;
    // Floors rise in the transaction that drops: no answer may rest on half of a bucket.
    state.floors = state.floors.raised_to(retention.floors(now));
    // Days whose rows go are never folded again; their hours make them up while they are there.
    let until = state.floors.raw;
    fold::close_days(&transaction, &mut state, until).await?;
    schema::write_state(&transaction, &state).await?;
    let layout = Layout::read(&transaction).await?;
    let mut dropped = match layout {
        Layout::Partitions => layout::drop_partitions(&transaction, state.floors.raw).await?,
        Layout::Chunks | Layout::CompressedChunks => 0,
    };
    for (sql, bound) in deletions(&retention, &state.floors, now) {
        dropped += delete(&transaction, &sql, bound).await?;
    }
    transaction.commit().await.or_fail(ACT)?;
    if layout != Layout::Partitions && dropped == 0 {
        layout::drop_chunks(client, layout, state.floors.raw, now).await?;
    }
    Ok(Progress {
        rows: dropped,
        is_done: dropped == 0,
    })
}

async fn delete(transaction: &Transaction<'_>, sql: &str, bound: Moment) -> Result<u64, StoreError> {
    transaction
        .execute(sql, &[&bound.0])
        .await
        .or_fail("drop old rows")
}

/// What is deleted: a statement with a bound, and the bound.
fn deletions(retention: &Retention, floors: &Floors, now: Moment) -> Vec<(String, Moment)> {
    let piece = |table: &str, condition: &str| {
        format!(
            "delete from {table} where ctid = any (array(select ctid from {table} where {condition} limit {ROWS_AT_ONCE}))"
        )
    };
    // Rows by their key: the physical place of a row says nothing across partitions. Only the last day before the floor is left here.
    let mut all = vec![(
        format!(
            "delete from ledger_row where (start_ms, row_key) in
             (select start_ms, row_key from ledger_row where start_ms < $1 and end_ms <= $1 limit {ROWS_AT_ONCE})"
        ),
        floors.raw,
    )];
    for grain in Grain::ALL {
        let condition = format!("grain = {} and bucket < $1", grain_code(grain));
        all.push((piece("set_sum", &condition), floors.of(Some(grain))));
        all.push((piece("slice_sum", &condition), floors.of(Some(grain))));
    }
    let days = |days: u16| now.plus(-Grain::Day.milliseconds() * i64::from(days));
    let record = |condition: &str, kind: RecordKind| {
        piece("record", &format!("kind = {} and {condition}", kind.code()))
    };
    all.extend([
        (
            record("at_ms < $1", RecordKind::Decision),
            days(retention.decision_days),
        ),
        (
            record("at_ms < $1", RecordKind::Usage),
            days(retention.usage_days),
        ),
        (
            record("not is_open and at_ms < $1", RecordKind::Intent),
            days(retention.decision_days),
        ),
        (
            record("not is_open and at_ms < $1", RecordKind::Opening),
            floors.raw,
        ),
        (record("until_ms < $1", RecordKind::Refusal), now),
        (record("until_ms < $1", RecordKind::Price), floors.day),
        (record("until_ms < $1", RecordKind::Memory), now),
        (record("at_ms < $1", RecordKind::Saving), floors.day),
        (piece("dimension_set", "last_day < $1"), floors.day),
        // Sums of hours name prices. A row may start on the day before the floor and end after it.
        (
            piece("price_note", "last_day < $1"),
            floors.hour.plus(-Grain::Day.milliseconds()),
        ),
    ]);
    all
}

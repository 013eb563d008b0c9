//! Rows into roll-ups. The sums and the place up to which rows were folded change in one transaction: a row counts once, on however
//! many replicas.

use tokio_postgres::{Client, Transaction};

use super::layout::{self, Layout};
use super::pool::Failing;
use super::{rows, schema};
use crate::codes::part_code;
use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{Fold, FoldInput, Folded, SetSlice, Slice, Sums, grain_code};
use crate::store::Progress;
use crate::stored::StoredRow;

/// Rows of one step: a few tenths of a second in which nothing else is written.
const ROWS_AT_ONCE: i64 = 20_000;

pub(super) async fn fold_some(client: &mut Client) -> Result<Progress, StoreError> {
    const ACT: &str = "fold rows";
    let transaction = client.transaction().await.or_fail(ACT)?;
    schema::take_turn(&transaction).await?;
    let (mut state, _) = schema::read_state(&transaction).await?;
    if state.folded >= state.last {
        return Ok(Progress {
            rows: 0,
            is_done: true,
        });
    }
    let sql = format!(
        "select {} from ledger_row where seq > $1 order by seq limit {ROWS_AT_ONCE}",
        rows::COLUMNS
    );
    let found = transaction.query(&sql, &[&state.folded]).await.or_fail(ACT)?;
    let found: Vec<StoredRow> = found.iter().map(rows::read).collect::<Result<_, _>>()?;
    if let Some(newest) = found.iter().map(|row| row.start).max()
        && Layout::read(&transaction).await? == Layout::Partitions
    {
        layout::make_ahead(&transaction, newest).await?;
    }
    let count = add(&transaction, &found, &mut state).await?;
    schema::write_state(&transaction, &state).await?;
    transaction.commit().await.or_fail(ACT)?;
    Ok(Progress {
        rows: count,
        is_done: state.folded >= state.last,
    })
}

async fn add(
    transaction: &Transaction<'_>,
    found: &[StoredRow],
    state: &mut State,
) -> Result<u64, StoreError> {
    let mut fold = Fold::from(state.floors.raw);
    for (id, dimensions) in rows::dimensions(transaction, found.iter().map(|row| row.set)).await? {
        fold.know(id, &dimensions);
    }
    let mut count = 0;
    let mut last = None;
    for row in found {
        let input = FoldInput {
            cluster: row.cluster,
            set: row.set,
            part: row.part,
            span: row.span(),
            measures: row.measures(),
        };
        fold.add(&input).ok_or(StoreError::Overflow)?;
        last = Some(row.seq);
        count += 1;
        if fold.is_full() {
            break;
        }
    }
    let Folded { sets, slices } = fold.finish();
    write_sets(transaction, &sets).await?;
    write_slices(transaction, &slices).await?;
    state.folded = last.unwrap_or(state.last);
    Ok(count)
}

pub(super) async fn forget(client: &mut Client) -> Result<(), StoreError> {
    const ACT: &str = "forget roll-ups";
    let transaction = client.transaction().await.or_fail(ACT)?;
    schema::take_turn(&transaction).await?;
    let (mut state, _) = schema::read_state(&transaction).await?;
    for table in ["set_sum", "slice_sum"] {
        let sql = format!("delete from {table} where bucket >= $1");
        transaction
            .execute(&sql, &[&state.floors.raw.0])
            .await
            .or_fail(ACT)?;
    }
    state.folded = 0;
    schema::write_state(&transaction, &state).await?;
    transaction.commit().await.or_fail(ACT)
}

/// What both upserts do with sums that are there already; `t` is the table.
const ADD: &str = "do update set held_ms = t.held_ms + excluded.held_ms, used_ms = t.used_ms + excluded.used_ms, \
     unmeasured_ms = t.unmeasured_ms + excluded.unmeasured_ms, unpriced_ms = t.unpriced_ms + excluded.unpriced_ms, \
     list = t.list + excluded.list, allocated = t.allocated + excluded.allocated, used = t.used + excluded.used, \
     unused = t.unused + excluded.unused, unmeasured = t.unmeasured + excluded.unmeasured, \
     estimated = t.estimated + excluded.estimated";

/// The ten sums as arrays, one a column.
fn columns<'a>(sums: impl Iterator<Item = &'a Sums>) -> [Vec<i64>; 10] {
    let mut columns: [Vec<i64>; 10] = Default::default();
    for sums in sums {
        for (column, sum) in columns.iter_mut().zip(sums.to_array()) {
            column.push(sum);
        }
    }
    columns
}

pub(super) async fn write_sets(
    transaction: &Transaction<'_>,
    sums: &[(SetSlice, Sums)],
) -> Result<(), StoreError> {
    if sums.is_empty() {
        return Ok(());
    }
    const ACT: &str = "write roll-ups";
    let grains: Vec<i16> = sums.iter().map(|(key, _)| grain_code(key.grain)).collect();
    let buckets: Vec<i64> = sums.iter().map(|(key, _)| key.bucket.0).collect();
    let clusters: Vec<i32> = sums.iter().map(|(key, _)| key.cluster).collect();
    let sets: Vec<i64> = sums.iter().map(|(key, _)| key.set).collect();
    let parts: Vec<i16> = sums.iter().map(|(key, _)| part_code(key.part)).collect();
    let [a, b, c, d, e, f, g, h, i, j] = columns(sums.iter().map(|(_, sums)| sums));
    let sql = format!(
        "insert into set_sum as t select * from unnest($1::smallint[], $2::bigint[], $3::integer[], $4::bigint[],
         $5::smallint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
         $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[])
         on conflict (grain, bucket, cluster, set_id, part) {ADD}"
    );
    transaction
        .execute(
            &sql,
            &[
                &grains, &buckets, &clusters, &sets, &parts, &a, &b, &c, &d, &e, &f, &g, &h, &i, &j,
            ],
        )
        .await
        .or_fail(ACT)?;
    transaction
        .execute(
            "update dimension_set s set last_day = n.day
             from (select id, max(day) as day from unnest($1::bigint[], $2::bigint[]) as u (id, day) group by id) n
             where s.id = n.id and s.last_day < n.day",
            &[&sets, &buckets.iter().map(|bucket| bucket - bucket.rem_euclid(86_400_000)).collect::<Vec<i64>>()],
        )
        .await
        .or_fail(ACT)?;
    Ok(())
}

pub(super) async fn write_slices(
    transaction: &Transaction<'_>,
    sums: &[(Slice, Sums)],
) -> Result<(), StoreError> {
    if sums.is_empty() {
        return Ok(());
    }
    let grains: Vec<i16> = sums.iter().map(|(key, _)| grain_code(key.grain)).collect();
    let dimensions: Vec<i16> = sums.iter().map(|(key, _)| key.dimension).collect();
    let buckets: Vec<i64> = sums.iter().map(|(key, _)| key.bucket.0).collect();
    let clusters: Vec<i32> = sums.iter().map(|(key, _)| key.cluster).collect();
    let values: Vec<&str> = sums.iter().map(|(key, _)| &*key.value).collect();
    let parts: Vec<i16> = sums.iter().map(|(key, _)| part_code(key.part)).collect();
    let [a, b, c, d, e, f, g, h, i, j] = columns(sums.iter().map(|(_, sums)| sums));
    let sql = format!(
        "insert into slice_sum as t select * from unnest($1::smallint[], $2::smallint[], $3::bigint[], $4::integer[],
         $5::text[], $6::smallint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
         $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[])
         on conflict (grain, dimension, bucket, cluster, value, part) {ADD}"
    );
    transaction
        .execute(
            &sql,
            &[
                &grains,
                &dimensions,
                &buckets,
                &clusters,
                &values,
                &parts,
                &a,
                &b,
                &c,
                &d,
                &e,
                &f,
                &g,
                &h,
                &i,
                &j,
            ],
        )
        .await
        .or_fail("write roll-ups")?;
    Ok(())
}

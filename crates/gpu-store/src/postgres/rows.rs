//! Rows of the ledger, copied in and read out.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{TryStreamExt, pin_mut};
use gpu_cost::{GpuTime, Grain, Moment, PriceNote, RowKey, Span};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, IsolationLevel, Row, Transaction};

use super::layout::{Layout, partition_name};
use super::pool::Failing;
use super::schema::read_state;
use crate::codes::{basis_code, basis_of, part_code, part_of, phase_code, phase_of};
use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{Dimensions, Measures, Sums, floor};
use crate::query::{MOST_ROWS, RowPage, RowQuery};
pub(super) use crate::stored::MEASURED;
use crate::stored::{MeasuredRow, StoredRow};

pub(super) const COLUMNS: &str = "seq, cluster, set_id, price, start_ms, end_ms, row_key, reverses, revision, part, phase, basis, \
     is_estimate, held_ms, used_ms, unmeasured_ms, list, allocated, used, unused, unmeasured";

const TYPES: &[Type] = &[
    Type::INT8,
    Type::INT4,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::BYTEA,
    Type::BYTEA,
    Type::INT8,
    Type::INT2,
    Type::INT2,
    Type::INT2,
    Type::BOOL,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
];

/// Copies rows into the ledger. The error is the database's own: a row that is there already is told from other failures.
pub(super) async fn copy_in(
    transaction: &Transaction<'_>,
    rows: &[StoredRow],
) -> Result<(), tokio_postgres::Error> {
    let table = target(transaction, rows).await?;
    let sql = format!("copy {table} ({COLUMNS}) from stdin (format binary)");
    let sink = transaction.copy_in(&sql).await?;
    let writer = BinaryCopyInWriter::new(sink, TYPES);
    pin_mut!(writer);
    for row in rows {
        let [list, allocated, used, unused, unmeasured] = row.amount_columns();
        let reverses = row.reverses.map(|key| key.0);
        let values: [&(dyn ToSql + Sync); 21] = [
            &row.seq,
            &row.cluster,
            &row.set,
            &row.price,
            &row.start.0,
            &row.end.0,
            &row.key.0.as_slice(),
            &reverses.as_ref().map(|key| key.as_slice()),
            &i64::from(row.revision),
            &part_code(row.part),
            &phase_code(row.phase),
            &basis_code(row.basis),
            &row.is_estimate,
            &row.time.held_ms,
            &row.time.used_ms,
            &row.time.unmeasured_ms,
            &list,
            &allocated,
            &used,
            &unused,
            &unmeasured,
        ];
        writer.as_mut().write(&values).await?;
    }
    writer.finish().await?;
    Ok(())
}

/// The table that rows of one day lie in: finding it for each row costs the server a tenth.
async fn target(transaction: &Transaction<'_>, rows: &[StoredRow]) -> Result<String, tokio_postgres::Error> {
    let mut days = rows.iter().map(|row| floor(Grain::Day, row.start));
    let first = days.next();
    let is_one = first.is_some_and(|first| days.all(|day| day == first));
    let is_partitioned = transaction
        .query_opt(
            "select 1 from meta where name = 'layout' and value <> $1",
            &[&(Layout::Partitions as i64)],
        )
        .await?
        .is_none();
    Ok(match first {
        Some(day) if is_one && is_partitioned => partition_name(day),
        _ => "ledger_row".to_owned(),
    })
}

fn key(bytes: &[u8]) -> Result<RowKey, StoreError> {
    <[u8; 16]>::try_from(bytes)
        .map(RowKey)
        .map_err(|error| StoreError::failed("read a row", error))
}

/// A row of [`COLUMNS`].
pub(super) fn read(row: &Row) -> Result<StoredRow, StoreError> {
    let amounts = [row.get(16), row.get(17), row.get(18), row.get(19), row.get(20)];
    Ok(StoredRow {
        seq: row.get(0),
        cluster: row.get(1),
        set: row.get(2),
        price: row.get(3),
        start: Moment(row.get(4)),
        end: Moment(row.get(5)),
        key: key(row.get(6))?,
        reverses: row.get::<_, Option<&[u8]>>(7).map(key).transpose()?,
        revision: u32::try_from(row.get::<_, i64>(8))
            .map_err(|error| StoreError::failed("read a row", error))?,
        part: part_of(row.get(9))?,
        phase: phase_of(row.get(10))?,
        basis: basis_of(row.get(11))?,
        is_estimate: row.get(12),
        time: GpuTime {
            held_ms: row.get(13),
            used_ms: row.get(14),
            unmeasured_ms: row.get(15),
        },
        amounts: StoredRow::amounts_of(amounts),
    })
}

/// A row of [`MEASURED`].
pub(super) fn read_measured(row: &Row) -> Result<MeasuredRow, StoreError> {
    let amounts = [row.get(10), row.get(11), row.get(12), row.get(13), row.get(14)];
    Ok(MeasuredRow {
        seq: row.get(0),
        cluster: row.get(1),
        set: row.get(2),
        part: part_of(row.get(3))?,
        price: row.get(15),
        span: Span::new(Moment(row.get(4)), Moment(row.get(5))),
        measures: Measures {
            time: GpuTime {
                held_ms: row.get(7),
                used_ms: row.get(8),
                unmeasured_ms: row.get(9),
            },
            amounts: StoredRow::amounts_of(amounts),
            is_estimate: row.get(6),
        },
    })
}

/// The ten sums, from a column on.
pub(super) fn sums(row: &Row, first: usize) -> Sums {
    let mut sums = [0; 10];
    for (column, sum) in (first..).zip(&mut sums) {
        *sum = row.get(column);
    }
    Sums::from_array(sums)
}

/// The rows that are there under these starts and keys; `column` is `row_key` or `reverses`.
pub(super) async fn find(
    transaction: &Transaction<'_>,
    column: &str,
    keys: &[(Moment, RowKey)],
) -> Result<Vec<StoredRow>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let starts: Vec<i64> = keys.iter().map(|(start, _)| start.0).collect();
    let names: Vec<Vec<u8>> = keys.iter().map(|(_, key)| key.0.to_vec()).collect();
    let columns = COLUMNS.replace(", ", ", l.");
    let sql = format!(
        "select l.{columns} from unnest($1::bigint[], $2::bytea[]) as k (start_ms, name)
         join ledger_row l on l.start_ms = k.start_ms and l.{column} = k.name"
    );
    let found = transaction
        .query(&sql, &[&starts, &names])
        .await
        .or_fail("look up rows")?;
    found.iter().map(read).collect()
}

/// A transaction that sees one instant.
pub(super) async fn reading(client: &mut Client) -> Result<Transaction<'_>, StoreError> {
    client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await
        .or_fail("begin to read")
}

/// One page of rows with all that they say.
pub(super) async fn page(client: &mut Client, query: &RowQuery) -> Result<RowPage, StoreError> {
    const ACT: &str = "read rows";
    let transaction = reading(client).await?;
    let (state, _) = read_state(&transaction).await?;
    let limit = query.limit.clamp(1, MOST_ROWS);
    let mut conditions = vec!["seq > $1".to_owned()];
    let mut values: Vec<Box<dyn ToSql + Sync + Send>> = vec![Box::new(query.after.unwrap_or(0))];
    let mut table = "ledger_row".to_owned();
    if let Some(cluster) = &query.cluster {
        values.push(Box::new(cluster.as_str().to_owned()));
        let number = values.len();
        conditions.push(format!(
            "cluster = (select id from cluster where name = ${number})"
        ));
    }
    if let Some(uid) = &query.pod_uid {
        // Hour by hour, each with a look into the index of its day; without the lateral the planner may read everything instead.
        let (first, last) = hours(&transaction, query, &state).await?;
        values.push(Box::new(uid.clone()));
        let number = values.len();
        table = format!(
            "generate_series({first}::bigint, {last}::bigint) as h cross join lateral (
               select * from ledger_row where start_ms >= h * 3600000 and start_ms < h * 3600000 + 3600000
               and start_ms / 3600000 = h
               and set_id = any (array(select id from dimension_set where pod_uid = ${number})) offset 0) as l"
        );
    }
    if let Some(window) = query.window {
        let earliest = window.start.0.saturating_sub(state.longest_ms);
        conditions.push(format!(
            "start_ms >= {earliest} and start_ms < {} and end_ms > {}",
            window.end.0, window.start.0
        ));
    }
    let sql = format!(
        "select {COLUMNS} from {table} where {} order by seq limit {}",
        conditions.join(" and "),
        limit + 1
    );
    let found = transaction.query_raw(&sql, values.iter().map(|value| &**value as &(dyn ToSql + Sync)));
    let found = found.await.or_fail(ACT)?;
    pin_mut!(found);
    let mut stored = Vec::new();
    while let Some(row) = found.try_next().await.or_fail(ACT)? {
        stored.push(read(&row)?);
    }
    let next = (stored.len() > limit).then(|| stored[limit - 1].seq);
    stored.truncate(limit);
    let sets = dimensions(&transaction, stored.iter().map(|row| row.set)).await?;
    let prices = prices(&transaction, stored.iter().map(|row| row.price)).await?;
    let missing = || StoreError::failed(ACT, "a set or a price of a row is missing");
    let mut rows = Vec::with_capacity(stored.len());
    for row in &stored {
        let set = sets.get(&row.set).ok_or_else(missing)?;
        let price = prices.get(&row.price).ok_or_else(missing)?;
        rows.push(row.row(set, price));
    }
    Ok(RowPage { rows, next })
}

/// The hours in which rows of the question can start, as the index counts them.
async fn hours(
    transaction: &Transaction<'_>,
    query: &RowQuery,
    state: &State,
) -> Result<(i64, i64), StoreError> {
    let edges = transaction
        .query_one("select min(start_ms), max(start_ms) from ledger_row", &[])
        .await
        .or_fail("read rows")?;
    let edge = |column: usize| edges.get::<_, Option<i64>>(column).unwrap_or(0);
    let (mut first, mut last) = (edge(0), edge(1));
    if let Some(window) = query.window {
        first = first.max(window.start.0.saturating_sub(state.longest_ms));
        last = last.min(window.end.0);
    }
    let hour = Grain::Hour.milliseconds();
    Ok((first.div_euclid(hour), last.div_euclid(hour)))
}

/// The dimensions of sets.
pub(super) async fn dimensions(
    transaction: &Transaction<'_>,
    ids: impl Iterator<Item = i64>,
) -> Result<HashMap<i64, Arc<Dimensions>>, StoreError> {
    bodies(transaction, "dimension_set", ids).await
}

pub(super) async fn prices(
    transaction: &Transaction<'_>,
    ids: impl Iterator<Item = i64>,
) -> Result<HashMap<i64, Arc<PriceNote>>, StoreError> {
    bodies(transaction, "price_note", ids).await
}

async fn bodies<T: serde::de::DeserializeOwned>(
    transaction: &Transaction<'_>,
    table: &str,
    ids: impl Iterator<Item = i64>,
) -> Result<HashMap<i64, Arc<T>>, StoreError> {
    const ACT: &str = "read what rows share";
    let mut ids: Vec<i64> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!("select id, body from {table} where id = any($1::bigint[])");
    let found = transaction.query(&sql, &[&ids]).await.or_fail(ACT)?;
    let mut all = HashMap::with_capacity(found.len());
    for row in &found {
        let body: &str = row.get(1);
        let read = serde_json::from_str(body).map_err(|error| StoreError::failed(ACT, error))?;
        all.insert(row.get(0), Arc::new(read));
    }
    Ok(all)
}

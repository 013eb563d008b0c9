//! The whole store as lines, out and in.

use std::sync::Arc;

use futures::{TryStreamExt, pin_mut};
use gpu_cost::{Grain, Moment, PriceNote};
use gpu_model::ClusterId;
use tokio::sync::mpsc;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Transaction};

use super::layout::{self, Layout};
use super::pool::{Failing, Pool};
use super::{fold, known, records, rows, schema};
use crate::codes::{part_of, unknown};
use crate::dump::{
    Line, LineReceiver, LineSender, PIECES, SENT_AT_ONCE, State, SumKey, TABLES, Target, parsed, written,
};
use crate::error::StoreError;
use crate::ledger::{Dimensions, floor, grain_of_code};
use crate::record::RecordKind;

const ACT: &str = "dump the store";

/// Reads everything in one transaction on a connection of its own.
pub(super) async fn dump(pool: Arc<Pool>) -> Result<LineReceiver, StoreError> {
    let mut client = pool.connect().await?;
    // A dump of a large ledger takes longer than any other question.
    client
        .batch_execute("set statement_timeout = 0; set idle_in_transaction_session_timeout = 0")
        .await
        .or_fail(ACT)?;
    let (sender, receiver) = mpsc::channel(PIECES);
    tokio::spawn(async move {
        if let Err(error) = send_all(&mut client, &sender).await {
            // Nobody who listens needs to hear of it.
            let _ = sender.send(Err(error)).await;
        }
    });
    Ok(receiver)
}

type Read = fn(&Row) -> Result<Line, StoreError>;

async fn send_all(client: &mut Client, to: &LineSender) -> Result<(), StoreError> {
    let transaction = rows::reading(client).await?;
    let (state, _) = schema::read_state(&transaction).await?;
    send(to, vec![Line::State(state)]).await?;
    let rows = format!("select {} from ledger_row order by seq", rows::COLUMNS);
    let tables: [(&str, Read); 6] = [
        ("select id, name from cluster order by id", cluster),
        ("select id, last_day, body from price_note order by id", price),
        ("select id, last_day, body from dimension_set order by id", set),
        (&rows, |row| rows::read(row).map(Line::Row)),
        ("select * from set_sum", set_sum),
        ("select * from slice_sum", slice_sum),
    ];
    for (sql, read) in tables {
        send_table(&transaction, to, sql, read).await?;
    }
    for kind in RecordKind::ALL {
        let sql = records::all_of(kind);
        send_table(&transaction, to, &sql, |row| {
            records::read(row, kind).map(Line::Record)
        })
        .await?;
    }
    Ok(())
}

async fn send_table(
    transaction: &Transaction<'_>,
    to: &LineSender,
    sql: &str,
    read: impl Fn(&Row) -> Result<Line, StoreError>,
) -> Result<(), StoreError> {
    let none: [&(dyn ToSql + Sync); 0] = [];
    let found = transaction.query_raw(sql, none).await.or_fail(ACT)?;
    pin_mut!(found);
    let mut piece = Vec::with_capacity(SENT_AT_ONCE);
    while let Some(row) = found.try_next().await.or_fail(ACT)? {
        piece.push(read(&row)?);
        if piece.len() >= SENT_AT_ONCE {
            send(to, std::mem::take(&mut piece)).await?;
        }
    }
    send(to, piece).await
}

async fn send(to: &LineSender, lines: Vec<Line>) -> Result<(), StoreError> {
    to.send(Ok(lines)).await.map_err(|_| StoreError::Closed)
}

fn cluster(row: &Row) -> Result<Line, StoreError> {
    Ok(Line::Cluster {
        id: row.get(0),
        name: ClusterId::new(row.get::<_, &str>(1)).map_err(|error| StoreError::failed(ACT, error))?,
    })
}

fn price(row: &Row) -> Result<Line, StoreError> {
    Ok(Line::Price {
        id: row.get(0),
        last_day: Moment(row.get(1)),
        note: parsed::<PriceNote>(row.get(2))?,
    })
}

fn set(row: &Row) -> Result<Line, StoreError> {
    Ok(Line::Set {
        id: row.get(0),
        last_day: Moment(row.get(1)),
        dimensions: parsed::<Dimensions>(row.get(2))?,
    })
}

fn grain(code: i16) -> Result<Grain, StoreError> {
    grain_of_code(code).ok_or_else(|| unknown("grain", code))
}

fn set_sum(row: &Row) -> Result<Line, StoreError> {
    Ok(Line::SetSum {
        grain: grain(row.get(0))?,
        bucket: Moment(row.get(1)),
        cluster: row.get(2),
        set: row.get(3),
        part: part_of(row.get(4))?,
        price: row.get(15),
        sums: rows::sums(row, 5),
    })
}

fn slice_sum(row: &Row) -> Result<Line, StoreError> {
    Ok(Line::SliceSum {
        grain: grain(row.get(0))?,
        dimension: row.get(1),
        bucket: Moment(row.get(2)),
        cluster: row.get(3),
        value: row.get(4),
        part: part_of(row.get(5))?,
        sums: rows::sums(row, 6),
    })
}

pub(super) async fn begin_load(client: &mut Client, target: Target) -> Result<(), StoreError> {
    const ACT: &str = "prepare the store for a restore";
    let transaction = client.transaction().await.or_fail(ACT)?;
    schema::take_turn(&transaction).await?;
    if target == Target::MustBeEmpty {
        for table in TABLES {
            let sql = format!("select exists (select 1 from {table})");
            let row = transaction.query_one(&sql, &[]).await.or_fail(ACT)?;
            if row.get::<_, bool>(0) {
                return Err(StoreError::NotEmpty);
            }
        }
    }
    let sql = format!("truncate {}", TABLES.join(", "));
    transaction.batch_execute(&sql).await.or_fail(ACT)?;
    let (before, _) = schema::read_state(&transaction).await?;
    let empty = State {
        epoch: before.epoch + 1,
        ..State::EMPTY
    };
    schema::write_state(&transaction, &empty).await?;
    schema::set_meta(&transaction, "is_loading", 1).await?;
    transaction.commit().await.or_fail(ACT)
}

/// Writes lines. A piece whose answer was lost on the way is written again: the sums of the whole store tell at the end, and refuse it.
pub(super) async fn load(client: &mut Client, lines: &[Line]) -> Result<(), StoreError> {
    const ACT: &str = "restore lines";
    let transaction = client.transaction().await.or_fail(ACT)?;
    let (mut new_rows, mut sets, mut slices) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        match line {
            Line::State(state) => {
                let (before, _) = schema::read_state(&transaction).await?;
                let epoch = before.epoch;
                schema::write_state(&transaction, &State { epoch, ..*state }).await?;
            }
            Line::Row(row) => new_rows.push(row.clone()),
            Line::Record(record) => {
                let cluster = known::cluster(&transaction, &record.cluster).await?;
                records::put(&transaction, cluster, record).await?;
            }
            Line::SetSum { .. } | Line::SliceSum { .. } => match line.sums() {
                Some((SumKey::Set(key), sum)) => sets.push((key, sum)),
                Some((SumKey::Slice(key), sum)) => slices.push((key, sum)),
                None => {}
            },
            other => load_shared(&transaction, other).await?,
        }
    }
    load_rows(&transaction, new_rows).await?;
    fold::write_sets(&transaction, &sets).await?;
    fold::write_slices(&transaction, &slices).await?;
    transaction.commit().await.or_fail(ACT)
}

async fn load_rows(transaction: &Transaction<'_>, new: Vec<crate::StoredRow>) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    if Layout::read(transaction).await? == Layout::Partitions {
        let mut days: Vec<Moment> = new.iter().map(|row| floor(Grain::Day, row.start)).collect();
        days.sort_unstable();
        days.dedup();
        let there = layout::partitions(transaction).await?;
        for day in days.into_iter().filter(|day| !there.contains(day)) {
            layout::make_partition(transaction, day).await?;
        }
    }
    rows::copy_in(transaction, &new).await.or_fail("restore rows")
}

async fn load_shared(transaction: &Transaction<'_>, line: &Line) -> Result<(), StoreError> {
    const ACT: &str = "restore a line";
    let run = async |sql: &str, values: &[&(dyn ToSql + Sync)]| {
        transaction.execute(sql, values).await.map(|_| ()).or_fail(ACT)
    };
    match line {
        Line::Cluster { id, name } => run("insert into cluster values ($1, $2)", &[id, &name.as_str()]).await,
        Line::Price { id, last_day, note } => {
            let (body, name) = written(note)?;
            let sql = "insert into price_note values ($1, $2, $3, $4)";
            run(sql, &[id, &name.as_slice(), &last_day.0, &body]).await
        }
        Line::Set {
            id,
            last_day,
            dimensions,
        } => {
            let (body, name) = written(dimensions)?;
            let uid = dimensions.holder.as_ref().map(|holder| holder.uid.to_string());
            let cluster = known::cluster(transaction, &dimensions.cluster).await?;
            let sql = "insert into dimension_set values ($1, $2, $3, $4, $5, $6)";
            run(sql, &[id, &name.as_slice(), &cluster, &uid, &last_day.0, &body]).await
        }
        Line::Header { .. }
        | Line::Trailer(_)
        | Line::State(_)
        | Line::Row(_)
        | Line::Record(_)
        | Line::SetSum { .. }
        | Line::SliceSum { .. } => Ok(()),
    }
}

pub(super) async fn end_load(client: &mut Client) -> Result<(), StoreError> {
    const ACT: &str = "finish the restore";
    let transaction = client.transaction().await.or_fail(ACT)?;
    // Numbers were given by the dump; the next ones follow them.
    for table in ["cluster", "price_note", "dimension_set"] {
        let sql = format!(
            "select setval(pg_get_serial_sequence('{}.{table}', 'id'), (select coalesce(max(id), 0) + 1 from {table}), false)",
            super::pool::SCHEMA
        );
        transaction.query_one(&sql, &[]).await.or_fail(ACT)?;
    }
    // A dump of an older program has sums of every day, and does not say so.
    let (mut state, _) = schema::read_state(&transaction).await?;
    let last = transaction
        .query_one("select max(bucket) from set_sum where grain = 1440", &[])
        .await
        .or_fail(ACT)?;
    if let Some(last) = last.get::<_, Option<i64>>(0) {
        state.closed = state.closed.max(Moment(last).plus(Grain::Day.milliseconds()));
        schema::write_state(&transaction, &state).await?;
    }
    transaction
        .execute("delete from meta where name = 'is_loading'", &[])
        .await
        .or_fail(ACT)?;
    transaction.commit().await.or_fail(ACT)
}

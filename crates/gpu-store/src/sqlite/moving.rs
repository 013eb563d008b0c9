//! The whole store as lines, out and in.

use std::path::Path;

use gpu_cost::{Grain, Moment, PriceNote};
use gpu_model::ClusterId;
use rusqlite::{Connection, Row, Transaction, params};
use tokio::sync::mpsc;

use super::append::{Writer, read_state, set_meta};
use super::failure::Failing;
use super::{READER_CACHE_KIB, connect, fold, records, rows};
use crate::codes::{part_of, unknown};
use crate::dump::{
    Line, LineReceiver, LineSender, PIECES, SENT_AT_ONCE, State, SumKey, TABLES, Target, parsed, written,
};
use crate::error::StoreError;
use crate::ledger::{Dimensions, grain_of_code};
use crate::record::RecordKind;

const ACT: &str = "dump the store";

/// Starts a thread that reads everything in one transaction. Writers are not held up: the log keeps what they change.
pub(super) fn dump(path: &Path) -> Result<LineReceiver, StoreError> {
    let (sender, receiver) = mpsc::channel(PIECES);
    let path = path.to_owned();
    std::thread::Builder::new()
        .name("store-dump".to_owned())
        .spawn(move || {
            if let Err(error) = send_all(&path, &sender) {
                // Nobody who listens needs to hear of it.
                let _ = sender.blocking_send(Err(error));
            }
        })
        .map_err(|error| StoreError::failed(ACT, error))?;
    Ok(receiver)
}

fn send_all(path: &Path, to: &LineSender) -> Result<(), StoreError> {
    let mut connection = connect(path, READER_CACHE_KIB)?;
    let transaction = connection.transaction().or_fail(ACT, path)?;
    let state = read_state(&transaction, path)?;
    send(to, vec![Line::State(state)])?;
    let table = |sql: &str, read: &dyn Fn(&Row<'_>) -> rusqlite::Result<Result<Line, StoreError>>| {
        send_table(&transaction, path, to, sql, read)
    };
    table("select id, name from cluster order by id", &|row| {
        let (id, name): (i32, String) = (row.get(0)?, row.get(1)?);
        let name = ClusterId::new(name).map_err(|error| StoreError::failed(ACT, error));
        Ok(name.map(|name| Line::Cluster { id, name }))
    })?;
    table("select id, last_day, body from price_note order by id", &|row| {
        let (id, day, body): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let note = parsed::<PriceNote>(&body);
        Ok(note.map(|note| Line::Price {
            id,
            last_day: Moment(day),
            note,
        }))
    })?;
    table(
        "select id, last_day, body from dimension_set order by id",
        &|row| {
            let (id, day, body): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let dimensions = parsed::<Dimensions>(&body);
            Ok(dimensions.map(|dimensions| Line::Set {
                id,
                last_day: Moment(day),
                dimensions,
            }))
        },
    )?;
    let rows = format!("select {} from ledger_row order by seq", rows::COLUMNS);
    table(&rows, &|row| Ok(rows::read(row)?.map(Line::Row)))?;
    table("select * from set_sum", &|row| set_sum(row))?;
    table("select * from slice_sum", &|row| slice_sum(row))?;
    for kind in RecordKind::ALL {
        let sql = format!(
            "select c.name, key, at_ms, subject, is_open, until_ms, body
             from record r join cluster c on c.id = r.cluster where kind = {}",
            kind.code()
        );
        table(&sql, &|row| Ok(records::raw(row)?.record(kind).map(Line::Record)))?;
    }
    Ok(())
}

fn send_table(
    transaction: &Transaction<'_>,
    path: &Path,
    to: &LineSender,
    sql: &str,
    read: &dyn Fn(&Row<'_>) -> rusqlite::Result<Result<Line, StoreError>>,
) -> Result<(), StoreError> {
    let mut select = transaction.prepare(sql).or_fail(ACT, path)?;
    let mut found = select.query([]).or_fail(ACT, path)?;
    let mut piece = Vec::with_capacity(SENT_AT_ONCE);
    while let Some(row) = found.next().or_fail(ACT, path)? {
        piece.push(read(row).or_fail(ACT, path)??);
        if piece.len() >= SENT_AT_ONCE {
            send(to, std::mem::take(&mut piece))?;
        }
    }
    send(to, piece)
}

fn send(to: &LineSender, lines: Vec<Line>) -> Result<(), StoreError> {
    to.blocking_send(Ok(lines)).map_err(|_| StoreError::Closed)
}

fn set_sum(row: &Row<'_>) -> rusqlite::Result<Result<Line, StoreError>> {
    let (grain, part): (i16, i16) = (row.get(0)?, row.get(4)?);
    let (bucket, cluster, set) = (Moment(row.get(1)?), row.get(2)?, row.get(3)?);
    let (sums, price) = (rows::sums(row, 5)?, row.get(15)?);
    Ok((|| {
        Ok(Line::SetSum {
            grain: grain_of_code(grain).ok_or_else(|| unknown("grain", grain))?,
            bucket,
            cluster,
            set,
            part: part_of(part)?,
            price,
            sums,
        })
    })())
}

fn slice_sum(row: &Row<'_>) -> rusqlite::Result<Result<Line, StoreError>> {
    let (grain, part): (i16, i16) = (row.get(0)?, row.get(5)?);
    let (dimension, bucket, cluster, value) = (row.get(1)?, Moment(row.get(2)?), row.get(3)?, row.get(4)?);
    let sums = rows::sums(row, 6)?;
    Ok((|| {
        Ok(Line::SliceSum {
            grain: grain_of_code(grain).ok_or_else(|| unknown("grain", grain))?,
            dimension,
            bucket,
            cluster,
            value,
            part: part_of(part)?,
            sums,
        })
    })())
}

impl Writer {
    pub(super) fn begin_load(&mut self, target: Target) -> Result<(), StoreError> {
        if target == Target::MustBeEmpty && !is_empty(&self.connection, &self.path)? {
            return Err(StoreError::NotEmpty);
        }
        self.forget_known();
        self.transact(
            "prepare the store for a restore",
            |transaction, _, state, path| {
                for table in TABLES {
                    transaction
                        .execute(&format!("delete from {table}"), [])
                        .or_fail("prepare the store for a restore", path)?;
                }
                set_meta(transaction, path, "is_loading", 1)?;
                *state = State {
                    epoch: state.epoch + 1,
                    ..State::EMPTY
                };
                Ok(())
            },
        )
    }

    pub(super) fn load(&mut self, lines: &[Line]) -> Result<(), StoreError> {
        self.transact("restore lines", |transaction, memory, state, path| {
            let mut insert = rows::Insert::prepare(transaction, path)?;
            for line in lines {
                match line {
                    Line::State(found) => {
                        let epoch = state.epoch;
                        *state = State { epoch, ..*found };
                    }
                    Line::Row(row) => {
                        if !insert.run(row, path)? {
                            return Err(StoreError::RowDiffers { key: row.key });
                        }
                    }
                    Line::Record(record) => {
                        let cluster = memory.known.cluster(transaction, path, &record.cluster)?;
                        records::put(transaction, path, cluster, record)?;
                    }
                    other => load_shared(transaction, path, other)?,
                }
            }
            Ok(())
        })
    }

    pub(super) fn end_load(&mut self) -> Result<(), StoreError> {
        const ACT: &str = "finish the restore";
        self.forget_known();
        self.transact(ACT, |transaction, _, state, path| {
            // A dump of an older program has sums of every day, and does not say so.
            let last: Option<i64> = transaction
                .query_row("select max(bucket) from set_sum where grain = 1440", [], |row| {
                    row.get(0)
                })
                .or_fail(ACT, path)?;
            if let Some(last) = last {
                state.closed = state.closed.max(Moment(last).plus(Grain::Day.milliseconds()));
            }
            transaction
                .execute("delete from meta where name = 'is_loading'", [])
                .or_fail(ACT, path)?;
            Ok(())
        })
    }
}

fn load_shared(transaction: &Transaction<'_>, path: &Path, line: &Line) -> Result<(), StoreError> {
    const ACT: &str = "restore a line";
    let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
        transaction
            .prepare_cached(sql)
            .and_then(|mut insert| insert.execute(values))
            .map(|_| ())
            .or_fail(ACT, path)
    };
    match line {
        Line::Cluster { id, name } => run("insert into cluster values (?1, ?2)", params![id, name.as_str()]),
        Line::Price { id, last_day, note } => {
            let (body, name) = written(note)?;
            let values = params![id, name, last_day.0, body];
            run("insert into price_note values (?1, ?2, ?3, ?4)", values)
        }
        Line::Set {
            id,
            last_day,
            dimensions,
        } => {
            let (body, name) = written(dimensions)?;
            let pod_uid = dimensions.holder.as_ref().map(|holder| holder.uid.as_str());
            let cluster = dimensions.cluster.as_str();
            run(
                "insert into dimension_set values (?1, ?2, (select id from cluster where name = ?3), ?4, ?5, ?6)",
                params![id, name, cluster, pod_uid, last_day.0, body],
            )
        }
        Line::SetSum { .. } | Line::SliceSum { .. } => match line.sums() {
            Some((SumKey::Set(key), sums)) => fold::write_sets(transaction, path, &[(key, sums)]),
            Some((SumKey::Slice(key), sums)) => fold::write_slices(transaction, path, &[(key, sums)]),
            None => Ok(()),
        },
        Line::Header { .. } | Line::Trailer(_) | Line::State(_) | Line::Row(_) | Line::Record(_) => Ok(()),
    }
}

fn is_empty(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    for table in TABLES {
        let found: bool = connection
            .query_row(&format!("select exists (select 1 from {table})"), [], |row| {
                row.get(0)
            })
            .or_fail("look into the store", path)?;
        if found {
            return Ok(false);
        }
    }
    Ok(true)
}

//! The writing side: batches into tables, each in one transaction.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gpu_cost::{Grain, LedgerRow, Moment, PriceNote};
use gpu_model::ClusterId;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::failure::Failing;
use super::lock::Lock;
use super::{records, rows};
use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{Dimensions, Fingerprints, Fold, check_names, check_row, floor};
use crate::retention::Floors;
use crate::store::{Appended, Batch, MOST_ROWS_AT_ONCE};
use crate::stored::{StoredRow, digest};

/// Sets of dimensions whose numbers are remembered: a hundred thousand pods that come and go, in about 20 MB.
const KNOWN_SETS: usize = 250_000;
const KNOWN_PRICES: usize = 10_000;

/// What is remembered from one transaction to the next.
pub(super) struct Memory<'a> {
    pub(super) known: &'a mut Known,
    pub(super) fold: &'a mut Fold,
}

/// The one who writes.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    pub(super) state: State,
    pub(super) fold: Fold,
    known: Known,
    /// Let go last: nobody may open the file before the connection is closed.
    _lock: Lock,
}

/// Numbers of what many rows share. Forgotten after every failed transaction, which may have taken some of them back.
#[derive(Debug, Default)]
pub(super) struct Known {
    clusters: HashMap<ClusterId, i32>,
    fingerprints: Fingerprints,
    /// With the last day that is noted with a set.
    sets: HashMap<u128, (i64, Moment)>,
    prices: HashMap<PriceNote, (i64, Moment)>,
}

impl Writer {
    pub(super) fn new(connection: Connection, path: &Path, lock: Lock) -> Result<Self, StoreError> {
        if meta(&connection, path, "is_loading")?.is_some() {
            tracing::warn!("a restore into this store did not finish");
        }
        Ok(Self {
            state: read_state(&connection, path)?,
            connection,
            path: path.to_owned(),
            fold: Fold::default(),
            known: Known::default(),
            _lock: lock,
        })
    }

    /// Does work in a transaction. What failed is undone, and nothing that was remembered on the way is believed.
    pub(super) fn transact<T>(
        &mut self,
        act: &'static str,
        work: impl FnOnce(&Transaction<'_>, Memory<'_>, &mut State, &Path) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut state = self.state;
        let result = (|| {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .or_fail(act, &self.path)?;
            let memory = Memory {
                known: &mut self.known,
                fold: &mut self.fold,
            };
            let done = work(&transaction, memory, &mut state, &self.path)?;
            if state != self.state {
                write_state(&transaction, &self.path, &state)?;
            }
            transaction.commit().or_fail(act, &self.path)?;
            Ok(done)
        })();
        match &result {
            Ok(_) => self.state = state,
            Err(_) => self.forget_known(),
        }
        result
    }

    pub(super) fn append(&mut self, batch: &Batch) -> Result<Appended, StoreError> {
        if batch.rows.len() > MOST_ROWS_AT_ONCE {
            return Err(StoreError::BatchTooLarge {
                count: batch.rows.len(),
                most: MOST_ROWS_AT_ONCE,
            });
        }
        self.refuse_half_restored()?;
        self.transact("write a batch", |transaction, memory, state, path| {
            let known = memory.known;
            let rows_written = write_rows(transaction, known, state, &batch.rows, path)?;
            let mut done = Appended {
                rows_written,
                rows_known: batch.rows.len() - rows_written,
                ..Appended::default()
            };
            for record in &batch.records {
                let cluster = known.cluster(transaction, path, &record.cluster)?;
                if records::put(transaction, path, cluster, record)? {
                    done.records_written += 1;
                } else {
                    done.records_known += 1;
                }
            }
            for record in &batch.replacements {
                let cluster = known.cluster(transaction, path, &record.cluster)?;
                records::replace(transaction, path, cluster, record)?;
                done.records_written += 1;
            }
            Ok(done)
        })
    }

    fn refuse_half_restored(&self) -> Result<(), StoreError> {
        match meta(&self.connection, &self.path, "is_loading")? {
            None => Ok(()),
            Some(_) => Err(StoreError::HalfRestored),
        }
    }

    pub(super) fn forget_known(&mut self) {
        self.known = Known::default();
        self.fold.forget();
    }
}

impl Drop for Writer {
    /// A file that was closed in order is not looked through again at the next start.
    fn drop(&mut self) {
        if let Err(error) = set_meta(&self.connection, &self.path, "is_open", 0) {
            tracing::warn!(%error, "could not note that the store was closed");
        }
    }
}

/// Writes rows in the order of their keys, which is that of the index, and returns how many were new. What a batch holds is one fact:
/// a reversal may stand before the row that it takes back.
fn write_rows(
    transaction: &Transaction<'_>,
    known: &mut Known,
    state: &mut State,
    rows: &[LedgerRow],
    path: &Path,
) -> Result<usize, StoreError> {
    let mut stored = Vec::with_capacity(rows.len());
    for row in rows {
        check_row(row)?;
        let start = row.span.start;
        if start < state.floors.raw {
            return Err(StoreError::TooLate {
                key: row.key,
                start,
                floor: state.floors.raw,
            });
        }
        let cluster = known.cluster(transaction, path, &row.cluster)?;
        let set = known.set(transaction, path, cluster, row)?;
        let price = known.price(transaction, path, &row.price, start)?;
        stored.push(StoredRow::of(row, 0, cluster, set, price));
    }
    stored.sort_by_key(|row| (row.start, row.key));
    let mut insert = rows::Insert::prepare(transaction, path)?;
    let mut reversals = Vec::new();
    let mut written = 0;
    for mut row in stored {
        row.seq = state.last + 1;
        if !insert.run(&row, path)? {
            know_or_refuse(transaction, &row, path)?;
            continue;
        }
        written += 1;
        state.last = row.seq;
        state.longest_ms = state.longest_ms.max(row.span().milliseconds());
        if row.reverses.is_some() {
            reversals.push(row);
        }
    }
    for row in reversals {
        check_reversal(transaction, &row, path)?;
    }
    Ok(written)
}

/// A reversal takes back a row that is there, exactly. That it does so once is seen to by an index.
fn check_reversal(transaction: &Transaction<'_>, row: &StoredRow, path: &Path) -> Result<(), StoreError> {
    let Some(of) = row.reverses else {
        return Ok(());
    };
    let original = rows::find(transaction, path, row.start, &of)?;
    let original = original.ok_or(StoreError::NothingToReverse { key: row.key, of })?;
    if !row.undoes(&original) || !charge_the_same(transaction, path, row.set, original.set)? {
        return Err(StoreError::NoReversal { key: row.key, of });
    }
    Ok(())
}

/// A row that was not taken is there already, or is in the way of one that is.
fn know_or_refuse(transaction: &Transaction<'_>, row: &StoredRow, path: &Path) -> Result<(), StoreError> {
    match rows::find(transaction, path, row.start, &row.key)? {
        Some(there)
            if there.says_the_same(row) && charge_the_same(transaction, path, there.set, row.set)? =>
        {
            Ok(())
        }
        Some(_) => Err(StoreError::RowDiffers { key: row.key }),
        None => match row.reverses {
            Some(of) => Err(StoreError::ReversedTwice { key: row.key, of }),
            None => Err(StoreError::RowDiffers { key: row.key }),
        },
    }
}

/// Whether two sets name the same things. They are nearly always one set.
fn charge_the_same(
    transaction: &Transaction<'_>,
    path: &Path,
    one: i64,
    other: i64,
) -> Result<bool, StoreError> {
    if one == other {
        return Ok(true);
    }
    let one = rows::dimensions(transaction, path, one)?;
    let other = rows::dimensions(transaction, path, other)?;
    Ok(one.names_the_same(&other))
}

impl Known {
    pub(super) fn cluster(
        &mut self,
        transaction: &Transaction<'_>,
        path: &Path,
        name: &ClusterId,
    ) -> Result<i32, StoreError> {
        if let Some(id) = self.clusters.get(name) {
            return Ok(*id);
        }
        const ACT: &str = "name a cluster";
        transaction
            .execute(
                "insert or ignore into cluster (name) values (?1)",
                [name.as_str()],
            )
            .or_fail(ACT, path)?;
        let id = transaction
            .query_row("select id from cluster where name = ?1", [name.as_str()], |row| {
                row.get(0)
            })
            .or_fail(ACT, path)?;
        self.clusters.insert(name.clone(), id);
        Ok(id)
    }

    fn set(
        &mut self,
        transaction: &Transaction<'_>,
        path: &Path,
        cluster: i32,
        row: &LedgerRow,
    ) -> Result<i64, StoreError> {
        let print = self.fingerprints.of(row);
        let day = last_day(row);
        if let Some((id, last_day)) = self.sets.get(&print)
            && *last_day >= day
        {
            return Ok(*id);
        }
        check_names(row)?;
        const ACT: &str = "write what a row is charged to";
        let dimensions = Dimensions::of(row);
        let body = serde_json::to_string(&dimensions).map_err(|error| StoreError::failed(ACT, error))?;
        let pod_uid = dimensions.holder.as_ref().map(|holder| holder.uid.as_str());
        let name = digest(&body);
        let id = transaction
            .prepare_cached(
                "insert into dimension_set (digest, cluster, pod_uid, last_day, body) values (?1, ?2, ?3, ?4, ?5)
                 on conflict (digest) do update set last_day = max(last_day, excluded.last_day) returning id",
            )
            .and_then(|mut insert| {
                insert.query_row(params![name, cluster, pod_uid, day.0, body], |row| row.get(0))
            })
            .or_fail(ACT, path)?;
        if self.sets.len() >= KNOWN_SETS {
            self.sets.clear();
        }
        self.sets.insert(print, (id, day));
        Ok(id)
    }

    fn price(
        &mut self,
        transaction: &Transaction<'_>,
        path: &Path,
        note: &PriceNote,
        at: Moment,
    ) -> Result<i64, StoreError> {
        let day = floor(Grain::Day, at);
        if let Some((id, last_day)) = self.prices.get(note)
            && *last_day >= day
        {
            return Ok(*id);
        }
        const ACT: &str = "write the price of a row";
        let body = serde_json::to_string(note).map_err(|error| StoreError::failed(ACT, error))?;
        let name = digest(&body);
        transaction
            .prepare_cached(
                "insert into price_note (digest, last_day, body) values (?1, ?2, ?3)
                 on conflict (digest) do update set last_day = max(last_day, excluded.last_day)",
            )
            .and_then(|mut insert| insert.execute(params![name, day.0, body]))
            .or_fail(ACT, path)?;
        let id = transaction
            .prepare_cached("select id from price_note where digest = ?1")
            .and_then(|mut select| select.query_row([name], |row| row.get(0)))
            .or_fail(ACT, path)?;
        if self.prices.len() >= KNOWN_PRICES {
            self.prices.clear();
        }
        self.prices.insert(note.clone(), (id, day));
        Ok(id)
    }
}

/// The last day that a row says something about.
fn last_day(row: &LedgerRow) -> Moment {
    floor(Grain::Day, row.span.end.plus(-1))
}

/// One number that the store remembers.
pub(super) fn meta(connection: &Connection, path: &Path, name: &str) -> Result<Option<i64>, StoreError> {
    connection
        .prepare_cached("select value from meta where name = ?1")
        .and_then(|mut select| select.query_row([name], |row| row.get(0)).optional())
        .or_fail("read the state of the store", path)
}

pub(super) fn set_meta(
    connection: &Connection,
    path: &Path,
    name: &str,
    value: i64,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "insert into meta (name, value) values (?1, ?2) on conflict (name) do update set value = excluded.value",
        )
        .and_then(|mut insert| insert.execute(params![name, value]))
        .or_fail("write the state of the store", path)?;
    Ok(())
}

pub(super) fn read_state(connection: &Connection, path: &Path) -> Result<State, StoreError> {
    let read = |name: &str| meta(connection, path, name);
    let moment = |name: &str, default: Moment| Ok::<_, StoreError>(read(name)?.map_or(default, Moment));
    let new = Floors::NOTHING_DROPPED;
    Ok(State {
        floors: Floors {
            raw: moment("floor_raw", new.raw)?,
            five_minutes: moment("floor_five_minutes", new.five_minutes)?,
            hour: moment("floor_hour", new.hour)?,
            day: moment("floor_day", new.day)?,
        },
        folded: read("folded")?.unwrap_or(0),
        last: read("last")?.unwrap_or(0),
        longest_ms: read("longest_ms")?.unwrap_or(0),
        closed: moment("closed", State::EMPTY.closed)?,
        epoch: read("epoch")?.unwrap_or(0),
    })
}

pub(super) fn write_state(connection: &Connection, path: &Path, state: &State) -> Result<(), StoreError> {
    for (name, value) in [
        ("floor_raw", state.floors.raw.0),
        ("floor_five_minutes", state.floors.five_minutes.0),
        ("floor_hour", state.floors.hour.0),
        ("floor_day", state.floors.day.0),
        ("folded", state.folded),
        ("last", state.last),
        ("longest_ms", state.longest_ms),
        ("closed", state.closed.0),
        ("epoch", state.epoch),
    ] {
        set_meta(connection, path, name, value)?;
    }
    Ok(())
}

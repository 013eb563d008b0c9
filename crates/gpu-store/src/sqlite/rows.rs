//! Rows of the table of intervals, written and read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use gpu_cost::{GpuTime, Moment, PriceNote, RowKey, Span};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql, params};

use super::append::read_state;
use super::failure::Failing;
use crate::codes::{basis_code, basis_of, part_code, part_of, phase_code, phase_of};
use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{Dimensions, Measures, Sums};
use crate::query::{MOST_ROWS, RowPage, RowQuery};
pub(super) use crate::stored::MEASURED;
use crate::stored::{MeasuredRow, StoredRow};

pub(super) const COLUMNS: &str = "seq, cluster, set_id, price, start_ms, end_ms, row_key, reverses, revision, part, phase, basis, \
     is_estimate, held_ms, used_ms, unmeasured_ms, list, allocated, used, unused, unmeasured";

/// The statement that writes a row, prepared once for a batch.
pub(super) struct Insert<'c>(CachedStatement<'c>);

impl<'c> Insert<'c> {
    pub(super) fn prepare(connection: &'c Connection, path: &Path) -> Result<Self, StoreError> {
        let sql = format!(
            "insert or ignore into ledger_row ({COLUMNS}) values
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)"
        );
        connection
            .prepare_cached(&sql)
            .map(Self)
            .or_fail("write a row", path)
    }

    /// Whether the row was new.
    pub(super) fn run(&mut self, row: &StoredRow, path: &Path) -> Result<bool, StoreError> {
        let [list, allocated, used, unused, unmeasured] = row.amount_columns();
        let written = self
            .0
            .execute(params![
                row.seq,
                row.cluster,
                row.set,
                row.price,
                row.start.0,
                row.end.0,
                row.key.0,
                row.reverses.map(|key| key.0),
                row.revision,
                part_code(row.part),
                phase_code(row.phase),
                basis_code(row.basis),
                row.is_estimate,
                row.time.held_ms,
                row.time.used_ms,
                row.time.unmeasured_ms,
                list,
                allocated,
                used,
                unused,
                unmeasured,
            ])
            .or_fail("write a row", path)?;
        Ok(written == 1)
    }
}

/// A row of [`COLUMNS`], before its codes are looked up.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Result<StoredRow, StoreError>> {
    let (part, phase, basis): (i16, i16, i16) = (row.get(9)?, row.get(10)?, row.get(11)?);
    let time = GpuTime {
        held_ms: row.get(13)?,
        used_ms: row.get(14)?,
        unmeasured_ms: row.get(15)?,
    };
    let amounts = [
        row.get(16)?,
        row.get(17)?,
        row.get(18)?,
        row.get(19)?,
        row.get(20)?,
    ];
    let stored = StoredRow {
        seq: row.get(0)?,
        cluster: row.get(1)?,
        set: row.get(2)?,
        price: row.get(3)?,
        start: Moment(row.get(4)?),
        end: Moment(row.get(5)?),
        key: RowKey(row.get(6)?),
        reverses: row.get::<_, Option<[u8; 16]>>(7)?.map(RowKey),
        revision: row.get(8)?,
        part: match part_of(part) {
            Ok(part) => part,
            Err(error) => return Ok(Err(error)),
        },
        phase: match phase_of(phase) {
            Ok(phase) => phase,
            Err(error) => return Ok(Err(error)),
        },
        basis: match basis_of(basis) {
            Ok(basis) => basis,
            Err(error) => return Ok(Err(error)),
        },
        time,
        amounts: StoredRow::amounts_of(amounts),
        is_estimate: row.get(12)?,
    };
    Ok(Ok(stored))
}

/// A row of [`MEASURED`], before its code is looked up.
pub(super) fn read_measured(row: &Row<'_>) -> rusqlite::Result<Result<MeasuredRow, StoreError>> {
    let measures = Measures {
        time: GpuTime {
            held_ms: row.get(7)?,
            used_ms: row.get(8)?,
            unmeasured_ms: row.get(9)?,
        },
        amounts: StoredRow::amounts_of([
            row.get(10)?,
            row.get(11)?,
            row.get(12)?,
            row.get(13)?,
            row.get(14)?,
        ]),
        is_estimate: row.get(6)?,
    };
    let (seq, cluster, set) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let span = Span::new(Moment(row.get(4)?), Moment(row.get(5)?));
    let price = row.get(15)?;
    Ok(part_of(row.get(3)?).map(|part| MeasuredRow {
        price,
        seq,
        cluster,
        set,
        part,
        span,
        measures,
    }))
}

/// The ten sums, from a column on.
pub(super) fn sums(row: &Row<'_>, first: usize) -> rusqlite::Result<Sums> {
    let mut sums = [0; 10];
    for (column, sum) in (first..).zip(&mut sums) {
        *sum = row.get(column)?;
    }
    Ok(Sums::from_array(sums))
}

pub(super) fn find(
    connection: &Connection,
    path: &Path,
    start: Moment,
    key: &RowKey,
) -> Result<Option<StoredRow>, StoreError> {
    let sql = format!("select {COLUMNS} from ledger_row where start_ms = ?1 and row_key = ?2");
    connection
        .prepare_cached(&sql)
        .and_then(|mut select| select.query_row(params![start.0, key.0], read).optional())
        .or_fail("look up a row", path)?
        .transpose()
}

/// One page of rows with all that they say.
pub(super) fn page(
    connection: &mut Connection,
    path: &Path,
    query: &RowQuery,
) -> Result<RowPage, StoreError> {
    const ACT: &str = "read rows";
    let transaction = connection.transaction().or_fail(ACT, path)?;
    let state = read_state(&transaction, path)?;
    let limit = query.limit.clamp(1, MOST_ROWS);
    let mut conditions = vec!["seq > ?"];
    let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(query.after.unwrap_or(0))];
    let mut table = "ledger_row";
    if let Some(cluster) = &query.cluster {
        conditions.push("cluster = (select id from cluster where name = ?)");
        values.push(Box::new(cluster.as_str().to_owned()));
    }
    if let Some(uid) = &query.pod_uid {
        // Hour by hour, each with a look into the index. The table of hours is the outer loop: the planner must not turn it round.
        let (first, last) = hours(&transaction, path, query, &state)?;
        table = "(with recursive hour (h) as (select ? union all select h + 1 from hour where h < ?) select h from hour)
                 cross join ledger_row on start_ms / 3600000 = h";
        conditions.push("set_id in (select id from dimension_set where pod_uid = ?)");
        values.insert(0, Box::new(last));
        values.insert(0, Box::new(first));
        values.push(Box::new(uid.clone()));
    }
    if let Some(window) = query.window {
        conditions.push("start_ms >= ? and start_ms < ? and end_ms > ?");
        let earliest = window.start.0.saturating_sub(state.longest_ms);
        values
            .extend([earliest, window.end.0, window.start.0].map(|value| Box::new(value) as Box<dyn ToSql>));
    }
    let sql = format!(
        "select {COLUMNS} from {table} where {} order by seq limit {}",
        conditions.join(" and "),
        limit + 1
    );
    let mut statement = transaction.prepare_cached(&sql).or_fail(ACT, path)?;
    let found = statement
        .query_map(rusqlite::params_from_iter(values), read)
        .or_fail(ACT, path)?;
    let mut stored = Vec::new();
    for row in found {
        stored.push(row.or_fail(ACT, path)??);
    }
    let next = (stored.len() > limit).then(|| stored[limit - 1].seq);
    stored.truncate(limit);
    let mut shared = Shared::default();
    let mut rows = Vec::with_capacity(stored.len());
    for row in &stored {
        let dimensions = shared.set(&transaction, path, row.set)?;
        let price = shared.price(&transaction, path, row.price)?;
        rows.push(row.row(&dimensions, &price));
    }
    Ok(RowPage { rows, next })
}

/// The hours in which rows of the question can start, as the index counts them.
fn hours(
    transaction: &Connection,
    path: &Path,
    query: &RowQuery,
    state: &State,
) -> Result<(i64, i64), StoreError> {
    let edge = |sql: &str| -> Result<i64, StoreError> {
        let found: Option<i64> = transaction
            .prepare_cached(sql)
            .and_then(|mut select| select.query_row([], |row| row.get(0)))
            .or_fail("read rows", path)?;
        Ok(found.unwrap_or(0))
    };
    let mut first = edge("select min(start_ms) from ledger_row")?;
    let mut last = edge("select max(start_ms) from ledger_row")?;
    if let Some(window) = query.window {
        first = first.max(window.start.0.saturating_sub(state.longest_ms));
        last = last.min(window.end.0);
    }
    let hour = gpu_cost::Grain::Hour.milliseconds();
    Ok((first.div_euclid(hour), last.div_euclid(hour)))
}

/// What the rows of a page have in common, read once.
#[derive(Default)]
pub(super) struct Shared {
    sets: HashMap<i64, Arc<Dimensions>>,
    prices: HashMap<i64, Arc<PriceNote>>,
}

impl Shared {
    pub(super) fn set(
        &mut self,
        connection: &Connection,
        path: &Path,
        id: i64,
    ) -> Result<Arc<Dimensions>, StoreError> {
        if let Some(known) = self.sets.get(&id) {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(dimensions(connection, path, id)?);
        self.sets.insert(id, Arc::clone(&read));
        Ok(read)
    }

    pub(super) fn price(
        &mut self,
        connection: &Connection,
        path: &Path,
        id: i64,
    ) -> Result<Arc<PriceNote>, StoreError> {
        if let Some(known) = self.prices.get(&id) {
            return Ok(Arc::clone(known));
        }
        let body: String = connection
            .prepare_cached("select body from price_note where id = ?1")
            .and_then(|mut select| select.query_row([id], |row| row.get(0)))
            .or_fail("read the price of a row", path)?;
        let note = serde_json::from_str(&body)
            .map_err(|error| StoreError::failed("read the price of a row", error))?;
        let read = Arc::new(note);
        self.prices.insert(id, Arc::clone(&read));
        Ok(read)
    }
}

/// The dimensions of a set.
pub(super) fn dimensions(connection: &Connection, path: &Path, id: i64) -> Result<Dimensions, StoreError> {
    const ACT: &str = "read what a row is charged to";
    let mut select = connection
        .prepare_cached("select body from dimension_set where id = ?1")
        .or_fail(ACT, path)?;
    let mut found = select.query([id]).or_fail(ACT, path)?;
    let row = found
        .next()
        .or_fail(ACT, path)?
        .ok_or_else(|| StoreError::failed(ACT, format!("set {id} is missing")))?;
    let body = row.get_ref(0).or_fail(ACT, path)?;
    let body = body.as_str().map_err(|error| StoreError::failed(ACT, error))?;
    serde_json::from_str(body).map_err(|error| StoreError::failed(ACT, error))
}

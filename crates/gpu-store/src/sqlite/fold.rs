//! Rows into roll-ups. The sums and the place up to which rows were folded change in one transaction: a row counts once.

use std::collections::HashMap;
use std::path::Path;

use gpu_cost::{Grain, Moment};
use rusqlite::{OptionalExtension, Transaction, params};

use super::append::Writer;
use super::failure::Failing;
use super::rows;
use crate::codes::{part_code, part_of};
use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{
    ANY_PRICE, Fold, FoldFrom, FoldInput, SUM_COLUMNS, SetSlice, Slice, Sums, floor, grain_code,
};
use crate::store::Progress;

/// Rows of one step: a few tenths of a second in which nothing else is written.
const ROWS_AT_ONCE: i64 = 20_000;

impl Writer {
    /// Folds the next rows.
    pub(super) fn fold_some(&mut self) -> Result<Progress, StoreError> {
        if self.state.folded >= self.state.last {
            return Ok(Progress {
                rows: 0,
                is_done: true,
            });
        }
        let folded = self.transact("fold rows", |transaction, memory, state, path| {
            let from = FoldFrom {
                floor: state.floors.raw,
                closed: state.closed,
            };
            let (last, count) = gather(transaction, path, memory.fold, state.folded, from)?;
            let folded = memory.fold.finish(from);
            write_sets(transaction, path, &folded.sets)?;
            write_slices(transaction, path, &folded.slices)?;
            close_days(transaction, path, state, folded.closes)?;
            // Nothing further was found: what was dropped in between has been folded before.
            state.folded = last.unwrap_or(state.last);
            Ok(count)
        })?;
        Ok(Progress {
            rows: folded,
            is_done: self.state.folded >= self.state.last,
        })
    }

    pub(super) fn forget_roll_ups(&mut self) -> Result<(), StoreError> {
        self.transact("forget roll-ups", |transaction, _, state, path| {
            for table in ["set_sum", "slice_sum"] {
                transaction
                    .execute(
                        &format!("delete from {table} where bucket >= ?1"),
                        [state.floors.raw.0],
                    )
                    .or_fail("forget roll-ups", path)?;
            }
            state.folded = 0;
            state.closed = state.closed.min(state.floors.raw);
            Ok(())
        })
    }
}

fn gather(
    transaction: &Transaction<'_>,
    path: &Path,
    fold: &mut Fold,
    folded: i64,
    from: FoldFrom,
) -> Result<(Option<i64>, u64), StoreError> {
    const ACT: &str = "read rows to fold";
    let mut last = None;
    let mut count = 0;
    let sql = format!(
        "select {} from ledger_row where seq > ?1 order by seq limit {ROWS_AT_ONCE}",
        rows::MEASURED
    );
    let mut select = transaction.prepare_cached(&sql).or_fail(ACT, path)?;
    let mut found = select.query([folded]).or_fail(ACT, path)?;
    while let Some(row) = found.next().or_fail(ACT, path)? {
        let row = rows::read_measured(row).or_fail(ACT, path)??;
        if !fold.knows(row.set) {
            fold.know(row.set, &rows::dimensions(transaction, path, row.set)?);
        }
        let input = FoldInput {
            cluster: row.cluster,
            set: row.set,
            part: row.part,
            price: row.price,
            span: row.span,
            measures: row.measures,
        };
        fold.add(&input, from).ok_or(StoreError::Overflow)?;
        last = Some(row.seq);
        count += 1;
        if fold.is_full() {
            break;
        }
    }
    Ok((last, count))
}

/// Sums the hours of every day before an instant up to the day.
pub(super) fn close_days(
    transaction: &Transaction<'_>,
    path: &Path,
    state: &mut State,
    until: Moment,
) -> Result<(), StoreError> {
    const ACT: &str = "close a day";
    while state.closed < until {
        let next: Option<i64> = transaction
            .prepare_cached(
                "select min(bucket) from set_sum where grain = 60 and bucket >= ?1 and bucket < ?2",
            )
            .and_then(|mut select| select.query_row([state.closed.0, until.0], |row| row.get(0)))
            .optional()
            .or_fail(ACT, path)?
            .flatten();
        let Some(next) = next else { break };
        let day = floor(Grain::Day, Moment(next));
        close_sets(transaction, path, day)?;
        close_slices(transaction, path, day)?;
        state.closed = day.plus(Grain::Day.milliseconds());
    }
    state.closed = state.closed.max(until);
    Ok(())
}

fn close_sets(transaction: &Transaction<'_>, path: &Path, day: Moment) -> Result<(), StoreError> {
    const ACT: &str = "close a day";
    let mut sums: HashMap<(i32, i64, i16), Sums> = HashMap::new();
    let sql = format!(
        "select cluster, set_id, part, {} from set_sum where grain = 60 and bucket >= ?1 and bucket < ?2",
        SUM_COLUMNS.join(", ")
    );
    let mut select = transaction.prepare_cached(&sql).or_fail(ACT, path)?;
    let mut found = select
        .query([day.0, day.0 + Grain::Day.milliseconds()])
        .or_fail(ACT, path)?;
    while let Some(row) = found.next().or_fail(ACT, path)? {
        let key = (|| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))().or_fail(ACT, path)?;
        let hour = rows::sums(row, 3).or_fail(ACT, path)?;
        sums.entry(key)
            .or_default()
            .add(&hour)
            .ok_or(StoreError::Overflow)?;
    }
    let mut days = Vec::with_capacity(sums.len());
    for ((cluster, set, part), sums) in sums {
        let key = SetSlice {
            grain: Grain::Day,
            bucket: day,
            cluster,
            set,
            part: part_of(part)?,
            price: ANY_PRICE,
        };
        days.push((key, sums));
    }
    days.sort_unstable_by_key(|(key, _)| *key);
    write_sets(transaction, path, &days)
}

/// In the database, one dimension after the other: there are many, with few values each.
fn close_slices(transaction: &Transaction<'_>, path: &Path, day: Moment) -> Result<(), StoreError> {
    let sums: Vec<String> = SUM_COLUMNS
        .iter()
        .map(|column| format!("sum({column})"))
        .collect();
    let sql = format!(
        "insert into slice_sum select 1440, dimension, ?1, cluster, value, part, {} from slice_sum
         where grain = 60 and dimension = ?3 and bucket >= ?1 and bucket < ?2 group by cluster, value, part",
        sums.join(", ")
    );
    let mut insert = transaction.prepare_cached(&sql).or_fail("close a day", path)?;
    for dimension in crate::ledger::Dimension::codes() {
        insert
            .execute(params![day.0, day.0 + Grain::Day.milliseconds(), dimension])
            .or_fail("close a day", path)?;
    }
    Ok(())
}

/// What both upserts do with sums that are there already.
pub(crate) const ADD: &str = "do update set held_ms = held_ms + excluded.held_ms, used_ms = used_ms + excluded.used_ms, \
     unmeasured_ms = unmeasured_ms + excluded.unmeasured_ms, unpriced_ms = unpriced_ms + excluded.unpriced_ms, \
     list = list + excluded.list, allocated = allocated + excluded.allocated, used = used + excluded.used, \
     unused = unused + excluded.unused, unmeasured = unmeasured + excluded.unmeasured, \
     estimated = estimated + excluded.estimated";

pub(super) fn write_sets(
    transaction: &Transaction<'_>,
    path: &Path,
    sums: &[(SetSlice, Sums)],
) -> Result<(), StoreError> {
    const ACT: &str = "write roll-ups";
    let sql = format!(
        "insert into set_sum values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
         on conflict (grain, bucket, cluster, set_id, part, price) {ADD}"
    );
    let mut insert = transaction.prepare_cached(&sql).or_fail(ACT, path)?;
    for (key, sums) in sums {
        let [a, b, c, d, e, f, g, h, i, j] = sums.to_array();
        let part = part_code(key.part);
        insert
            .execute(params![
                grain_code(key.grain),
                key.bucket.0,
                key.cluster,
                key.set,
                part,
                a,
                b,
                c,
                d,
                e,
                f,
                g,
                h,
                i,
                j,
                key.price
            ])
            .or_fail(ACT, path)?;
    }
    Ok(())
}

pub(super) fn write_slices(
    transaction: &Transaction<'_>,
    path: &Path,
    sums: &[(Slice, Sums)],
) -> Result<(), StoreError> {
    const ACT: &str = "write roll-ups";
    let sql = format!(
        "insert into slice_sum values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
         on conflict (grain, dimension, bucket, cluster, value, part) {ADD}"
    );
    let mut insert = transaction.prepare_cached(&sql).or_fail(ACT, path)?;
    for (key, sums) in sums {
        let [a, b, c, d, e, f, g, h, i, j] = sums.to_array();
        let (grain, part) = (grain_code(key.grain), part_code(key.part));
        insert
            .execute(params![
                grain,
                key.dimension,
                key.bucket.0,
                key.cluster,
                &*key.value,
                part,
                a,
                b,
                c,
                d,
                e,
                f,
                g,
                h,
                i,
                j
            ])
            .or_fail(ACT, path)?;
    }
    Ok(())
}

//! Rows into roll-ups. The sums and the place up to which rows were folded change in one transaction: a row counts once.

use std::path::Path;

use rusqlite::{Transaction, params};

use super::append::Writer;
use super::failure::Failing;
use super::rows;
use crate::codes::part_code;
use crate::error::StoreError;
use crate::ledger::{Fold, FoldInput, Folded, SetSlice, Slice, Sums, grain_code};
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
        let folded = self.transact("fold rows", |transaction, _, state, path| {
            let (fold, last, count) = gather(transaction, path, state.folded, state.floors.raw)?;
            let Folded { sets, slices } = fold.finish();
            write_sets(transaction, path, &sets)?;
            write_slices(transaction, path, &slices)?;
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
            Ok(())
        })
    }
}

fn gather(
    transaction: &Transaction<'_>,
    path: &Path,
    folded: i64,
    from: gpu_cost::Moment,
) -> Result<(Fold, Option<i64>, u64), StoreError> {
    const ACT: &str = "read rows to fold";
    let mut fold = Fold::from(from);
    let mut last = None;
    let mut count = 0;
    let sql = format!(
        "select {} from ledger_row where seq > ?1 order by seq limit {ROWS_AT_ONCE}",
        rows::COLUMNS
    );
    let mut select = transaction.prepare_cached(&sql).or_fail(ACT, path)?;
    let found = select.query_map([folded], rows::read).or_fail(ACT, path)?;
    for row in found {
        let row = row.or_fail(ACT, path)??;
        if !fold.knows(row.set) {
            fold.know(row.set, &rows::dimensions(transaction, path, row.set)?);
        }
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
    Ok((fold, last, count))
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
        "insert into set_sum values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
         on conflict (grain, bucket, cluster, set_id, part) {ADD}"
    );
    let mut insert = transaction.prepare_cached(&sql).or_fail(ACT, path)?;
    let mut touch = transaction
        .prepare_cached("update dimension_set set last_day = ?2 where id = ?1 and last_day < ?2")
        .or_fail(ACT, path)?;
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
                j
            ])
            .or_fail(ACT, path)?;
        if key.grain == gpu_cost::Grain::Day {
            touch.execute(params![key.set, key.bucket.0]).or_fail(ACT, path)?;
        }
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

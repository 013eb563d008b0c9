//! Dropping what is older than it has to be kept, a bounded piece at a time.

use gpu_cost::{Grain, Moment};
use rusqlite::{Connection, Transaction, params};

use super::append::Writer;
use super::failure::Failing;
use super::fold;
use crate::error::StoreError;
use crate::ledger::{Dimension, grain_code};
use crate::record::RecordKind;
use crate::retention::{Floors, Retention};
use crate::store::Progress;

/// Rows of one step: about a tenth of a second in which nothing else is written.
const ROWS_AT_ONCE: i64 = 10_000;
/// Pages given back to the file system in a step.
const PAGES_AT_ONCE: i64 = 2_000;
/// One in so many pages may be free: a ledger that drops a day every day needs that day's room again.
const KEPT_FREE: i64 = 8;

const OLD_SETS: &str =
    "delete from dimension_set where id in (select id from dimension_set where last_day < ?1 limit ?2)";

impl Writer {
    pub(super) fn retain(&mut self, retention: Retention, now: Moment) -> Result<Progress, StoreError> {
        let retention = retention.checked()?;
        // Sums are made of rows while these are there.
        let folded = self.fold_some()?;
        if !folded.is_done {
            return Ok(folded);
        }
        let dropped = self.transact("drop old rows", |transaction, _, state, path| {
            // Floors rise before anything is dropped: no answer may rest on half of a bucket.
            state.floors = state.floors.raised_to(retention.floors(now));
            // Days whose rows go are never folded again; their hours make them up while they are there.
            fold::close_days(transaction, path, state, state.floors.raw)?;
            let mut dropped = 0;
            for (sql, bound) in deletions(&retention, &state.floors, now) {
                dropped += delete(transaction, path, &sql, bound)?;
            }
            if dropped == 0 {
                // Last of all, because it reads all sets. The number of a set that was dropped may be given to another.
                dropped = delete(transaction, path, OLD_SETS, state.floors.day)?;
                state.epoch += i64::from(dropped > 0);
            }
            Ok(dropped)
        })?;
        if dropped > 0 {
            self.forget_known();
        }
        if dropped > 0 {
            return Ok(Progress {
                rows: dropped,
                is_done: false,
            });
        }
        self.give_room_back()
    }

    /// Gives pages back to the file system once nothing is left to drop; some are kept for the rows of the next days.
    fn give_room_back(&mut self) -> Result<Progress, StoreError> {
        const ACT: &str = "give room back";
        let count = |connection: &Connection, name: &str| -> Result<i64, StoreError> {
            connection
                .pragma_query_value(None, name, |row| row.get(0))
                .or_fail(ACT, &self.path)
        };
        let free = count(&self.connection, "freelist_count")?;
        let kept = count(&self.connection, "page_count")? / KEPT_FREE;
        if free > kept {
            // It moves a page with each step of the statement.
            let pages = (free - kept).min(PAGES_AT_ONCE);
            let sql = format!("pragma incremental_vacuum({pages})");
            let mut vacuum = self.connection.prepare(&sql).or_fail(ACT, &self.path)?;
            let mut steps = vacuum.query([]).or_fail(ACT, &self.path)?;
            while steps.next().or_fail(ACT, &self.path)?.is_some() {}
        }
        Ok(Progress {
            rows: 0,
            is_done: free - kept <= PAGES_AT_ONCE,
        })
    }
}

fn delete(
    transaction: &Transaction<'_>,
    path: &std::path::Path,
    sql: &str,
    bound: Moment,
) -> Result<u64, StoreError> {
    let count = transaction
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params![bound.0, ROWS_AT_ONCE]))
        .or_fail("drop old rows", path)?;
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}

/// What is deleted: a statement with a bound and a limit, and the bound.
fn deletions(retention: &Retention, floors: &Floors, now: Moment) -> Vec<(String, Moment)> {
    let mut all = vec![(
        "delete from ledger_row where seq in
         (select seq from ledger_row where start_ms < ?1 and end_ms <= ?1 limit ?2)"
            .to_owned(),
        floors.raw,
    )];
    for grain in Grain::ALL {
        let code = grain_code(grain);
        let floor = floors.of(Some(grain));
        all.push((
            format!(
                "delete from set_sum where (grain, bucket, cluster, set_id, part, price) in
                 (select grain, bucket, cluster, set_id, part, price from set_sum where grain = {code} and bucket < ?1 limit ?2)"
            ),
            floor,
        ));
        // Dimension by dimension, so that the oldest of each are found by the key and not by reading everything.
        for dimension in Dimension::codes() {
            all.push((
                format!(
                    "delete from slice_sum where (grain, dimension, bucket, cluster, value, part) in
                     (select grain, dimension, bucket, cluster, value, part from slice_sum
                      where grain = {code} and dimension = {dimension} and bucket < ?1 limit ?2)"
                ),
                floor,
            ));
        }
    }
    let days = |days: u16| now.plus(-Grain::Day.milliseconds() * i64::from(days));
    let record = |condition: &str, kind: RecordKind| {
        format!(
            "delete from record where rowid in (select rowid from record where kind = {} and {condition} limit ?2)",
            kind.code()
        )
    };
    all.extend([
        (
            record("at_ms < ?1", RecordKind::Decision),
            days(retention.decision_days),
        ),
        (
            record("at_ms < ?1", RecordKind::Usage),
            days(retention.usage_days),
        ),
        (
            record("is_open = 0 and at_ms < ?1", RecordKind::Intent),
            days(retention.decision_days),
        ),
        (
            record("is_open = 0 and at_ms < ?1", RecordKind::Opening),
            floors.raw,
        ),
        (record("until_ms < ?1", RecordKind::Refusal), now),
        (record("until_ms < ?1", RecordKind::Price), floors.day),
        (record("until_ms < ?1", RecordKind::Memory), now),
        (record("at_ms < ?1", RecordKind::Saving), floors.day),
        (
            // Sums of hours name prices. A row may start on the day before the floor and end after it.
            "delete from price_note where id in (select id from price_note where last_day < ?1 limit ?2)"
                .to_owned(),
            floors.hour.plus(-Grain::Day.milliseconds()),
        ),
    ]);
    all
}

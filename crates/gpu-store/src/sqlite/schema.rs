//! Tables of the embedded store and the way from each version to the next.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::failure::Failing;
use crate::error::StoreError;

/// `GPUS`: tells our files from other people's.
const APPLICATION_ID: i64 = 0x4750_5553;

/// Above this a full look at every page takes seconds, and is taken only when the last process did not close the file.
const ALWAYS_CHECKED_BYTES: u64 = 256 * 1024 * 1024;

/// The steps, in order. A step that was released is never changed.
const MIGRATIONS: &[&str] = &[V1, V2, V3];

const V1: &str = "
create table meta (name text primary key, value integer not null) strict, without rowid;
create table cluster (id integer primary key, name text not null unique) strict;
create table price_note (
    id integer primary key, digest blob not null unique, last_day integer not null, body text not null
) strict;
create table dimension_set (
    id integer primary key, digest blob not null unique, cluster integer not null, pod_uid text,
    last_day integer not null, body text not null
) strict;
create index dimension_set_pod on dimension_set (pod_uid) where pod_uid is not null;
create table ledger_row (
    seq integer primary key, cluster integer not null, set_id integer not null, price integer not null,
    start_ms integer not null, end_ms integer not null, row_key blob not null, reverses blob, revision integer not null,
    part integer not null, phase integer not null, basis integer not null, is_estimate integer not null,
    held_ms integer not null, used_ms integer not null, unmeasured_ms integer not null,
    list integer, allocated integer, used integer, unused integer, unmeasured integer
) strict;
create unique index ledger_row_key on ledger_row (start_ms, row_key);
create unique index ledger_row_reverses on ledger_row (start_ms, reverses) where reverses is not null;
create index ledger_row_set on ledger_row (set_id, start_ms);
create table set_sum (
    grain integer not null, bucket integer not null, cluster integer not null, set_id integer not null, part integer not null,
    held_ms integer not null, used_ms integer not null, unmeasured_ms integer not null, unpriced_ms integer not null,
    list integer not null, allocated integer not null, used integer not null, unused integer not null,
    unmeasured integer not null, estimated integer not null,
    primary key (grain, bucket, cluster, set_id, part)
) strict, without rowid;
create table slice_sum (
    grain integer not null, dimension integer not null, bucket integer not null, cluster integer not null,
    value text not null, part integer not null,
    held_ms integer not null, used_ms integer not null, unmeasured_ms integer not null, unpriced_ms integer not null,
    list integer not null, allocated integer not null, used integer not null, unused integer not null,
    unmeasured integer not null, estimated integer not null,
    primary key (grain, dimension, bucket, cluster, value, part)
) strict, without rowid;
create table record (
    kind integer not null, cluster integer not null, key text not null, at_ms integer not null, subject text not null,
    is_open integer not null, until_ms integer, body text not null
) strict;
create unique index record_key on record (kind, cluster, key);
create index record_at on record (kind, at_ms, cluster, key);
create index record_subject on record (kind, subject, at_ms);
";

/// Open records are found without reading those that were closed.
const V2: &str = "
create index record_open on record (kind, at_ms) where is_open = 1;
";

/// Rows of a pod are found hour by hour: rows of one instant lie side by side in this index, where an index by pod would touch a page
/// for each row. Sets of a namespace are found without reading all sets. Days are closed from their hours; those of older
/// programs all are. The last day of a set is noted when rows are written, no longer when they are folded.
/// Sums of hours are kept by price, so that bills can be made of them.
const V3: &str = "
update dimension_set as d set last_day = n.day
    from (select set_id, max((end_ms - 1) / 86400000 * 86400000) as day from ledger_row
          where seq > coalesce((select value from meta where name = 'folded'), 0) group by set_id) as n
    where d.id = n.set_id and d.last_day < n.day;
drop index ledger_row_set;
create index ledger_row_hour on ledger_row (start_ms / 3600000, set_id);
create index dimension_set_namespace on dimension_set (json_extract(body, '$.holder.namespace'));
create table priced_sum (
    grain integer not null, bucket integer not null, cluster integer not null, set_id integer not null, part integer not null,
    held_ms integer not null, used_ms integer not null, unmeasured_ms integer not null, unpriced_ms integer not null,
    list integer not null, allocated integer not null, used integer not null, unused integer not null,
    unmeasured integer not null, estimated integer not null, price integer not null,
    primary key (grain, bucket, cluster, set_id, part, price)
) strict, without rowid;
insert into priced_sum select *, 0 from set_sum;
drop table set_sum;
alter table priced_sum rename to set_sum;
insert into meta select 'closed', max(bucket) + 86400000 from set_sum where grain = 1440 having max(bucket) is not null;
";

/// The version that this program writes.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Looks at the file, refuses what cannot be used, and brings the rest to the newest version.
pub(super) fn check_and_migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let is_new = is_empty(connection, path)?;
    if is_new {
        // Both stay with the file. Pages as large as those of the file system, and room given back when rows are dropped.
        connection
            .execute_batch("pragma page_size = 4096; pragma auto_vacuum = incremental;")
            .or_fail("prepare the file", path)?;
        connection
            .pragma_update(None, "application_id", APPLICATION_ID)
            .or_fail("prepare the file", path)?;
    } else {
        let id: i64 = pragma(connection, path, "application_id")?;
        if id != APPLICATION_ID {
            return Err(StoreError::NotAStore {
                path: path.to_owned(),
            });
        }
    }
    let mode: String = connection
        .query_row("pragma journal_mode = wal", [], |row| row.get(0))
        .or_fail("switch to a write-ahead log", path)?;
    if mode != "wal" {
        return Err(StoreError::failed(
            "switch to a write-ahead log",
            "the file system cannot share memory between connections: use a local disk",
        ));
    }
    set_up_writing(connection, path)?;
    let found: i64 = pragma(connection, path, "user_version")?;
    if found > newest() {
        return Err(StoreError::NewerSchema {
            found,
            known: newest(),
        });
    }
    if !is_new {
        check_pages(connection, path)?;
    }
    migrate_to(connection, path, newest())?;
    mark_open(connection, path)
}

fn set_up_writing(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    // Full: what was acknowledged is on the disk, not only on its way.
    for (name, value) in [
        ("synchronous", 2),
        ("wal_autocheckpoint", super::CHECKPOINT_PAGES),
        // A log that grew during a large write is cut back to this many bytes.
        ("journal_size_limit", 64 * 1024 * 1024),
    ] {
        // Some of these answer with a row, which `pragma_update` would call an error.
        connection
            .query_row(&format!("pragma {name} = {value}"), [], |_| Ok(()))
            .optional()
            .or_fail("set up the store", path)?;
    }
    Ok(())
}

/// Runs the steps up to a version, each in a transaction with its number.
pub(super) fn migrate_to(connection: &mut Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let found: i64 = pragma(connection, path, "user_version")?;
    for (step, sql) in (1..=version).zip(MIGRATIONS) {
        if step <= found {
            continue;
        }
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .or_fail("migrate the store", path)?;
        transaction
            .execute_batch(sql)
            .or_fail("migrate the store", path)?;
        transaction
            .pragma_update(None, "user_version", step)
            .or_fail("migrate the store", path)?;
        transaction.commit().or_fail("migrate the store", path)?;
        tracing::info!(schema = step, "migrated the store");
    }
    Ok(())
}

fn is_empty(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let tables: i64 = connection
        .query_row("select count(*) from sqlite_schema", [], |row| row.get(0))
        .or_fail("read the store", path)?;
    Ok(tables == 0)
}

fn check_pages(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let size = std::fs::metadata(path).map_or(0, |file| file.len());
    let was_closed = super::append::meta(connection, path, "is_open")?.unwrap_or(0) == 0;
    if was_closed && size > ALWAYS_CHECKED_BYTES {
        return Ok(());
    }
    let found: String = connection
        .query_row("pragma quick_check(1)", [], |row| row.get(0))
        .or_fail("check the store", path)?;
    if found == "ok" {
        return Ok(());
    }
    Err(StoreError::Damaged {
        path: path.to_owned(),
        detail: found.lines().last().unwrap_or_default().to_owned(),
    })
}

/// Notes that the file is in use; a process that ends in order takes the note away.
fn mark_open(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    super::append::set_meta(connection, path, "is_open", 1)
}

fn pragma<T: rusqlite::types::FromSql>(
    connection: &Connection,
    path: &Path,
    name: &str,
) -> Result<T, StoreError> {
    connection
        .pragma_query_value(None, name, |row| row.get(0))
        .or_fail("read the store", path)
}

//! Versions of the file: from the first to the newest, and none from the future.

use rusqlite::Connection;
use tempfile::TempDir;

use super::schema::{migrate_to, newest};
use super::{SqliteStore, WRITER_CACHE_KIB, connect};
use crate::error::StoreError;

fn version(path: &std::path::Path) -> i64 {
    Connection::open(path)
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

#[test]
fn the_first_version_is_migrated_and_keeps_what_it_holds() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("old.db");
    let mut connection = connect(&path, WRITER_CACHE_KIB).unwrap();
    connection
        .pragma_update(None, "application_id", 0x4750_5553)
        .unwrap();
    migrate_to(&mut connection, &path, 1).unwrap();
    connection
        .execute_batch(
            "insert into cluster values (1, 'blue'); insert into meta values ('longest_ms', 7);
             insert into record values (4, 1, 'intent', 5, 'group/a', 1, null, '{}');
             insert into set_sum values (1440, 86400000, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
             insert into slice_sum values (1440, 0, 86400000, 1, 'blue', 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
        )
        .unwrap();
    drop(connection);
    assert_eq!(version(&path), 1);
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(version(&path), newest());
    let connection = Connection::open(&path).unwrap();
    let kept: (String, i64) = connection
        .query_row(
            "select c.name, r.at_ms from record r join cluster c on c.id = r.cluster",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(kept, ("blue".to_owned(), 5));
    // Days that have sums count as closed; what comes later for them is added.
    let closed: (i64, i64) = connection
        .query_row(
            "select m.value, s.estimated from meta m, set_sum s where m.name = 'closed' and s.price = 0",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(closed, (172_800_000, 10));
    // Opening it again changes nothing.
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(version(&path), newest());
}

#[test]
fn a_file_of_a_later_program_is_refused_untouched() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("new.db");
    drop(SqliteStore::open(&path).unwrap());
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", newest() + 5)
        .unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::NewerSchema { .. }), "{error}");
    assert!(error.to_string().contains("run the newer program"), "{error}");
    assert_eq!(version(&path), newest() + 5);
}

#[test]
fn a_database_of_somebody_else_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("other.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("create table theirs (a)")
        .unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
}

//! The embedded store: one file, one process, one thread that writes and one that reads.
//!
//! SQLite runs in WAL mode with full synchronisation: what was acknowledged survives a crash of the process and of the machine. Calls
//! reach the threads through bounded queues, so that a slow disk slows its callers down instead of filling memory.

mod append;
mod failure;
mod files;
mod fold;
mod lock;
mod moving;
mod read;
mod records;
mod retain;
mod rows;
mod schema;
mod set_sums;
mod threads;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use gpu_cost::Moment;
use rusqlite::{Connection, OpenFlags};

pub use files::{backup, restore};

use crate::dump::{Line, LineReceiver, Target};
use crate::error::StoreError;
use crate::ledger::Catalog;
use crate::query::{CostAnswer, CostQuery, RowPage, RowQuery, SumPage, SumQuery};
use crate::record::{RecordPage, RecordQuery};
use crate::retention::Retention;
use crate::store::{Answer, Appended, Batch, Facts, Progress, Store, Totals};
use append::Writer;
use failure::Failing;
use lock::Lock;
use read::Reader;
use threads::Worker;

/// Another connection of this process holds the file for milliseconds; this is for a disk that stands still for a while.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Pages that a connection keeps: 64 MiB for the writer, whose indexes are touched all over; negative means KiB.
const WRITER_CACHE_KIB: i64 = -65_536;
const READER_CACHE_KIB: i64 = -16_384;
/// The log is folded back into the file after this many pages (16 MiB): small enough to read past, large enough to write in one go.
const CHECKPOINT_PAGES: i64 = 4_096;

/// What can be chosen about a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct SqliteOptions {
    /// The file may not grow beyond this many pages of 4 KiB; none leaves it to the disk.
    pub most_pages: Option<u32>,
}

/// A store in a file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    writer: Worker<Writer>,
    reader: Worker<Reader>,
}

impl SqliteStore {
    /// Opens the file, or makes it. Refuses a file that another process holds, that is damaged, or that a later program wrote.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default())
    }

    pub fn open_with(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let lock = Lock::take(path)?;
        let mut connection = connect(path, WRITER_CACHE_KIB)?;
        schema::check_and_migrate(&mut connection, path)?;
        if let Some(pages) = options.most_pages {
            connection
                .pragma_update(None, "max_page_count", pages)
                .or_fail("bound the file", path)?;
        }
        let reader = connect(path, READER_CACHE_KIB)?;
        reader
            .pragma_update(None, "query_only", true)
            .or_fail("open the file for reading", path)?;
        let writer = Writer::new(connection, path, lock)?;
        Ok(Self {
            path: path.to_owned(),
            writer: Worker::start("store-writer", writer)?,
            reader: Worker::start(
                "store-reader",
                Reader {
                    connection: reader,
                    catalog: Catalog::default(),
                },
            )?,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A connection with the settings that every connection needs.
fn connect(path: &Path, cache_kib: i64) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).or_fail("open the store", path)?;
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .or_fail("set a waiting time", path)?;
    // More than the statements of retention, which come round again and again.
    connection.set_prepared_statement_cache_capacity(192);
    let set = |name: &str, value: &dyn rusqlite::ToSql| connection.pragma_update(None, name, value);
    set("cache_size", &cache_kib).or_fail("set up the store", path)?;
    set("foreign_keys", &false).or_fail("set up the store", path)?;
    set("trusted_schema", &false).or_fail("set up the store", path)?;
    Ok(connection)
}

impl Store for SqliteStore {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        self.writer.ask(move |writer| writer.append(&batch))
    }

    fn cost(&self, query: CostQuery) -> Answer<'_, CostAnswer> {
        let path = self.path.clone();
        self.reader.ask(move |reader| read::cost(reader, &path, &query))
    }

    fn rows(&self, query: RowQuery) -> Answer<'_, RowPage> {
        let path = self.path.clone();
        self.reader
            .ask(move |reader| rows::page(&mut reader.connection, &path, &query))
    }

    fn sums(&self, query: SumQuery) -> Answer<'_, SumPage> {
        let path = self.path.clone();
        self.reader
            .ask(move |reader| set_sums::page(&mut reader.connection, &path, &query))
    }

    fn records(&self, query: RecordQuery) -> Answer<'_, RecordPage> {
        let path = self.path.clone();
        self.reader
            .ask(move |reader| records::page(&mut reader.connection, &path, &query))
    }

    fn roll_up(&self) -> Answer<'_, Progress> {
        self.writer.ask(Writer::fold_some)
    }

    fn forget_roll_ups(&self) -> Answer<'_, ()> {
        self.writer.ask(Writer::forget_roll_ups)
    }

    fn retain(&self, retention: Retention, now: Moment) -> Answer<'_, Progress> {
        self.writer.ask(move |writer| writer.retain(retention, now))
    }

    fn facts(&self) -> Answer<'_, Facts> {
        let path = self.path.clone();
        self.reader
            .ask(move |reader| read::facts(&mut reader.connection, &path))
    }

    fn totals(&self) -> Answer<'_, Totals> {
        let path = self.path.clone();
        self.reader
            .ask(move |reader| read::totals(&mut reader.connection, &path))
    }

    fn dump(&self) -> Answer<'_, LineReceiver> {
        let path = self.path.clone();
        Box::pin(async move { moving::dump(&path) })
    }

    fn begin_load(&self, target: Target) -> Answer<'_, ()> {
        self.writer.ask(move |writer| writer.begin_load(target))
    }

    fn load(&self, lines: Vec<Line>) -> Answer<'_, ()> {
        self.writer.ask(move |writer| writer.load(&lines))
    }

    fn end_load(&self) -> Answer<'_, ()> {
        self.writer.ask(Writer::end_load)
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            self.reader.stop().await;
            self.writer.stop().await;
            Ok(())
        })
    }
}

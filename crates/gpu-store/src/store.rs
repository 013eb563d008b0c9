//! What a program can ask of a store, whichever it is.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use gpu_cost::{LedgerRow, Moment};
use serde::{Deserialize, Serialize};

use crate::address::StoreAddress;
use crate::dump::{Line, LineReceiver, Target};
use crate::error::StoreError;
use crate::ledger::Sums;
use crate::query::{CostAnswer, CostQuery, RowPage, RowQuery, SumPage, SumQuery};
use crate::record::{Record, RecordKind, RecordPage, RecordQuery};
use crate::retention::{Floors, Retention};

pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// What one call writes at most: a tick of a hundred thousand pods. A batch is one transaction, and waits in memory.
pub const MOST_ROWS_AT_ONCE: usize = 100_000;

/// Things that are written together or not at all.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub rows: Vec<LedgerRow>,
    /// New records. One that is there already with the same content is left alone; with another content it is refused.
    pub records: Vec<Record>,
    /// Records that take the place of what is there: the next state of an open interval, an intent or a refusal.
    pub replacements: Vec<Record>,
}

/// What a batch did. A batch that is written a second time changes nothing, and says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    pub rows_written: usize,
    pub rows_known: usize,
    pub records_written: usize,
    pub records_known: usize,
}

/// How far work went that is done in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows folded, rebuilt or dropped by this step.
    pub rows: u64,
    pub is_done: bool,
}

/// What a store says of itself, for `doctor` and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// `sqlite` or `postgres`.
    pub kind: &'static str,
    /// Version of the database and of what it brings along.
    pub version: String,
    pub schema: i64,
    pub bytes: Option<u64>,
    pub floors: Floors,
    /// Rows that are not yet part of roll-ups; answers add them from the rows.
    pub unfolded: u64,
}

/// Counts and sums of everything, to prove that two stores hold the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub rows: u64,
    pub row_sums: Sums,
    pub sets: u64,
    pub set_slices: u64,
    pub slices: u64,
    /// The sums over all roll-ups of all grains and dimensions. They have no meaning but to be the same.
    pub slice_sums: Sums,
    pub records: BTreeMap<RecordKind, u64>,
}

/// A store of ledger, roll-ups and records. Every call is safe to repeat: after an error that says "again", and after a crash.
pub trait Store: Send + Sync + 'static {
    /// Writes a batch. When it returns, the batch survives a crash.
    fn append(&self, batch: Batch) -> Answer<'_, Appended>;

    /// Costs over a window, from the coarsest roll-ups that are exact for it. Rows that are not folded yet are part of the answer.
    fn cost(&self, query: CostQuery) -> Answer<'_, CostAnswer>;

    /// Rows themselves.
    fn rows(&self, query: RowQuery) -> Answer<'_, RowPage>;

    /// Sums of whole sets of dimensions, bucket by bucket.
    fn sums(&self, query: SumQuery) -> Answer<'_, SumPage>;

    /// Records of one kind.
    fn records(&self, query: RecordQuery) -> Answer<'_, RecordPage>;

    /// Folds some more rows into the roll-ups. Call it until it is done.
    fn roll_up(&self) -> Answer<'_, Progress>;

    /// Throws away the roll-ups of all time whose rows are still there; `roll_up` makes them anew. Answers stay right meanwhile.
    fn forget_roll_ups(&self) -> Answer<'_, ()>;

    /// Drops some of what is older than it has to be kept. Call it until it is done.
    fn retain(&self, retention: Retention, now: Moment) -> Answer<'_, Progress>;

    fn facts(&self) -> Answer<'_, Facts>;

    fn totals(&self) -> Answer<'_, Totals>;

    /// Reads the whole store as it is at one instant, while others write.
    fn dump(&self) -> Answer<'_, LineReceiver>;

    /// Makes the store ready to be filled from a dump.
    fn begin_load(&self, target: Target) -> Answer<'_, ()>;

    /// Writes lines of a dump.
    fn load(&self, lines: Vec<Line>) -> Answer<'_, ()>;

    /// Opens the filled store for use.
    fn end_load(&self) -> Answer<'_, ()>;

    /// Waits for what was asked, and lets the database go.
    fn close(&self) -> Answer<'_, ()>;
}

/// Opens the store of an address, and makes or migrates it where that is due.
pub async fn open(address: &StoreAddress) -> Result<std::sync::Arc<dyn Store>, StoreError> {
    match address {
        #[cfg(feature = "sqlite")]
        StoreAddress::Sqlite(path) => {
            let path = path.clone();
            let opened = tokio::task::spawn_blocking(move || crate::sqlite::SqliteStore::open(&path)).await;
            let store = opened.map_err(|error| StoreError::failed("open the store", error))??;
            Ok(std::sync::Arc::new(store))
        }
        #[cfg(not(feature = "sqlite"))]
        StoreAddress::Sqlite(_) => Err(StoreError::failed(
            "open the store",
            "this program was built without SQLite: name a PostgreSQL database",
        )),
        #[cfg(feature = "postgres")]
        StoreAddress::Postgres(url) => {
            let store =
                crate::postgres::PostgresStore::open(url, &crate::postgres::Limits::default()).await?;
            Ok(std::sync::Arc::new(store))
        }
        #[cfg(not(feature = "postgres"))]
        StoreAddress::Postgres(_) => Err(StoreError::failed(
            "open the store",
            "this program was built without PostgreSQL: name a file as `sqlite:PATH`",
        )),
    }
}

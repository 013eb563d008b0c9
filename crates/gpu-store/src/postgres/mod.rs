//! The shared store: PostgreSQL for two and more replicas, with native partitions by day, or TimescaleDB's chunks where the extension is
//! there.
//!
//! Writers of all replicas take turns under one lock of the database, so that rows are numbered in the order in which they become
//! visible. A lost connection is opened again, and what was asked is asked again: every call may be repeated.

mod append;
mod fold;
mod known;
mod layout;
mod moving;
mod pool;
mod read;
mod records;
mod retain;
mod rows;
mod schema;
mod set_sums;
mod timescale;
mod tls;
mod url;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use gpu_cost::Moment;
use tokio::sync::Mutex;
use tokio_postgres::Client;

use crate::address::PostgresUrl;
use crate::dump::{Line, LineReceiver, Target};
use crate::error::StoreError;
use crate::ledger::Catalog;
use crate::query::{CostAnswer, CostQuery, RowPage, RowQuery, SumPage, SumQuery};
use crate::record::{RecordPage, RecordQuery};
use crate::retention::Retention;
use crate::store::{Answer, Appended, Batch, Facts, MOST_ROWS_AT_ONCE, Progress, Store, Totals};
use known::Known;
use pool::Pool;

/// What a store may take of the server, and how long it waits for it.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at the same time: one writes, the others read.
    pub connections: usize,
    pub connect_within: Duration,
    /// The server ends a statement that takes longer.
    pub statement_within: Duration,
    /// A call gives up when the server has not come back by then. A restart takes seconds, a failover a minute.
    pub give_up_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4,
            connect_within: Duration::from_secs(10),
            statement_within: Duration::from_secs(60),
            give_up_after: Duration::from_secs(120),
        }
    }
}

/// A store on a server.
#[derive(Debug)]
pub struct PostgresStore {
    pool: Arc<Pool>,
    /// Held by whoever writes: this process takes its turn as one.
    writing: Arc<Mutex<Known>>,
    /// Sets that questions have met.
    catalog: Arc<std::sync::Mutex<Catalog>>,
}

impl PostgresStore {
    /// Connects, and makes or migrates the tables.
    pub async fn open(url: &PostgresUrl, limits: &Limits) -> Result<Self, StoreError> {
        let pool = Arc::new(Pool::new(url, *limits)?);
        pool.run(|client| Box::pin(schema::migrate(client))).await?;
        Ok(Self {
            pool,
            writing: Arc::default(),
            catalog: Arc::default(),
        })
    }

    /// Reads: any connection, again after it was lost.
    fn reads<T: Send + 'static>(
        &self,
        work: impl for<'a> Fn(&'a mut Client) -> BoxFuture<'a, Result<T, StoreError>> + Send + Sync + 'static,
    ) -> Answer<'_, T> {
        Box::pin(async move { self.pool.run(work).await })
    }

    /// Writes: one after the other, and nothing that was remembered is believed after a failure.
    fn writes<T: Send + 'static>(
        &self,
        work: impl for<'a> Fn(&'a mut Client, Guard) -> BoxFuture<'a, Result<T, StoreError>>
        + Send
        + Sync
        + 'static,
    ) -> Answer<'_, T> {
        Box::pin(async move {
            let writing = Arc::clone(&self.writing);
            let turn = Arc::new(Mutex::new(writing.lock_owned().await));
            self.pool
                .run(move |client| {
                    let (done, turn) = (work(client, Arc::clone(&turn)), Arc::clone(&turn));
                    Box::pin(async move {
                        let result = done.await;
                        // Before it is tried again: what was learnt in a transaction that was lost is lost with it.
                        if result.is_err() {
                            **turn.lock().await = Known::default();
                        }
                        result
                    })
                })
                .await
        })
    }
}

/// The turn to write, with what is remembered from earlier turns.
type Guard = Arc<Mutex<tokio::sync::OwnedMutexGuard<Known>>>;

impl Store for PostgresStore {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        if batch.rows.len() > MOST_ROWS_AT_ONCE {
            let count = batch.rows.len();
            return Box::pin(async move {
                Err(StoreError::BatchTooLarge {
                    count,
                    most: MOST_ROWS_AT_ONCE,
                })
            });
        }
        let batch = Arc::new(batch);
        self.writes(move |client, turn| {
            let batch = Arc::clone(&batch);
            Box::pin(async move { append::append(client, &mut **turn.lock().await, &batch).await })
        })
    }

    fn cost(&self, query: CostQuery) -> Answer<'_, CostAnswer> {
        let query = Arc::new(query);
        let catalog = Arc::clone(&self.catalog);
        self.reads(move |client| {
            let (query, catalog) = (Arc::clone(&query), Arc::clone(&catalog));
            Box::pin(async move { read::cost(client, &catalog, &query).await })
        })
    }

    fn rows(&self, query: RowQuery) -> Answer<'_, RowPage> {
        let query = Arc::new(query);
        self.reads(move |client| {
            let query = Arc::clone(&query);
            Box::pin(async move { rows::page(client, &query).await })
        })
    }

    fn sums(&self, query: SumQuery) -> Answer<'_, SumPage> {
        let query = Arc::new(query);
        self.reads(move |client| {
            let query = Arc::clone(&query);
            Box::pin(async move { set_sums::page(client, &query).await })
        })
    }

    fn records(&self, query: RecordQuery) -> Answer<'_, RecordPage> {
        let query = Arc::new(query);
        self.reads(move |client| {
            let query = Arc::clone(&query);
            Box::pin(async move { records::page(client, &query).await })
        })
    }

    fn roll_up(&self) -> Answer<'_, Progress> {
        self.writes(|client, turn| {
            Box::pin(async move { fold::fold_some(client, &mut **turn.lock().await).await })
        })
    }

    fn forget_roll_ups(&self) -> Answer<'_, ()> {
        self.writes(|client, _turn| Box::pin(fold::forget(client)))
    }

    fn retain(&self, retention: Retention, now: Moment) -> Answer<'_, Progress> {
        self.writes(move |client, turn| {
            Box::pin(async move {
                let known = &mut **turn.lock().await;
                let done = retain::retain(client, known, retention, now).await?;
                if done.rows > 0 {
                    *known = Known::default();
                }
                Ok(done)
            })
        })
    }

    fn facts(&self) -> Answer<'_, Facts> {
        self.reads(|client| Box::pin(read::facts(client)))
    }

    fn totals(&self) -> Answer<'_, Totals> {
        self.reads(|client| Box::pin(read::totals(client)))
    }

    fn dump(&self) -> Answer<'_, LineReceiver> {
        let pool = Arc::clone(&self.pool);
        Box::pin(async move { moving::dump(pool).await })
    }

    fn begin_load(&self, target: Target) -> Answer<'_, ()> {
        self.writes(move |client, turn| {
            Box::pin(async move {
                **turn.lock().await = Known::default();
                moving::begin_load(client, target).await
            })
        })
    }

    fn load(&self, lines: Vec<Line>) -> Answer<'_, ()> {
        let lines = Arc::new(lines);
        self.writes(move |client, _turn| {
            let lines = Arc::clone(&lines);
            Box::pin(async move { moving::load(client, &lines).await })
        })
    }

    fn end_load(&self) -> Answer<'_, ()> {
        self.writes(|client, _turn| Box::pin(moving::end_load(client)))
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            // Whoever writes is waited for; what is only read may be cut off.
            let _turn = self.writing.lock().await;
            self.pool.close();
            Ok(())
        })
    }
}

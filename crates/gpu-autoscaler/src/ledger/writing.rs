//! Work on its way into the store.

use std::sync::Arc;

use gpu_cost::{LedgerRow, Moment, Span, correct};
use gpu_model::ClusterId;
use gpu_store::query::MOST_ROWS;
use gpu_store::store::MOST_ROWS_AT_ONCE;
use gpu_store::{Batch, Retention, RowQuery, Store, StoreError};

use super::desk::{Fresh, Work};

/// Folding goes in steps of some ten thousand rows; what is left is folded after the next window, and answers are right meanwhile.
const MOST_STEPS: usize = 100;

/// What a write did.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) rows: u64,
    pub(super) corrected: u64,
}

/// Writes a work. Everything it does may be done again.
pub(super) async fn write(
    store: Arc<dyn Store>,
    cluster: ClusterId,
    work: Work,
) -> (super::desk::Receipt, Result<Done, StoreError>) {
    let Work {
        close,
        correct,
        is_cautious,
        records,
        replacements,
        receipt,
    } = work;
    let batch = Batch {
        rows: Vec::new(),
        records,
        replacements,
    };
    let done = write_all(&*store, &cluster, close, correct, is_cautious, batch).await;
    (receipt, done)
}

async fn write_all(
    store: &dyn Store,
    cluster: &ClusterId,
    close: Option<Fresh>,
    correct: Vec<Fresh>,
    is_cautious: bool,
    mut batch: Batch,
) -> Result<Done, StoreError> {
    let mut done = Done::default();
    for fresh in correct {
        let mut rows = difference(store, cluster, fresh).await?;
        done.corrected += u64::from(!rows.is_empty());
        done.rows += append_most(store, &mut rows, 0).await?;
    }
    let is_closing = close.is_some();
    let mut rows = match close {
        // Somebody else may have written into the window: a leader that did not know yet that it was replaced.
        Some(fresh) if is_cautious => difference(store, cluster, fresh).await?,
        Some(fresh) => fresh.rows,
        None => Vec::new(),
    };
    done.rows += append_most(store, &mut rows, MOST_ROWS_AT_ONCE).await?;
    done.rows += u64::try_from(rows.len()).unwrap_or(0);
    batch.rows = rows;
    store.append(batch).await?;
    if is_closing {
        for _ in 0..MOST_STEPS {
            if store.roll_up().await?.is_done {
                break;
            }
        }
    }
    Ok(done)
}

/// Writes rows until at most so many are left.
async fn append_most(store: &dyn Store, rows: &mut Vec<LedgerRow>, left: usize) -> Result<u64, StoreError> {
    let mut written = 0;
    while rows.len() > left {
        let first = rows.split_off(rows.len() - rows.len().min(MOST_ROWS_AT_ONCE));
        written += u64::try_from(first.len()).unwrap_or(0);
        let batch = Batch {
            rows: first,
            ..Batch::default()
        };
        store.append(batch).await?;
    }
    Ok(written)
}

/// The rows that make the ledger say of a window what it should.
async fn difference(
    store: &dyn Store,
    cluster: &ClusterId,
    fresh: Fresh,
) -> Result<Vec<LedgerRow>, StoreError> {
    let written = rows_of(store, cluster, fresh.window).await?;
    if written.is_empty() {
        return Ok(fresh.rows);
    }
    // Thousands of digests are no work for a thread that answers probes.
    let made = tokio::task::spawn_blocking(move || correct(&written, fresh.rows)).await;
    made.map_err(|error| StoreError::Failed {
        act: "compare a window",
        source: Box::new(error),
    })
}

/// All rows of a window. No row crosses its border.
async fn rows_of(store: &dyn Store, cluster: &ClusterId, window: Span) -> Result<Vec<LedgerRow>, StoreError> {
    let mut query = RowQuery {
        cluster: Some(cluster.clone()),
        window: Some(window),
        limit: MOST_ROWS,
        ..RowQuery::default()
    };
    let mut rows = Vec::new();
    loop {
        let page = store.rows(query.clone()).await?;
        rows.extend(page.rows);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(rows),
        }
    }
}

/// Drops what is older than it has to be kept.
pub(super) async fn retain(
    store: Arc<dyn Store>,
    retention: Retention,
    now: Moment,
) -> Result<(), StoreError> {
    for _ in 0..MOST_STEPS {
        if store.retain(retention, now).await?.is_done {
            break;
        }
    }
    Ok(())
}

//! Rows: written once, never changed, undone by reversals.

use gpu_cost::LedgerRow;
use gpu_model::NanoUsd;
use gpu_store::{Appended, Batch, RowQuery, Store, StoreAddress, StoreError};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::{fold, opened};
use crate::sample::{DAY, HOUR, MINUTE, idle_row, pod_row, span};

pub(crate) async fn write(store: &dyn Store, rows: Vec<LedgerRow>) -> Result<Appended, StoreError> {
    store
        .append(Batch {
            rows,
            ..Batch::default()
        })
        .await
}

pub(crate) async fn all_rows(store: &dyn Store) -> Vec<LedgerRow> {
    let mut rows = Vec::new();
    let mut after = None;
    loop {
        let query = RowQuery {
            after,
            limit: 1_000,
            ..RowQuery::default()
        };
        let page = store.rows(query).await.unwrap();
        rows.extend(page.rows);
        after = page.next;
        if after.is_none() {
            rows.sort_by_key(|row| (row.span.start, row.key));
            return rows;
        }
    }
}

pub(crate) async fn a_row_written_twice_is_there_once(address: StoreAddress) {
    let store = opened(&address).await;
    let rows = vec![
        pod_row(1, span(0, HOUR)),
        pod_row(2, span(0, HOUR)),
        idle_row(0, span(0, HOUR)),
    ];
    let first = write(&*store, rows.clone()).await.unwrap();
    assert_eq!((first.rows_written, first.rows_known), (3, 0));
    let again = write(&*store, rows.clone()).await.unwrap();
    assert_eq!((again.rows_written, again.rows_known), (0, 3));
    let mut mixed = rows.clone();
    mixed.push(pod_row(3, span(0, HOUR)));
    mixed.push(pod_row(3, span(0, HOUR)));
    let mixed = write(&*store, mixed).await.unwrap();
    assert_eq!((mixed.rows_written, mixed.rows_known), (1, 4));
    assert_eq!(all_rows(&*store).await.len(), 4);
}

pub(crate) async fn the_same_key_with_another_content_is_refused_by_name(address: StoreAddress) {
    let store = opened(&address).await;
    let row = pod_row(1, span(0, HOUR));
    write(&*store, vec![row.clone()]).await.unwrap();
    let mut changed = row.clone();
    changed.amounts.as_mut().unwrap().allocated = NanoUsd(5);
    let error = write(&*store, vec![pod_row(9, span(0, HOUR)), changed])
        .await
        .unwrap_err();
    assert!(
        matches!(&error, StoreError::RowDiffers { key } if *key == row.key),
        "{error}"
    );
    assert!(error.to_string().contains(&row.key.to_string()), "{error}");
    let mut of_another = row.clone();
    of_another.holder = pod_row(4, span(0, HOUR)).holder;
    let error = write(&*store, vec![of_another]).await.unwrap_err();
    assert!(matches!(error, StoreError::RowDiffers { .. }), "{error}");
    assert_eq!(all_rows(&*store).await, [row]);
}

pub(crate) async fn a_batch_is_written_whole_or_not_at_all(address: StoreAddress) {
    let store = opened(&address).await;
    let mut rows: Vec<LedgerRow> = (0..50).map(|pod| pod_row(pod, span(0, HOUR))).collect();
    let mut wrong = pod_row(99, span(0, HOUR));
    wrong.span = span(HOUR, 0);
    rows.push(wrong);
    write(&*store, rows).await.unwrap_err();
    assert_eq!(all_rows(&*store).await, []);
    // What the failed batch named is not believed afterwards.
    write(&*store, vec![pod_row(1, span(0, HOUR))]).await.unwrap();
    drop(store);
    let store = opened(&address).await;
    assert_eq!(all_rows(&*store).await, [pod_row(1, span(0, HOUR))]);
}

pub(crate) async fn a_reversal_undoes_one_row_once(address: StoreAddress) {
    let store = opened(&address).await;
    let row = pod_row(1, span(10 * MINUTE, HOUR));
    let error = write(&*store, vec![row.reversed(1)]).await.unwrap_err();
    assert!(matches!(error, StoreError::NothingToReverse { .. }), "{error}");
    write(&*store, vec![row.clone()]).await.unwrap();

    let mut half = row.reversed(1);
    half.amounts.as_mut().unwrap().allocated = NanoUsd(-1);
    let error = write(&*store, vec![half.sealed()]).await.unwrap_err();
    assert!(matches!(error, StoreError::NoReversal { .. }), "{error}");

    let mut corrected = row.clone();
    corrected.revision = 1;
    corrected.amounts.as_mut().unwrap().allocated.0 += 1_000;
    corrected.amounts.as_mut().unwrap().unused.0 += 1_000;
    let corrected = corrected.sealed();
    for _ in 0..2 {
        write(&*store, vec![row.reversed(1), corrected.clone()])
            .await
            .unwrap();
    }
    let error = write(&*store, vec![row.reversed(2)]).await.unwrap_err();
    assert!(matches!(error, StoreError::ReversedTwice { .. }), "{error}");
    // A batch is one fact, in whatever order it tells it.
    let other = pod_row(2, span(0, HOUR));
    let error = write(&*store, vec![other.reversed(1), other.reversed(2), other.clone()])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::ReversedTwice { .. }), "{error}");
    for _ in 0..2 {
        write(&*store, vec![other.reversed(1), other.clone()])
            .await
            .unwrap();
    }
    fold(&*store).await;
    let totals = store.totals().await.unwrap();
    assert_eq!(totals.rows, 5);
    assert_eq!(totals.row_sums.allocated, corrected.amounts.unwrap().allocated.0);
}

pub(crate) async fn rows_come_back_as_they_were_written(address: StoreAddress) {
    let store = opened(&address).await;
    let mut unpriced = pod_row(7, span(0, 5_000));
    unpriced.amounts = None;
    unpriced.price = gpu_cost::PriceNote::Unpriced {
        reason: gpu_cost::UnpricedReason::NoRegion,
    };
    let mut rows = vec![
        unpriced.sealed(),
        pod_row(1, span(0, HOUR)),
        pod_row(1, span(HOUR, 2 * HOUR)),
        idle_row(3, span(0, DAY)),
    ];
    rows.push(rows[1].reversed(1));
    write(&*store, rows.clone()).await.unwrap();
    rows.sort_by_key(|row| (row.span.start, row.key));
    assert_eq!(all_rows(&*store).await, rows);
    drop(store);
    let store = opened(&address).await;
    assert_eq!(all_rows(&*store).await, rows);

    let of_pod = |window| RowQuery {
        pod_uid: Some("uid-1".to_owned()),
        window,
        limit: 10,
        ..RowQuery::default()
    };
    assert_eq!(store.rows(of_pod(None)).await.unwrap().rows.len(), 3);
    let later = store
        .rows(of_pod(Some(span(90 * MINUTE, 91 * MINUTE))))
        .await
        .unwrap();
    assert_eq!(later.rows, [pod_row(1, span(HOUR, 2 * HOUR))]);
    let none = store.rows(of_pod(Some(span(2 * HOUR, 3 * HOUR)))).await.unwrap();
    assert_eq!(none.rows, []);
}

pub(crate) async fn rows_that_cannot_be_kept_are_refused_by_name(address: StoreAddress) {
    let store = opened(&address).await;
    let good = pod_row(1, span(0, HOUR));
    let change = |with: fn(&mut LedgerRow)| {
        let mut row = good.clone();
        with(&mut row);
        row
    };
    for wrong in [
        change(|row| row.span = span(HOUR, HOUR)),
        change(|row| row.span = span(0, 2 * DAY)),
        change(|row| row.span.start = gpu_cost::Moment(-1)),
        change(|row| row.time.held_ms = i64::MIN),
        change(|row| {
            let mut holder = (**row.holder.as_ref().unwrap()).clone();
            holder.dimensions.team = Some("a\u{1f}b".to_owned());
            row.holder = Some(holder.into());
        }),
        change(|row| {
            let mut holder = (**row.holder.as_ref().unwrap()).clone();
            holder.dimensions.labels = (0..40).map(|n| (n.to_string(), String::new())).collect();
            row.holder = Some(holder.into());
        }),
    ] {
        let error = write(&*store, vec![wrong]).await.unwrap_err();
        assert!(error.to_string().contains(&good.key.to_string()), "{error}");
    }
    assert_eq!(all_rows(&*store).await, []);
}

/// A day of rows in some order, cut into batches, some of them twice, some of them in the middle of an opening and closing.
pub(crate) async fn random_order_repeats_and_restarts_end_in_the_same_ledger(address: StoreAddress) {
    let rows: Vec<LedgerRow> = (0..120)
        .map(|n| {
            pod_row(
                n % 17,
                span(i64::from(n) * 7 * MINUTE, i64::from(n) * 7 * MINUTE + 11 * MINUTE),
            )
        })
        .collect();
    let mut expected = rows.clone();
    expected.sort_by_key(|row| (row.span.start, row.key));
    let script = proptest::collection::vec((any::<prop::sample::Index>(), 1_usize..30, 0_u8..10), 30..40);
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(7),
        ..Config::default()
    });
    let script = script.new_tree(&mut runner).unwrap().current();
    let mut store = opened(&address).await;
    for (from, count, act) in script {
        let from = from.index(rows.len());
        let batch: Vec<LedgerRow> = rows.iter().cycle().skip(from).take(count).cloned().collect();
        write(&*store, batch).await.unwrap();
        match act {
            0 => {
                drop(store);
                store = opened(&address).await;
            }
            1 | 2 => {
                store.roll_up().await.unwrap();
            }
            3 => store.forget_roll_ups().await.unwrap(),
            _ => {}
        }
    }
    write(&*store, rows).await.unwrap();
    assert_eq!(all_rows(&*store).await, expected);
    fold(&*store).await;
    let folded = store.totals().await.unwrap();
    store.forget_roll_ups().await.unwrap();
    fold(&*store).await;
    assert_eq!(store.totals().await.unwrap(), folded);
}

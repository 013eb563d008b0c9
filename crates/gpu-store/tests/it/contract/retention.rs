//! What is dropped, what stays, and what can still be asked.

use gpu_cost::Moment;
use gpu_store::{
    Batch, CostQuery, Dimension, Record, RecordKind, RecordQuery, Retention, RowQuery, Store, StoreAddress,
    StoreError,
};

use super::answers::three_days;
use super::ledger::{all_rows, write};
use super::{fold, opened};
use crate::sample::{DAY, HOUR, MINUTE, at, cluster, pod_row, span};

const SHORT: Retention = Retention {
    raw_days: 1,
    five_minute_days: 1,
    hourly_days: 3,
    daily_days: 5,
    decision_days: 2,
    usage_days: 2,
};

pub(super) async fn retain(store: &dyn Store, retention: Retention, now: Moment) {
    for _ in 0..1_000 {
        if store.retain(retention, now).await.unwrap().is_done {
            return;
        }
    }
    panic!("dropping does not end");
}

pub(crate) async fn old_rows_go_and_their_sums_stay(address: StoreAddress) {
    let store = opened(&address).await;
    let decision = Record {
        cluster: cluster("blue"),
        kind: RecordKind::Decision,
        key: "old".to_owned(),
        at: at(0),
        subject: "node/a".to_owned(),
        is_open: false,
        until: None,
        body: serde_json::json!({}),
    };
    store
        .append(Batch {
            rows: three_days(),
            records: vec![decision],
            ..Batch::default()
        })
        .await
        .unwrap();
    let by_namespace = CostQuery::by(span(0, 3 * DAY), vec![Dimension::Namespace]);
    let by_pod = CostQuery::by(span(0, 2 * DAY), vec![Dimension::Pod]);
    let before = (
        store.cost(by_namespace.clone()).await.unwrap().lines,
        store.cost(by_pod.clone()).await.unwrap().lines,
    );
    // Nothing was folded yet: dropping folds first.
    retain(&*store, SHORT, at(2 * DAY + HOUR)).await;
    let floor = at(DAY);
    let left = all_rows(&*store).await;
    assert!(!left.is_empty());
    assert!(left.iter().all(|row| row.span.end > floor), "whole days went");
    assert!(
        left.iter().any(|row| row.span.start < floor),
        "a row across the border stays"
    );
    assert_eq!(
        store
            .records(RecordQuery::of(RecordKind::Decision))
            .await
            .unwrap()
            .records,
        []
    );
    let after = (
        store.cost(by_namespace.clone()).await.unwrap().lines,
        store.cost(by_pod.clone()).await.unwrap().lines,
    );
    assert_eq!(after, before);
    // Roll-ups of days whose rows are gone are never made anew, and the border day is neither lost nor doubled.
    store.forget_roll_ups().await.unwrap();
    let between = store.cost(by_namespace.clone()).await.unwrap().lines;
    assert_eq!(between, before.0);
    fold(&*store).await;
    assert_eq!(store.cost(by_namespace.clone()).await.unwrap().lines, before.0);
    assert_eq!(store.cost(by_pod).await.unwrap().lines, before.1);

    // Much later, everything is gone but what has to be kept.
    retain(&*store, SHORT, at(40 * DAY)).await;
    assert_eq!(store.totals().await.unwrap(), gpu_store::Totals::default());
    let error = store.cost(by_namespace).await.unwrap_err();
    assert!(error.to_string().contains("no longer kept"), "{error}");
}

pub(crate) async fn edges_that_are_no_longer_kept_are_refused_with_advice(address: StoreAddress) {
    let store = opened(&address).await;
    write(&*store, three_days()).await.unwrap();
    retain(&*store, SHORT, at(3 * DAY + HOUR)).await;
    let ask = async |window| {
        store
            .cost(CostQuery::by(window, vec![Dimension::Namespace]))
            .await
    };
    let words = async |window| ask(window).await.unwrap_err().to_string();
    // Rows and five minutes from day 2 on, hours from day 0 on.
    ask(span(HOUR, 2 * DAY)).await.unwrap();
    ask(span(2 * DAY + 1, 3 * DAY)).await.unwrap();
    assert!(words(span(MINUTE, DAY)).await.contains("whole hour"));
    retain(&*store, SHORT, at(4 * DAY + HOUR)).await;
    let words = words(span(HOUR, DAY)).await;
    assert!(words.contains("whole day"), "{words}");
    assert!(
        words.contains("2026-03-01T00:00:00Z or 2026-03-02T00:00:00Z"),
        "{words}"
    );
    ask(span(0, DAY)).await.unwrap();
    // The clock goes back: what was dropped does not count as kept.
    retain(&*store, SHORT, at(0)).await;
    ask(span(HOUR, DAY)).await.unwrap_err();
}

pub(crate) async fn the_books_of_dropped_days_are_closed(address: StoreAddress) {
    let store = opened(&address).await;
    write(&*store, three_days()).await.unwrap();
    retain(&*store, SHORT, at(2 * DAY + HOUR)).await;
    let late = pod_row(99, span(DAY - HOUR, DAY + HOUR));
    let error = write(&*store, vec![late.clone()]).await.unwrap_err();
    assert!(
        matches!(error, StoreError::TooLate { key, .. } if key == late.key),
        "{error}"
    );
    write(&*store, vec![pod_row(99, span(DAY, DAY + HOUR))])
        .await
        .unwrap();
    let mut wrong = SHORT;
    wrong.hourly_days = 9;
    let error = store.retain(wrong, at(0)).await.unwrap_err();
    assert!(error.to_string().contains("daily-days"), "{error}");
    let rows = store
        .rows(RowQuery {
            pod_uid: Some("uid-99".to_owned()),
            limit: 5,
            ..RowQuery::default()
        })
        .await
        .unwrap();
    assert_eq!(rows.rows.len(), 1);
}

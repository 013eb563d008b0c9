//! Costs. The expected answer is always made from the rows themselves, by a plain loop.

use std::collections::BTreeMap;

use gpu_cost::{Grain, LedgerRow, Moment, Part, Span};
use gpu_store::{
    CostQuery, Dimension, Dimensions, Filter, Measures, Step, Store, StoreAddress, StoreError, Sums,
};

use super::ledger::write;
use super::{fold, opened};
use crate::sample::{DAY, HOUR, MINUTE, cluster, idle_row, pod_row, span};

type Lines = BTreeMap<(Option<Moment>, Vec<Option<String>>, Part), Sums>;

/// Three days of pods that start and end between all borders, an idle machine, and a correction.
pub(crate) fn three_days() -> Vec<LedgerRow> {
    let mut rows = Vec::new();
    for pod in 0..24_u32 {
        let mut start = i64::from(pod) * 13 * MINUTE + i64::from(pod) * 317;
        let mut piece = 0;
        while start < 3 * DAY {
            let length = 47 * MINUTE + i64::from(pod) * 1_003 + piece * 61_001;
            rows.push(pod_row(pod, span(start, start + length)));
            start += length + if piece % 4 == 0 { 90 * MINUTE } else { 0 };
            piece += 1;
        }
    }
    rows.push(idle_row(9, span(0, DAY)));
    rows.push(idle_row(9, span(DAY, DAY + 5 * HOUR + 1)));
    rows.push(rows[3].reversed(1));
    rows
}

/// The answer by hand.
fn by_hand(rows: &[LedgerRow], query: &CostQuery) -> Lines {
    let mut lines = Lines::new();
    for row in rows {
        let dimensions = Dimensions::of(row);
        let passes = query.filters.iter().all(|filter| {
            let value = filter.dimension.of(&dimensions);
            filter
                .values
                .iter()
                .any(|wanted| wanted.as_deref() == value.as_deref())
        });
        if !passes
            || query
                .cluster
                .as_ref()
                .is_some_and(|cluster| *cluster != row.cluster)
        {
            continue;
        }
        let values: Vec<Option<String>> = query
            .group_by
            .iter()
            .map(|dimension| dimension.of(&dimensions).map(|value| value.into_owned()))
            .collect();
        let inside = row.span.overlap(query.window);
        let pieces: Vec<(Option<Moment>, Span)> = match query.step {
            Step::Whole => vec![(None, inside)],
            Step::Every(grain) => grain
                .buckets(inside)
                .map(|bucket| (Some(bucket.start), bucket.overlap(inside)))
                .collect(),
        };
        for (at, piece) in pieces {
            let sums = Measures::of(row).within(row.span, piece);
            lines
                .entry((at, values.clone(), row.part))
                .or_default()
                .add(&sums)
                .unwrap();
        }
    }
    lines.retain(|_, sums| !sums.is_zero());
    lines
}

async fn answer(store: &dyn Store, query: &CostQuery) -> Lines {
    let answer = store.cost(query.clone()).await.unwrap();
    answer
        .lines
        .into_iter()
        .map(|line| ((line.at, line.values, line.part), line.sums))
        .collect()
}

async fn check(store: &dyn Store, rows: &[LedgerRow], query: &CostQuery) {
    assert_eq!(answer(store, query).await, by_hand(rows, query), "{query:?}");
}

pub(crate) async fn costs_by_every_dimension_agree_with_the_rows(address: StoreAddress) {
    let store = opened(&address).await;
    let rows = three_days();
    write(&*store, rows.clone()).await.unwrap();
    for folded in [false, true] {
        if folded {
            fold(&*store).await;
        }
        let labels = ["tier", "absent"].map(|key| Dimension::Label(key.to_owned()));
        for dimension in Dimension::FIXED.into_iter().chain(labels) {
            let query = CostQuery::by(span(0, 3 * DAY), vec![dimension]);
            check(&*store, &rows, &query).await;
        }
        check(&*store, &rows, &CostQuery::by(span(0, 4 * DAY), Vec::new())).await;
    }
}

pub(crate) async fn any_window_is_exact_before_and_after_folding(address: StoreAddress) {
    let store = opened(&address).await;
    let rows = three_days();
    let half = rows.len() / 2;
    write(&*store, rows[..half].to_vec()).await.unwrap();
    fold(&*store).await;
    // Half is folded, half is not: answers hold both.
    write(&*store, rows[half..].to_vec()).await.unwrap();
    let windows = [
        span(0, DAY),
        span(1, DAY),
        span(7 * MINUTE + 13, 3 * DAY - 1),
        span(HOUR, 2 * DAY + 5 * MINUTE),
        span(5 * MINUTE, 10 * MINUTE),
        span(5 * MINUTE + 1, 5 * MINUTE + 2),
        span(DAY - 1, DAY + 1),
        span(90 * DAY, 91 * DAY),
    ];
    for dimension in [
        Dimension::Namespace,
        Dimension::Node,
        Dimension::Pod,
        Dimension::Label("tier".to_owned()),
    ] {
        for window in windows {
            let query = CostQuery::by(window, vec![dimension.clone()]);
            check(&*store, &rows, &query).await;
        }
    }
    let empty = CostQuery::by(span(HOUR, HOUR), Vec::new());
    let error = store.cost(empty).await.unwrap_err();
    assert!(matches!(error, StoreError::Window(_)), "{error}");
}

pub(crate) async fn the_coarsest_exact_roll_up_is_used(address: StoreAddress) {
    let store = opened(&address).await;
    write(&*store, three_days()).await.unwrap();
    fold(&*store).await;
    let grains = async |window: Span, dimension: Dimension| {
        let query = CostQuery::by(window, vec![dimension]);
        store.cost(query).await.unwrap().grains
    };
    let (day, hour, five) = (Some(Grain::Day), Some(Grain::Hour), Some(Grain::FiveMinutes));
    assert_eq!(grains(span(0, 2 * DAY), Dimension::Namespace).await, [day]);
    assert_eq!(
        grains(span(0, 2 * DAY + HOUR), Dimension::Namespace).await,
        [day, hour]
    );
    assert_eq!(grains(span(HOUR, 3 * HOUR), Dimension::Namespace).await, [hour]);
    assert_eq!(grains(span(0, 5 * MINUTE), Dimension::Namespace).await, [five]);
    assert_eq!(grains(span(0, 5 * MINUTE), Dimension::Node).await, [None]);
    assert_eq!(
        grains(span(1, 2 * DAY + HOUR + 5 * MINUTE + 1), Dimension::Team).await,
        [day, hour, five, None]
    );
}

pub(crate) async fn a_series_sums_to_the_whole(address: StoreAddress) {
    let store = opened(&address).await;
    let rows = three_days();
    write(&*store, rows.clone()).await.unwrap();
    for _ in 0..2 {
        for grain in Grain::ALL {
            for dimension in [
                Dimension::Namespace,
                Dimension::Pod,
                Dimension::Label("tier".to_owned()),
            ] {
                let mut query = CostQuery::by(span(0, DAY), vec![dimension]);
                query.step = Step::Every(grain);
                check(&*store, &rows, &query).await;
            }
        }
        fold(&*store).await;
    }
    let mut crooked = CostQuery::by(span(1, DAY), vec![Dimension::Namespace]);
    crooked.step = Step::Every(Grain::Hour);
    let error = store.cost(crooked).await.unwrap_err();
    assert!(matches!(error, StoreError::StepEdge { .. }), "{error}");
}

pub(crate) async fn filters_and_several_dimensions_agree_with_the_rows(address: StoreAddress) {
    let store = opened(&address).await;
    let rows = three_days();
    write(&*store, rows.clone()).await.unwrap();
    fold(&*store).await;
    let mut query = CostQuery::by(span(0, 3 * DAY), vec![Dimension::Team, Dimension::GpuModel]);
    check(&*store, &rows, &query).await;
    query.filters = vec![Filter {
        dimension: Dimension::Namespace,
        values: vec![Some("ns-1".to_owned()), Some("ns-2".to_owned()), None],
    }];
    check(&*store, &rows, &query).await;
    query.filters.push(Filter {
        dimension: Dimension::Label("tier".to_owned()),
        values: vec![Some("tier-1".to_owned())],
    });
    query.window = span(13, 2 * DAY + 17 * MINUTE);
    check(&*store, &rows, &query).await;
    query.group_by = vec![
        Dimension::Workflow,
        Dimension::Step,
        Dimension::Retry,
        Dimension::Pod,
    ];
    check(&*store, &rows, &query).await;
    query.group_by = Dimension::FIXED[..7].to_vec();
    let error = store.cost(query).await.unwrap_err();
    assert!(matches!(error, StoreError::TooManyGroups { .. }), "{error}");
}

pub(crate) async fn roll_ups_made_anew_are_the_same(address: StoreAddress) {
    let store = opened(&address).await;
    let rows = three_days();
    for piece in rows.chunks(37) {
        write(&*store, piece.to_vec()).await.unwrap();
        store.roll_up().await.unwrap();
    }
    fold(&*store).await;
    let before = store.totals().await.unwrap();
    let query = CostQuery::by(span(0, 3 * DAY), vec![Dimension::Namespace]);
    let answered = answer(&*store, &query).await;
    store.forget_roll_ups().await.unwrap();
    assert_eq!(answer(&*store, &query).await, answered, "while there are none");
    fold(&*store).await;
    assert_eq!(answer(&*store, &query).await, answered);
    assert_eq!(store.totals().await.unwrap(), before);
}

pub(crate) async fn clusters_are_kept_apart(address: StoreAddress) {
    let store = opened(&address).await;
    let mut rows = three_days();
    for row in three_days()
        .into_iter()
        .filter(|row| row.entry == gpu_cost::Entry::Charge)
        .take(40)
    {
        let mut other = row;
        other.cluster = cluster("green");
        rows.push(other.sealed());
    }
    write(&*store, rows.clone()).await.unwrap();
    for _ in 0..2 {
        for name in ["blue", "green", "absent"] {
            for dimension in [
                Dimension::Namespace,
                Dimension::Pod,
                Dimension::Label("tier".to_owned()),
            ] {
                let mut query = CostQuery::by(span(0, 3 * DAY), vec![dimension]);
                query.cluster = Some(cluster(name));
                check(&*store, &rows, &query).await;
            }
        }
        check(
            &*store,
            &rows,
            &CostQuery::by(span(0, 3 * DAY), vec![Dimension::Cluster]),
        )
        .await;
        fold(&*store).await;
    }
}

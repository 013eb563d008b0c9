//! Dumps and exports.

use std::collections::BTreeMap;

use gpu_cost::focus::{Account, Column, check, parse_csv};
use gpu_cost::{LedgerRow, Moment, Span};
use gpu_store::dump::{self, Target};
use gpu_store::export::{Csv, export, export_focus};
use gpu_store::{Batch, CostQuery, Dimension, Measures, Retention, Store, StoreAddress, StoreError};

use super::answers::three_days;
use super::ledger::{all_rows, write};
use super::{fold, opened};
use crate::sample::{DAY, HOUR, at, cluster, pod_row, span};

pub(crate) async fn filled(store: &dyn Store) {
    let decision = gpu_store::entries::Decision {
        cluster: cluster("green"),
        id: "d-1".to_owned(),
        at: at(0),
        subject: "node/a".to_owned(),
        verdict: "keep".to_owned(),
        reasons: serde_json::json!({ "why": "busy, \"very\"\n" }),
    };
    let batch = Batch {
        rows: three_days(),
        records: vec![decision.record().unwrap()],
        ..Batch::default()
    };
    store.append(batch).await.unwrap();
    fold(store).await;
    write(store, vec![pod_row(77, span(0, HOUR))]).await.unwrap();
}

pub(crate) async fn a_dump_is_the_store_and_a_full_target_is_refused(address: StoreAddress) {
    let store = opened(&address).await;
    filled(&*store).await;
    let totals = store.totals().await.unwrap();
    let mut text = Vec::new();
    assert_eq!(dump::save(&*store, &mut text).await.unwrap(), totals);
    let query = CostQuery::by(span(0, 3 * DAY), vec![Dimension::Namespace]);
    let (rows, costs) = (all_rows(&*store).await, store.cost(query.clone()).await.unwrap());

    let error = dump::restore(&*store, text.as_slice(), Target::MustBeEmpty)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::NotEmpty), "{error}");
    assert_eq!(store.totals().await.unwrap(), totals);

    dump::restore(&*store, text.as_slice(), Target::MayBeReplaced)
        .await
        .unwrap();
    assert_eq!(store.totals().await.unwrap(), totals);
    assert_eq!(all_rows(&*store).await, rows);
    assert_eq!(store.cost(query.clone()).await.unwrap(), costs);
    // Life goes on: what is known is known, and new rows find their place.
    let more = write(
        &*store,
        vec![pod_row(77, span(0, HOUR)), pod_row(77, span(HOUR, 2 * HOUR))],
    )
    .await
    .unwrap();
    assert_eq!((more.rows_written, more.rows_known), (1, 1));
    fold(&*store).await;
    let mut again = Vec::new();
    dump::save(&*store, &mut again).await.unwrap();
    drop(store);
    let store = opened(&address).await;
    assert_eq!(store.totals().await.unwrap().rows, totals.rows + 1);
}

pub(crate) async fn a_cut_dump_is_refused_and_the_target_says_so(address: StoreAddress) {
    let store = opened(&address).await;
    filled(&*store).await;
    let mut text = Vec::new();
    dump::save(&*store, &mut text).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let restore = async |text: &str| dump::restore(&*store, text.as_bytes(), Target::MayBeReplaced).await;
    for (from, to) in [("gpu-store-dump", "other"), ("\"version\":1", "\"version\":9")] {
        let error = restore(&text.replacen(from, to, 1)).await.unwrap_err();
        assert!(matches!(error, StoreError::Dump { .. }), "{error}");
    }
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines[..lines.len() - 1].join("\n");
    let error = restore(&cut).await.unwrap_err();
    assert!(error.to_string().contains("without its last line"), "{error}");
    // Half of a ledger must not be taken for one.
    let error = write(&*store, vec![pod_row(1, span(0, HOUR))]).await.unwrap_err();
    assert!(matches!(error, StoreError::HalfRestored), "{error}");
    let mut without_a_row = lines.clone();
    let row = lines
        .iter()
        .position(|line| line.contains("\"line\":\"row\""))
        .unwrap();
    without_a_row.remove(row);
    let error = restore(&without_a_row.join("\n")).await.unwrap_err();
    assert!(error.to_string().contains("do not amount"), "{error}");
    restore(&text).await.unwrap();
    write(&*store, vec![pod_row(1, span(0, HOUR))]).await.unwrap();
}

pub(crate) async fn an_export_has_every_row(address: StoreAddress) {
    let store = opened(&address).await;
    let rows = three_days();
    write(&*store, rows.clone()).await.unwrap();
    let mut text = Vec::new();
    let count = export(&*store, None, span(0, 4 * DAY), &Csv, &mut text)
        .await
        .unwrap();
    assert_eq!(count, rows.len() as u64);
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert!(
        lines[0].starts_with("start,end,key,reverses,part,"),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), rows.len() + 2);
    let cells = lines[0].split(',').count();
    assert!(
        lines[1..=rows.len()]
            .iter()
            .all(|line| line.split(',').count() == cells)
    );
    let nothing = export(&*store, Some(cluster("green")), span(0, DAY), &Csv, Vec::new())
        .await
        .unwrap();
    assert_eq!(nothing, 0);
}

fn nanos(text: &str) -> i64 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let sign = if whole.starts_with('-') { -1 } else { 1 };
    let whole = whole.trim_start_matches('-');
    sign * format!("{whole}{part:0<9}").parse::<i64>().unwrap()
}

/// Rows are dropped after a day, hours after three: the sum of all lines is that of the rows as they were.
pub(crate) async fn exports_reach_behind_the_rows_and_say_so(address: StoreAddress) {
    let store = opened(&address).await;
    let rows = three_days();
    write(&*store, rows.clone()).await.unwrap();
    let retention = Retention {
        raw_days: 1,
        five_minute_days: 1,
        hourly_days: 2,
        ..Retention::default()
    };
    while !store.retain(retention, at(3 * DAY + HOUR)).await.unwrap().is_done {}
    // Days before day 1, hours of day 1, rows from day 2 on.
    let mut text = Vec::new();
    export(&*store, None, span(0, 4 * DAY), &Csv, &mut text)
        .await
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|found| *found == name).unwrap();
    let (money, kept_as) = (place("allocated-usd"), place("kept-as"));
    let (mut sum, mut kinds) = (0, BTreeMap::new());
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        sum += nanos(cells[money]);
        *kinds.entry(cells[kept_as].to_owned()).or_insert(0) += 1;
    }
    let allocated =
        |rows: &[LedgerRow]| -> i64 { rows.iter().map(|row| row.amounts.unwrap().allocated.0).sum() };
    assert_eq!(sum, allocated(&rows));
    assert_eq!(
        kinds.keys().collect::<Vec<_>>(),
        ["row", "sum of a day", "sum of an hour"]
    );
    let words = |error: StoreError| error.to_string();
    let crooked = export(&*store, None, span(HOUR, 4 * DAY), &Csv, Vec::new()).await;
    assert!(words(crooked.unwrap_err()).contains("whole day"));
    let crooked = export(&*store, None, span(DAY + 1, 4 * DAY), &Csv, Vec::new()).await;
    assert!(words(crooked.unwrap_err()).contains("whole hour"));

    let account = Account {
        id: "research".to_owned(),
        name: None,
        closed_before: at(0),
    };
    let mut bill = Vec::new();
    let window = span(DAY, 4 * DAY);
    let written = export_focus(&*store, None, window, &account, &[], &mut bill)
        .await
        .unwrap();
    assert!(0 < written.from_sums && written.from_sums < written.records);
    let records = parse_csv(&String::from_utf8(bill).unwrap()).unwrap();
    assert_eq!(check(&records), []);
    let billed: i64 = records
        .iter()
        .filter_map(|record| record.get(Column::EffectiveCost))
        .map(nanos)
        .sum();
    let after: Vec<LedgerRow> = rows.iter().map(|row| later_part(row, at(DAY))).collect();
    assert_eq!(billed, allocated(&after));
    let summed = records
        .iter()
        .filter(|record| record.get(Column::AllocatedMethodId) == Some("hour-sum"));
    assert!(summed.clone().count() > 0);
    assert!(summed.clone().all(|record| record.get(Column::RowKey).is_none()));
    let early = export_focus(&*store, None, span(0, 4 * DAY), &account, &[], Vec::new()).await;
    assert!(words(early.unwrap_err()).contains("price of every charge"));
}

/// What of a row lies after an instant.
fn later_part(row: &LedgerRow, from: Moment) -> LedgerRow {
    let inside = Span::new(row.span.start.max(from), row.span.end.max(from));
    let sums = Measures::of(row).within(row.span, inside);
    let mut part = row.clone();
    part.amounts.as_mut().unwrap().allocated.0 = sums.allocated;
    part
}

pub(crate) async fn an_export_to_focus_keeps_its_rules_and_its_sums(address: StoreAddress) {
    let store = opened(&address).await;
    let rows: Vec<_> = (0..5)
        .flat_map(|hour| (0..16).map(move |pod| pod_row(pod, span(hour * HOUR, hour * HOUR + HOUR))))
        .collect();
    write(&*store, rows.clone()).await.unwrap();
    let account = Account {
        id: "research".to_owned(),
        name: None,
        closed_before: at(0),
    };
    let mut text = Vec::new();
    let window = span(0, 4 * HOUR);
    let written = export_focus(&*store, None, window, &account, &[], &mut text)
        .await
        .unwrap();
    let records = parse_csv(&String::from_utf8(text).unwrap()).expect("it is the format");
    assert_eq!(records.len() as u64, written.records);
    assert_eq!(written.unpriced, 0);
    assert_eq!(check(&records), []);
    let billed: i64 = records
        .iter()
        .filter_map(|record| record.get(Column::EffectiveCost))
        .map(nanos)
        .sum();
    let allocated: i64 = rows[..64]
        .iter()
        .map(|row| row.amounts.unwrap().allocated.0)
        .sum();
    assert_eq!(billed, allocated);
    let crooked = export_focus(&*store, None, span(1, HOUR), &account, &[], Vec::new())
        .await
        .unwrap_err();
    assert!(matches!(crooked, StoreError::StepEdge { .. }), "{crooked}");
}

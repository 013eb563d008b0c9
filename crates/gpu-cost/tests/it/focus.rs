//! The export keeps the rules of the format.

use gpu_cost::focus::{Account, Column, Record, check, export, parse_csv, write_csv};
use gpu_cost::prices::{Commitment, CommitmentKind, PriceVersion};
use gpu_cost::{CommitmentName, LedgerRow, Moment, PriceBook, Span, correct};
use gpu_model::{Cloud, NanoUsd, Partition};
use proptest::prelude::*;

use crate::arbitrary::world;
use crate::fleet::{Node, books, hour, machine, mig, minute, prices, settle, total, usd};

fn account() -> Account {
    Account {
        id: "123456789012".to_owned(),
        name: Some("Research, \"cloud\"".to_owned()),
        closed_before: Moment(0),
    }
}

fn records(rows: &[LedgerRow]) -> Vec<Record> {
    let records = export(rows, &account(), &[]).records;
    let mut text = String::new();
    write_csv(&mut text, &records).expect("a string takes all");
    assert_eq!(
        parse_csv(&text).as_deref(),
        Some(&records[..]),
        "reads back as it was"
    );
    records
}

fn sum(records: &[Record], column: Column) -> NanoUsd {
    records
        .iter()
        .filter_map(|record| record.get(column))
        .map(usd)
        .sum()
}

fn shared_hour() -> Vec<LedgerRow> {
    let mut node = Node::ready(machine("i-1", 2), minute(-60));
    node.bind("train", 0, Partition::Whole, Span::new(minute(10), minute(50)));
    node.bind(
        "slice",
        1,
        mig("3g.40gb", 1),
        Span::new(minute(0), Moment(i64::MAX)),
    );
    node.used("train", 0, Partition::Whole, hour(), 640);
    settle(&node, &prices("7"))
}

#[test]
fn a_split_hour_keeps_every_rule() {
    let rows = shared_hour();
    let records = records(&rows);
    assert_eq!(check(&records), []);
    assert_eq!(sum(&records, Column::EffectiveCost), usd("7"));
    assert_eq!(sum(&records, Column::ConsumedQuantity), usd("2"));
    let train = records
        .iter()
        .find(|record| record.get(Column::AllocatedResourceName) == Some("research/train"))
        .unwrap();
    for (column, value) in [
        (Column::AllocatedMethodId, "gpu-exclusive"),
        (Column::ResourceId, "i-1"),
        (Column::ChargePeriodStart, "2026-11-16T00:00:00Z"),
        (Column::ChargePeriodEnd, "2026-11-16T01:00:00Z"),
        (Column::BillingPeriodStart, "2026-11-01T00:00:00Z"),
        (Column::BillingPeriodEnd, "2026-12-01T00:00:00Z"),
        (Column::PricingCategory, "Standard"),
        (Column::ListUnitPrice, "7"),
        (Column::EffectiveCost, "2.333333333"),
        (Column::UsedCost, "1.493333333"),
        (Column::SkuPriceId, "aws/test.8gpu/us-east-1/on-demand"),
        (
            Column::AllocatedMethodDetails,
            r#"{"Elements":[{"AllocatedRatio":0.333333333,"UsageUnit":"GPU-Hours","UsageQuantity":0.666666666}]}"#,
        ),
        (
            Column::AllocatedTags,
            r#"{"gpu-autoscaler.io/namespace":"research"}"#,
        ),
    ] {
        assert_eq!(train.get(column), Some(value), "{}", column.id());
    }
    let idle = records
        .iter()
        .find(|record| record.get(Column::AllocatedMethodId) == Some("idle-unallocated"))
        .unwrap();
    assert_eq!(idle.get(Column::AllocatedResourceId), None);
}

#[test]
fn own_columns_stand_last_and_have_their_prefix() {
    let own = Column::ALL
        .iter()
        .position(|column| column.id().starts_with("x_"));
    let own = own.unwrap();
    assert!(
        Column::ALL[own..]
            .iter()
            .all(|column| column.id().starts_with("x_"))
    );
    let mut names: Vec<&str> = Column::ALL[..own].iter().map(|column| column.id()).collect();
    assert!(names.is_sorted());
    names.dedup();
    assert_eq!(names.len(), own);
}

#[test]
fn commitments_are_told_apart_as_used_and_unused() {
    let commitment = Commitment {
        kind: CommitmentKind::Machines {
            count: 2,
            rate: usd("30"),
        },
        name: CommitmentName {
            id: "ri-1".to_owned(),
            cloud: Cloud::Aws,
            region: None,
            instance_type: None,
        },
        valid: PriceVersion::ALWAYS,
        as_of: minute(0),
    };
    let mut book = prices("50");
    book.add_commitment(commitment.clone());
    let node = Node::ready(machine("i-1", 8), minute(-60));
    let rows = books(&node.events).settle(hour(), &book, &Default::default());
    let records = export(&rows, &account(), &[commitment]).records;
    assert_eq!(check(&records), []);
    let status = |wanted: &str| -> Vec<Record> {
        let of = |record: &&Record| record.get(Column::CommitmentDiscountStatus) == Some(wanted);
        records.iter().filter(of).cloned().collect()
    };
    assert_eq!(sum(&status("Used"), Column::EffectiveCost), usd("30"));
    assert_eq!(sum(&status("Used"), Column::ListCost), usd("50"));
    assert_eq!(sum(&status("Unused"), Column::EffectiveCost), usd("30"));
    assert_eq!(sum(&records, Column::BilledCost), usd("0"));
    assert_eq!(status("Unused")[0].get(Column::AllocatedMethodId), None);
}

#[test]
fn a_cost_that_is_not_known_is_left_out_and_counted() {
    let node = Node::ready(machine("i-1", 8), minute(-60));
    let rows = settle(&node, &PriceBook::new());
    let export = export(&rows, &account(), &[]);
    assert_eq!((export.records.len(), export.unpriced), (0, rows.len()));
}

#[test]
fn broken_records_are_found() {
    let good = records(&shared_hour());
    #[track_caller]
    fn broken(good: &[Record], column: Column, value: Option<&str>) {
        let mut records = good.to_vec();
        records[0].set(column, value.map(str::to_owned));
        assert!(!check(&records).is_empty(), "{} {value:?}", column.id());
    }
    broken(&good, Column::EffectiveCost, None);
    broken(&good, Column::EffectiveCost, Some("1e-3"));
    broken(&good, Column::ListCost, Some("1"));
    broken(&good, Column::ChargeCategory, Some("Use"));
    broken(&good, Column::ChargePeriodEnd, Some("2026-11-16"));
    broken(&good, Column::ChargePeriodStart, Some("2026-10-16T00:00:00Z"));
    broken(&good, Column::SkuPriceId, None);
    broken(&good, Column::PricingUnit, None);
    broken(&good, Column::CommitmentDiscountId, Some("ri-1"));
    broken(&good, Column::AllocatedMethodId, None);
    broken(
        &good,
        Column::AllocatedMethodDetails,
        Some("{\"Elements\":[{\"AllocatedRatio\":0.5}]}"),
    );
    broken(&good, Column::AllocatedMethodDetails, Some("[]"));
    broken(&good, Column::ResourceName, Some("another"));
    broken(&good, Column::SkuPriceDetails, Some("{\"Gpus\":8}"));
    broken(&good, Column::BillingAccountId, Some(""));
}

#[test]
fn a_late_end_in_a_closed_month_is_a_correction() {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    node.bind(
        "train",
        0,
        Partition::Whole,
        Span::new(minute(0), Moment(i64::MAX)),
    );
    let book = prices("6");
    let mut ledger = settle(&node, &book);
    node.bind("train", 0, Partition::Whole, Span::new(minute(0), minute(20)));
    ledger.extend(correct(&ledger, settle(&node, &book)));
    let closed = Account {
        closed_before: Moment(i64::MAX),
        ..account()
    };
    let records = export(&ledger, &closed, &[]).records;
    assert_eq!(check(&records), []);
    let corrections = records
        .iter()
        .filter(|record| record.get(Column::ChargeClass) == Some("Correction"))
        .count();
    assert_eq!(corrections, 3);
    assert_eq!(sum(&records, Column::EffectiveCost), total(&ledger));
}

proptest! {
    #[test]
    fn every_export_keeps_the_rules_and_the_money(world in world()) {
        let rows = books(&world.events).settle(hour(), &world.prices, &world.settings);
        let records = records(&rows);
        prop_assert_eq!(check(&records), vec![]);
        prop_assert_eq!(sum(&records, Column::EffectiveCost), total(&rows));
    }
}

//! Which price holds.

use gpu_cost::prices::{Discount, OverrideRate, PriceVersion, SheetRow, Tariff};
use gpu_cost::{Machine, PriceBook, PriceNote, PriceSource, Span, UnpricedReason};
use gpu_model::{CapacityType, Cloud, Milliwatts, NanoUsd, Permille};

use crate::fleet::{machine, minute, override_all, price, prices, usd};

#[track_caller]
fn check(
    book: &PriceBook,
    machine: &Machine,
    rate: &str,
    list: &str,
    source: PriceSource,
    is_estimate: bool,
) {
    match book.quote(machine, minute(0)) {
        PriceNote::Priced {
            rate: found,
            list: listed,
            source: from,
            estimate,
            ..
        } => assert_eq!(
            (found, listed, from, estimate),
            (usd(rate), usd(list), source, is_estimate)
        ),
        PriceNote::Unpriced { reason } => panic!("{reason:?}"),
    }
}

#[track_caller]
fn refused(book: &PriceBook, machine: &Machine, expected: UnpricedReason) {
    assert_eq!(
        book.quote(machine, minute(0)),
        PriceNote::Unpriced { reason: expected }
    );
    assert!(!expected.advice().is_empty());
}

#[test]
fn better_sources_come_first_whatever_they_cost() {
    let node = machine("i-1", 8);
    let mut book = PriceBook::new();
    let from = |source, rate: &str| PriceVersion {
        source,
        ..price(rate, PriceVersion::ALWAYS)
    };
    book.add_versions([from(PriceSource::Bundled, "10")]);
    check(&book, &node, "10", "10", PriceSource::Bundled, false);
    book.add_versions([from(PriceSource::Live, "12")]);
    check(&book, &node, "12", "12", PriceSource::Live, false);
    book.add_discount(Discount {
        name: "edp".to_owned(),
        cloud: Cloud::Aws,
        instance_type: None,
        capacity: None,
        off: Permille::new(250).unwrap(),
        valid: PriceVersion::ALWAYS,
    });
    check(&book, &node, "9", "12", PriceSource::Live, false);
    book.add_versions([from(PriceSource::Bill, "8.5")]);
    check(&book, &node, "8.5", "8.5", PriceSource::Bill, false);
    book.add_override(override_all("7"));
    check(&book, &node, "7", "8.5", PriceSource::Override, false);
    let mut named = override_all("6");
    named.node = Some("node-i-1".to_owned());
    named.rate = OverrideRate::GpuHour(usd("0.5"));
    book.add_override(named);
    check(&book, &node, "4", "8.5", PriceSource::Override, false);
}

#[test]
fn the_price_of_the_zone_then_of_the_region_then_the_dearest_and_marked() {
    let mut node = machine("i-1", 8);
    node.capacity = CapacityType::Spot;
    node.zone = Some("use1-az2".to_owned());
    let mut book = PriceBook::new();
    let zone = |zone: &str, rate: &str| PriceVersion {
        capacity: CapacityType::Spot,
        zone: Some(zone.to_owned()),
        ..price(rate, PriceVersion::ALWAYS)
    };
    book.add_versions([zone("use1-az1", "3"), zone("use1-az3", "4")]);
    check(&book, &node, "4", "4", PriceSource::Live, true);
    book.add_versions([zone("use1-az2", "2")]);
    check(&book, &node, "2", "2", PriceSource::Live, false);
}

#[test]
fn a_reservation_without_a_commitment_is_priced_like_on_demand_and_marked() {
    let mut node = machine("i-1", 8);
    node.capacity = CapacityType::Reserved;
    check(&prices("5"), &node, "5", "5", PriceSource::Live, true);
}

#[test]
fn without_a_price_the_reason_is_told_and_nothing_is_assumed() {
    let book = prices("5");
    let node = machine("i-1", 8);
    let with = |change: fn(&mut Machine)| {
        let mut node = node.clone();
        change(&mut node);
        node
    };
    refused(
        &book,
        &with(|node| node.instance_type = None),
        UnpricedReason::NoInstanceType,
    );
    refused(&book, &with(|node| node.region = None), UnpricedReason::NoRegion);
    refused(
        &book,
        &with(|node| node.instance_type = Some("x9.huge".to_owned())),
        UnpricedReason::UnknownInstanceType,
    );
    refused(
        &book,
        &with(|node| node.region = Some("mars-1".to_owned())),
        UnpricedReason::UnknownRegion,
    );
    refused(
        &book,
        &with(|node| node.capacity = CapacityType::Spot),
        UnpricedReason::UnknownCapacityType,
    );
    refused(
        &book,
        &with(|node| node.cloud = Cloud::OnPremises),
        UnpricedReason::NotInSheet,
    );
    let mut old = PriceBook::new();
    old.add_versions([price("5", Span::new(minute(-90), minute(-60)))]);
    refused(&old, &node, UnpricedReason::OutsideValidity);
}

#[test]
fn an_own_machine_costs_its_purchase_its_support_its_room_and_its_measured_power() {
    let mut node = machine("own-1", 8);
    node.cloud = Cloud::OnPremises;
    node.capacity = CapacityType::Owned;
    let mut book = PriceBook::new();
    let row = SheetRow {
        name: "dgx".to_owned(),
        pool: Some("train".to_owned()),
        instance_type: None,
        gpu_model: None,
        purchase: usd("300000"),
        residual: usd("37200"),
        life_months: 48,
        support_per_year: Permille::new(50).unwrap(),
        fixed_per_month: usd("730"),
        power: Some(Tariff {
            per_kilowatt_hour: usd("0.2"),
            pue_thousandths: 1500,
        }),
        valid: PriceVersion::ALWAYS,
        as_of: minute(0),
    };
    // 262,800 over 35,040 hours is 7.50; 15,000 over 8,760 is 1.712328767; 730 over 730 is 1.
    assert_eq!(row.owned_hour(), usd("10.212328767"));
    book.add_sheet_row(row);
    check(
        &book,
        &node,
        "10.212328767",
        "10.212328767",
        PriceSource::Sheet,
        true,
    );
    let hour = Span::new(minute(0), minute(60));
    book.record_power(node.id.clone(), hour, Milliwatts::from_watts(6000));
    // Six kilowatts times 1.5 times 0.20 is 1.80 an hour.
    check(
        &book,
        &node,
        "12.012328767",
        "12.012328767",
        PriceSource::Sheet,
        false,
    );
}

#[test]
fn a_full_discount_costs_nothing_and_stays_a_price() {
    let mut book = prices("5");
    book.add_discount(Discount {
        name: "gift".to_owned(),
        cloud: Cloud::Aws,
        instance_type: Some("test.8gpu".to_owned()),
        capacity: Some(CapacityType::OnDemand),
        off: Permille::ONE,
        valid: PriceVersion::ALWAYS,
    });
    assert_eq!(
        book.quote(&machine("i-1", 8), minute(0)).rate(),
        Some(NanoUsd::ZERO)
    );
}

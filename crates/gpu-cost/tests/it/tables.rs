//! The tables that come with the program.

use std::collections::BTreeMap;

use gpu_cost::prices::{
    MachineType, NodeSplit, bundled_machine_types, bundled_prices, find_machine_type, parse_machine_types,
    parse_table, write_machine_types, write_table,
};
use gpu_cost::{Grain, Machine, Moment, PriceBook, PriceNote, PriceSource, Settings};
use gpu_model::{Bytes, CapacityType, Cloud, NanoUsd, Permille};

use crate::fleet::{Node, books, hour, machine, minute, total};

const PRICES: &str = include_str!("../../data/prices.csv");
const TYPES: &str = include_str!("../../data/machine-types.csv");

#[test]
fn the_tables_are_exactly_what_writing_them_gives() {
    let table = parse_table(PRICES).expect("sorted, unique, dated");
    let mut written = String::new();
    write_table(&mut written, &table).unwrap();
    assert!(written == PRICES, "rewrite it with `cargo xtask prices`");
    let mut written = String::new();
    write_machine_types(&mut written, &parse_machine_types(TYPES).unwrap()).unwrap();
    assert!(written == TYPES, "rewrite it with `cargo xtask prices`");
    assert!(PRICES.len() + TYPES.len() < 1 << 20, "part of every program");
}

#[test]
fn every_price_is_dated_has_an_origin_that_the_notes_explain_and_a_known_type() {
    let table = parse_table(PRICES).unwrap();
    assert!(table.rows.len() > 3000);
    for row in &table.rows {
        assert!(row.as_of.year() >= 2025, "{row:?}");
        assert!(
            table
                .notes
                .iter()
                .any(|note| note.starts_with("origin ") && note.contains(&row.origin)),
            "{row:?}"
        );
        assert!(
            find_machine_type(row.cloud, &row.instance_type).is_some(),
            "{row:?}"
        );
    }
}

#[test]
fn a_broken_table_is_refused_with_its_line() {
    let header = "cloud,instance_type,region,zone,capacity_type,usd_per_hour,as_of,origin\n";
    for (rows, line) in [
        (
            "aws,a,r,,on-demand,1,2026-01-01,x\naws,a,r,,on-demand,2,2026-01-01,x\n",
            "line 3",
        ),
        (
            "aws,b,r,,spot,1,2026-01-01,x\naws,a,r,,spot,2,2026-01-01,x\n",
            "line 3",
        ),
        ("aws,a,r,,on-demand,0,2026-01-01,x\n", "price"),
        ("aws,a,r,,on-demand,1,someday,x\n", "date"),
        ("moon,a,r,,on-demand,1,2026-01-01,x\n", "cloud"),
        ("aws,a,r,,on-demand,1,2026-01-01,x,y\n", "end"),
    ] {
        let error = parse_table(&format!("{header}{rows}")).unwrap_err();
        assert!(error.to_string().contains(line), "{error}");
    }
    assert!(parse_table("").is_err());
}

#[test]
fn gpus_of_the_usual_types() {
    #[track_caller]
    fn check(cloud: Cloud, name: &str, gpu: &str, devices: u16) {
        let known = find_machine_type(cloud, name).unwrap_or_else(|| panic!("{name} is not known"));
        assert_eq!((known.gpu.as_str(), known.devices()), (gpu, devices), "{name}");
    }
    check(Cloud::Aws, "p3.8xlarge", "V100", 4);
    check(Cloud::Aws, "p4d.24xlarge", "A100", 8);
    check(Cloud::Aws, "p5.48xlarge", "H100", 8);
    check(Cloud::Aws, "p5.4xlarge", "H100", 1);
    check(Cloud::Aws, "p6-b300.48xlarge", "B300", 8);
    check(Cloud::Aws, "g4dn.12xlarge", "T4", 4);
    check(Cloud::Aws, "g6e.48xlarge", "L40S", 8);
    check(Cloud::Aws, "g6f.large", "L4", 1);
    check(Cloud::Gcp, "a2-megagpu-16g", "A100", 16);
    check(Cloud::Gcp, "a3-highgpu-8g", "H100", 8);
    check(Cloud::Gcp, "g2-standard-96", "L4", 8);
    check(Cloud::Azure, "Standard_ND96isr_H100_v5", "H100", 8);
    check(Cloud::Azure, "Standard_ND96isr_MI300X_v5", "MI300X", 8);
    assert_eq!(find_machine_type(Cloud::Aws, "m5.large"), None);
}

fn as_machine(known: &MachineType, region: &str) -> Machine {
    Machine {
        cloud: known.cloud,
        instance_type: Some(known.name.clone()),
        region: Some(region.to_owned()),
        gpu_model: None,
        gpus: Some(known.devices()),
        vcpus: Some(known.vcpus),
        memory: Some(Bytes::from_mib(u64::from(known.memory_mib))),
        ..machine("i-1", known.devices())
    }
}

/// What an hour of one GPU costs under a rule, through the whole of settlement.
fn gpu_hour(book: &PriceBook, machine: Machine, split: NodeSplit) -> NanoUsd {
    let gpus = i64::from(machine.gpus.expect("a number of GPUs"));
    let node = Node::ready(machine, minute(-60));
    let settings = Settings {
        grain: Grain::Hour,
        split,
        ..Settings::default()
    };
    let rows = books(&node.events).settle(hour(), book, &settings);
    let on_gpus: Vec<_> = rows
        .into_iter()
        .filter(|row| matches!(row.slot, gpu_cost::Slot::Gpu { .. }))
        .collect();
    NanoUsd(total(&on_gpus).0 / gpus)
}

#[test]
fn a_newer_gpu_is_never_cheaper_in_the_same_region() {
    let book = PriceBook::with_bundled().unwrap();
    let type_of = |name: &str| find_machine_type(Cloud::Aws, name).expect("a known type");
    let order = [
        "p5.48xlarge",
        "p5en.48xlarge",
        "p6-b200.48xlarge",
        "p6-b300.48xlarge",
    ];
    let mut regions: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for version in bundled_prices().unwrap() {
        let name = order.iter().find(|name| **name == version.instance_type);
        if let (Some(name), CapacityType::OnDemand) = (name, version.capacity) {
            regions.entry(version.region).or_default().push(name);
        }
    }
    let splits = [
        NodeSplit::AllToGpu,
        NodeSplit::Ratio {
            gpu: Permille::new(900).unwrap(),
        },
        NodeSplit::Residual {
            core_hour: NanoUsd(31_600_000),
            gibibyte_hour: NanoUsd(4_200_000),
        },
    ];
    let mut compared = 0;
    for (region, names) in regions {
        let here: Vec<&str> = order.into_iter().filter(|name| names.contains(name)).collect();
        for pair in here.windows(2) {
            for split in splits {
                let older = gpu_hour(&book, as_machine(type_of(pair[0]), &region), split);
                let newer = gpu_hour(&book, as_machine(type_of(pair[1]), &region), split);
                assert!(
                    older.0 > 0 && newer >= older,
                    "{pair:?} in {region} with {split:?}: {older} {newer}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 6, "regions that have both");
    // The split by fixed reference prices, kept for comparison, is the one that turns them round.
    let b200 = gpu_hour(
        &book,
        as_machine(type_of("p6-b200.48xlarge"), "us-east-2"),
        NodeSplit::OPENCOST,
    );
    let b300 = gpu_hour(
        &book,
        as_machine(type_of("p6-b300.48xlarge"), "us-west-2"),
        NodeSplit::OPENCOST,
    );
    assert!(b300 < b200, "{b300} {b200}");
}

#[test]
fn a_bundled_price_carries_its_source_and_its_age() {
    let book = PriceBook::with_bundled().unwrap();
    let known = find_machine_type(Cloud::Aws, "p5.48xlarge").unwrap();
    let price = book.quote(&as_machine(known, "us-east-1"), minute(0));
    let PriceNote::Priced {
        rate,
        source,
        as_of,
        estimate,
        ..
    } = price
    else {
        panic!("{price:?}");
    };
    assert_eq!(
        (rate, source, estimate),
        (NanoUsd(55_040_000_000), PriceSource::Bundled, false)
    );
    assert_eq!(as_of.to_string(), "2026-08-22T00:00:00Z");
    assert!(as_of > Moment(0));
    assert!(bundled_machine_types().len() > 100);
}

#[test]
fn a_type_fills_in_what_nobody_told_and_leaves_the_rest() {
    let mut node = machine("i-1", 8);
    node.instance_type = Some("p5.48xlarge".to_owned());
    (node.gpus, node.vcpus, node.memory) = (Some(7), None, None);
    node.complete_from_type();
    assert_eq!(
        (node.gpus, node.vcpus, node.memory),
        (Some(7), Some(192), Some(Bytes::from_gib(2048)))
    );
    node.instance_type = Some("x9.huge".to_owned());
    node.vcpus = None;
    node.complete_from_type();
    assert_eq!(node.vcpus, None);
}

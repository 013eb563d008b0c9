//! Documents as people write them, right and wrong.

use gpu_cost::Moment;
use gpu_cost::prices::{NodeSplit, OverrideRate};
use gpu_model::{NanoUsd, Permille};

use proptest::prelude::*;

use super::*;

const WRITTEN: Moment = Moment::from_seconds(1_700_000_000);

const WHOLE: &str = "
overrides:
  - name: contract
    cloud: aws
    region: us-east-1
    zone: use1-az1
    instanceType: p5.48xlarge
    capacity: on-demand
    nodeHour: 41.50
    from: 2026-01-01
    until: 2027-01-01T12:00:00Z
  - name: lab
    pool: lab
    gpuModel: H100
    node: gpu-7
    gpuHour: 2
discounts:
  - {name: agreement, cloud: aws, off: 12.5%}
  - {name: spot, cloud: gcp, capacity: spot, instanceType: a3-highgpu-8g, off: 0.05}
commitments:
  - name: four-p5
    cloud: aws
    region: us-east-1
    instanceType: p5.48xlarge
    machines: {count: 4, nodeHour: 30.2}
  - {name: plan, cloud: aws, spend: {perHour: 120, off: 27%}, until: 2027-06-30}
sheet:
  - name: dgx
    pool: cellar
    purchase: 300000
    residual: 30000
    lifeMonths: 48
    supportPerYear: 5%
    fixedPerMonth: 1500
    power: {perKilowattHour: 0.18, pue: 1.3}
split:
  residual: {coreHour: 0.0316, gibibyteHour: 0.0042}
";

#[test]
fn every_kind_of_rule_is_read() {
    let document = parse(WHOLE, WRITTEN).unwrap();
    assert_eq!(document.len(), 7);
    let contract = &document.overrides[0];
    assert_eq!(contract.rate, OverrideRate::NodeHour(NanoUsd(41_500_000_000)));
    assert_eq!(contract.valid.start.to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(contract.valid.end.to_string(), "2027-01-01T12:00:00Z");
    assert_eq!(contract.as_of, contract.valid.start);
    let lab = &document.overrides[1];
    assert_eq!(
        (lab.rate, lab.as_of),
        (OverrideRate::GpuHour(NanoUsd(2_000_000_000)), WRITTEN)
    );
    let off: Vec<u16> = document.discounts.iter().map(|rule| rule.off.get()).collect();
    assert_eq!(off, [125, 50]);
    assert_eq!(
        document.commitments[1].valid.end.to_string(),
        "2027-06-30T00:00:00Z"
    );
    let power = document.sheet[0].power.unwrap();
    assert_eq!(
        (power.per_kilowatt_hour, power.pue_thousandths),
        (NanoUsd(180_000_000), 1300)
    );
    assert_eq!(document.sheet[0].support_per_year, Permille::new(50).unwrap());
    let expected = NodeSplit::Residual {
        core_hour: NanoUsd(31_600_000),
        gibibyte_hour: NanoUsd(4_200_000),
    };
    assert_eq!(document.split, Some(expected));
}

#[test]
fn the_example_of_the_documentation_is_one() {
    let documentation = include_str!("../../../../docs/cost.md");
    let block = documentation
        .split("```")
        .find(|block| block.contains("overrides:\n"))
        .unwrap();
    let document = parse(block.strip_prefix("yaml").unwrap(), WRITTEN).unwrap();
    let rules = (
        document.overrides.len(),
        document.discounts.len(),
        document.commitments.len(),
        document.sheet.len(),
    );
    assert_eq!(rules, (1, 1, 2, 1));
    assert_eq!(document.split, Some(NodeSplit::AllToGpu));
}

#[test]
fn the_day_of_writing_can_be_pinned() {
    let text = "asOf: 2026-02-03\noverrides: [{name: a, nodeHour: 1}]";
    let document = parse(text, WRITTEN).unwrap();
    assert_eq!(document.overrides[0].as_of.to_string(), "2026-02-03T00:00:00Z");
}

#[test]
fn each_way_of_dividing_a_node_has_a_name() {
    let split = |text: &str| parse(text, WRITTEN).unwrap().split;
    assert_eq!(split("split: allToGpu"), Some(NodeSplit::AllToGpu));
    assert_eq!(split("split: opencost"), Some(NodeSplit::OPENCOST));
    let ratio = NodeSplit::Ratio {
        gpu: Permille::new(800).unwrap(),
    };
    assert_eq!(split("split: {ratio: {gpu: 80%}}"), Some(ratio));
    let reference = "split: {reference: {gpuHour: 0.95, coreHour: 0.031611, gibibyteHour: 0.004237}}";
    assert_eq!(split(reference), Some(NodeSplit::OPENCOST));
}

#[test]
fn nothing_is_a_document_too() {
    for text in ["", "# later\n", "{}", "overrides:\n", "overrides: []"] {
        assert!(parse(text, WRITTEN).unwrap().is_empty(), "{text}");
    }
}

/// The words of a refusal, one a line.
#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let said = parse(text, WRITTEN).unwrap_err().to_string().replace("; ", "\n");
    assert_eq!(said.trim(), expected.trim());
}

#[test]
fn every_fault_is_named_with_its_place_and_what_to_write() {
    check_refused(
        "
overrides:
  - {name: a, nodeHour: '12,50'}
  - {name: a, nodeHour: -1}
  - {name: b}
  - {name: c, nodeHour: 1, gpuHour: 1, cloud: amazon, capacity: ondemand}
  - {name: d, nodeHour: 1, from: 31.1.2026}
  - {name: e, nodeHour: 1, from: 2026-02-01, until: 2026-01-01}
discounts:
  - {name: '', cloud: aws, off: 120%}
  - {name: f, cloud: aws, off: 1}
  - {name: g, cloud: aws, off: 12.55%}
commitments:
  - {name: h, cloud: aws}
  - {name: i, cloud: aws, machines: {count: 0, nodeHour: x}}
sheet:
  - {name: j, purchase: 1, residual: 2, lifeMonths: four, power: {perKilowattHour: 0.1, pue: 0.9}}
split: {ratio: {gpu: half}}
",
        "
overrides[0].nodeHour: `12,50` is no amount in dollars: write digits with a point, as 41.50
overrides[1].name: `a` is there twice: give each its own name
overrides[1].nodeHour: `-1` is below zero: a price is 0 or more
overrides[2]: needs either `nodeHour` or `gpuHour`, the price of an hour in dollars
overrides[3]: needs either `nodeHour` or `gpuHour`, the price of an hour in dollars
overrides[3].cloud: `amazon` is no cloud: write aws, gcp, azure or on-premises
overrides[3].capacity: `ondemand` is no way of paying: write spot, on-demand, reserved or owned
overrides[4].from: `31.1.2026` is no day: write 2026-01-31, or 2026-01-31T12:00:00Z
overrides[5].until: lies before `from`: write a later day, or leave it out
discounts[0].name: has to have 1 to 100 characters
discounts[0].off: `120%` is no share: write 12%, 12.5% or 0.125, from 0 to 100%
discounts[1].off: `1` is no share: write 12%, 12.5% or 0.125, from 0 to 100%
discounts[2].off: `12.55%` is no share: write 12%, 12.5% or 0.125, from 0 to 100%
commitments[0]: needs either `machines` (count, nodeHour) or `spend` (perHour, off)
commitments[1].machines.count: `0` is no number: write a whole number from 1 on
commitments[1].machines.nodeHour: `x` is no amount in dollars: write digits with a point, as 41.50
sheet[0].residual: is more than `purchase`
sheet[0].power.pue: `0.9` is no power usage effectiveness: write a factor from 1 to 10, as 1.3
sheet[0].lifeMonths: `four` is no number: write a whole number from 1 on
split.ratio.gpu: `half` is no share: write 12%, 12.5% or 0.125, from 0 to 100%
",
    );
}

#[test]
fn a_field_that_does_not_exist_is_named_with_its_line() {
    let said = parse("overrides:\n  - name: a\n    nodeHours: 1\n", WRITTEN)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("line 3") && said.contains("`nodeHours`") && said.contains("nodeHour,"),
        "{said}"
    );
    let said = parse("override: []", WRITTEN).unwrap_err().to_string();
    assert!(
        said.contains("`override`") && said.contains("overrides"),
        "{said}"
    );
    assert!(parse("overrides: [", WRITTEN).is_err());
}

#[test]
fn a_document_is_bounded_in_every_direction() {
    let long = format!("# {}", "x".repeat(1024 * 1024));
    assert!(matches!(
        parse(&long, WRITTEN),
        Err(DocumentError::TooLong { .. })
    ));
    let mut many = String::from("overrides:\n");
    for number in 0..1001 {
        many += &format!("- {{name: n{number}, nodeHour: 1}}\n");
    }
    let said = parse(&many, WRITTEN).unwrap_err().to_string();
    assert_eq!(said, "overrides: has 1001 entries; at most 1000 are taken");
    let mut wrong = String::from("overrides:\n");
    for number in 0..500 {
        wrong += &format!("- {{name: n{number}, nodeHour: x}}\n");
    }
    match parse(&wrong, WRITTEN).unwrap_err() {
        DocumentError::Values(faults) => assert_eq!(faults.len(), 20),
        other => panic!("{other}"),
    }
    // A billion laughs.
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for step in 1..10 {
        let refers = format!("*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}", step - 1);
        laughs += &format!("a{step}: &a{step} [{refers}]\n");
    }
    assert!(parse(&laughs, WRITTEN).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(overrides|sheet|split|discounts|asOf|name|off|[ :\\-{}\\[\\],.%&*0-9a-z\n'\"])*") {
        let _ = parse(&text, WRITTEN);
    }
}

//! Bills worked out by hand.

use gpu_cost::prices::{Commitment, CommitmentKind, PriceVersion};
use gpu_cost::{
    CommitmentName, Event, Gpu, Grain, Moment, Part, Phase, PriceBook, PriceNote, ShareBasis, Slot, Span,
    UnpricedReason, correct, efficiency, roll_up,
};
use gpu_model::{CapacityType, Cloud, NanoUsd, Partition, Permille};

use crate::fleet::{
    Node, books, cpx, hour, machine, mig, minute, price, prices, second, settle, summary, total, usd, uuid,
};

const FOREVER: Moment = Moment(i64::MAX);

/// A pod that held a number of GPUs over the hour, so many of them busy.
fn eight(busy: usize) -> Node {
    let mut node = Node::ready(machine("i-1", 8), minute(-60));
    for gpu in 0..8 {
        node.bind("train", gpu, Partition::Whole, Span::new(minute(0), FOREVER));
        let load = if gpu < busy { 1000 } else { 0 };
        node.used("train", gpu, Partition::Whole, hour(), load);
    }
    node
}

#[test]
fn eight_busy_gpus_are_all_used() {
    let rows = settle(&eight(8), &prices("55.04"));
    assert_eq!(total(&rows), usd("55.04"));
    let day = roll_up(&rows, Grain::Day);
    assert_eq!(efficiency(&day).used, Some(Permille::ONE));
    assert_eq!(day[0].amounts.used, usd("55.04"));
}

#[test]
fn one_busy_gpu_of_eight_is_an_eighth_and_the_idle_ones_are_named() {
    let rows = settle(&eight(1), &prices("55.04"));
    let day = roll_up(&rows, Grain::Day);
    assert_eq!(efficiency(&day).used, Permille::new(125).ok());
    assert_eq!(day[0].amounts.used, usd("6.88"));
    assert_eq!(day[0].amounts.unused, usd("48.16"));
    assert_eq!(rows[0].part.gap(), "held-unused");
    let idle: Vec<_> = rows
        .iter()
        .filter(|row| row.time.used_ms == 0)
        .map(|row| row.slot.clone())
        .collect();
    let named: Vec<_> = (1..8)
        .map(|gpu| Slot::Gpu {
            gpu: uuid(gpu),
            partition: Some(Partition::Whole),
        })
        .collect();
    assert_eq!(idle, named);
}

#[test]
fn two_mig_slices_and_an_idle_rest() {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    node.bind("large", 0, mig("3g.40gb", 1), Span::new(minute(0), FOREVER));
    node.bind("small", 0, mig("1g.10gb", 7), Span::new(minute(0), FOREVER));
    node.used("large", 0, mig("3g.40gb", 1), hour(), 500);
    let rows = settle(&node, &prices("7"));
    assert_eq!(
        summary(&rows),
        [
            "pod large $3.000000000",
            "pod small $1.000000000",
            "idle $3.000000000"
        ]
    );
    let large = rows
        .iter()
        .find(|row| row.time.used_ms > 0)
        .and_then(|row| row.amounts)
        .unwrap();
    assert_eq!(
        (large.used, large.unused, large.unmeasured),
        (usd("1.5"), usd("1.5"), NanoUsd::ZERO)
    );
    // Nobody measured the small one: it neither used nor wasted.
    let small = rows
        .iter()
        .find(|row| row.time.unmeasured_ms > 0)
        .and_then(|row| row.amounts)
        .unwrap();
    assert_eq!((small.used, small.unmeasured), (NanoUsd::ZERO, usd("1")));
}

fn sharing(of: u16, loads: [Option<u16>; 3]) -> Vec<String> {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    for ((replica, pod), load) in (0u16..).zip(["a", "b", "c"]).zip(loads) {
        let part = Partition::TimeShared { replica, of };
        node.bind(pod, 0, part.clone(), Span::new(minute(0), FOREVER));
        if let Some(load) = load {
            node.used(pod, 0, part, hour(), load);
        }
    }
    let rows = settle(&node, &prices("10"));
    let expected = if loads.iter().all(Option::is_some) {
        ShareBasis::TimeShareMeasured
    } else {
        ShareBasis::TimeShareEstimate
    };
    assert!(rows.iter().any(|row| row.basis == expected));
    summary(&rows)
}

#[test]
fn three_time_sharing_pods_carry_what_they_used_and_reserved() {
    // All reserved: 90 % are used, and the last tenth goes to those below their third: b lacks 3.33 %, c lacks 23.33 %, so
    // they carry an eighth and seven eighths of it.
    assert_eq!(
        sharing(3, [Some(500), Some(300), Some(100)]),
        ["pod a $5.000000000", "pod b $3.125000000", "pod c $1.875000000"]
    );
    // Nobody measured: equal parts, and the rows say that they are estimates.
    assert_eq!(
        sharing(3, [None, None, None]),
        ["pod a $3.333333334", "pod b $3.333333333", "pod c $3.333333333"]
    );
    // A free replica is idle as far as nobody used its time.
    assert_eq!(
        sharing(4, [Some(100), Some(100), Some(100)]),
        [
            "pod a $2.500000000",
            "pod b $2.500000000",
            "pod c $2.500000000",
            "idle $2.500000000"
        ]
    );
}

#[test]
fn two_of_eight_amd_devices() {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    node.bind("a", 0, cpx(0), Span::new(minute(0), FOREVER));
    node.bind("b", 0, cpx(5), Span::new(minute(0), FOREVER));
    assert_eq!(
        summary(&settle(&node, &prices("8"))),
        ["pod a $1.000000000", "pod b $1.000000000", "idle $6.000000000"]
    );
}

#[test]
fn a_price_change_in_mid_hour_cuts_the_bill_there() {
    let mut node = Node::ready(machine("i-1", 8), minute(-60));
    node.bind("train", 0, Partition::Whole, Span::new(minute(0), FOREVER));
    let mut book = PriceBook::new();
    book.add_versions([
        price("80", Span::new(minute(-600), minute(30))),
        price("40", Span::new(minute(30), minute(600))),
    ]);
    let rows = settle(&node, &book);
    assert_eq!(total(&rows), usd("60"));
    assert_eq!(summary(&rows), ["pod train $7.500000000", "idle $52.500000000"]);
}

#[test]
fn a_lost_spot_node_costs_until_it_is_gone() {
    let mut spot = machine("i-1", 8);
    spot.capacity = CapacityType::Spot;
    spot.zone = Some("use1-az4".to_owned());
    let mut node = Node::ready(spot, minute(10));
    node.bind("train", 0, Partition::Whole, Span::new(minute(12), minute(33)));
    node.draining(minute(31));
    node.gone(minute(33));
    let mut book = PriceBook::new();
    let mut version = price("48", PriceVersion::ALWAYS);
    version.capacity = CapacityType::Spot;
    version.zone = Some("use1-az4".to_owned());
    book.add_versions([version]);
    let rows = settle(&node, &book);
    // 23 minutes of 48 dollars an hour: 21 of them for one GPU of eight, two of them draining for the other seven.
    assert_eq!(total(&rows), usd("18.4"));
    assert_eq!(
        summary(&rows),
        [
            "pod train $2.100000000",
            "idle $14.900000000",
            "drain $1.400000000"
        ]
    );
}

#[test]
fn a_pod_of_five_seconds_is_on_the_bill() {
    let mut node = Node::ready(machine("i-1", 8), minute(-60));
    node.bind("blink", 3, Partition::Whole, Span::new(second(100), second(105)));
    let rows = settle(&node, &prices("57.6"));
    assert_eq!(summary(&rows), ["pod blink $0.010000000", "idle $57.590000000"]);
}

#[test]
fn booting_waiting_and_unseen_gpus_have_their_names() {
    let machine = std::sync::Arc::new(machine("i-1", 8));
    let id = machine.id.clone();
    let mut node = Node {
        machine: machine.clone(),
        events: vec![
            Event::Launched {
                machine,
                at: minute(0),
            },
            Event::Ready {
                machine: id.clone(),
                at: minute(6),
            },
            Event::GpuSeen {
                machine: id.clone(),
                gpu: Gpu {
                    uuid: uuid(0),
                    model: None,
                    compute_dies: None,
                },
                at: minute(12),
            },
            Event::GpuWithheld {
                machine: id.clone(),
                gpu: uuid(0),
                span: Span::new(minute(42), minute(48)),
            },
            Event::Blind {
                machine: id,
                span: Span::new(minute(48), minute(54)),
            },
        ],
    };
    node.bind("pull", 0, Partition::Whole, Span::new(minute(18), minute(36)));
    let rows = settle(&node, &prices("80"));
    assert_eq!(total(&rows), usd("80"));
    assert_eq!(
        summary(&rows),
        [
            "pod pull $3.000000000",
            "idle $3.000000000",
            "system $1.000000000",
            "boot $9.000000000",
            "unknown $64.000000000"
        ]
    );
}

#[test]
fn time_before_the_containers_run_is_marked() {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    node.bind("slow", 0, Partition::Whole, Span::new(minute(0), FOREVER));
    for event in &mut node.events {
        if let Event::Running { at, .. } = event {
            *at = minute(15);
        }
    }
    let rows = settle(&node, &prices("4"));
    let phases: Vec<_> = rows
        .iter()
        .map(|row| (row.phase, row.amounts.unwrap().allocated))
        .collect();
    assert_eq!(phases, [(Phase::Starting, usd("1")), (Phase::Running, usd("3"))]);
}

#[test]
fn a_node_without_a_price_says_so_and_its_time_is_still_counted() {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    node.bind("train", 0, Partition::Whole, Span::new(minute(0), FOREVER));
    let rows = settle(&node, &PriceBook::new());
    assert_eq!(rows[0].amounts, None);
    assert_eq!(
        rows[0].price,
        PriceNote::Unpriced {
            reason: UnpricedReason::UnknownInstanceType
        }
    );
    assert_eq!(rows[0].time.held_ms, 3_600_000);
    assert_eq!(roll_up(&rows, Grain::Hour)[0].unpriced_ms, 3_600_000);
}

#[test]
fn an_unused_commitment_is_a_cost_of_its_own() {
    let mut book = prices("50");
    book.add_commitment(Commitment {
        kind: CommitmentKind::Machines {
            count: 2,
            rate: usd("30"),
        },
        name: CommitmentName {
            id: "ri-1".to_owned(),
            cloud: Cloud::Aws,
            region: None,
            instance_type: Some("test.8gpu".to_owned()),
        },
        valid: PriceVersion::ALWAYS,
        as_of: minute(0),
    });
    let one = Node::ready(machine("i-1", 8), minute(-60));
    let mut two = Node::ready(machine("i-2", 8), minute(-30));
    two.gone(minute(30));
    let events = one.events.iter().chain(&two.events);
    let rows = books(events).settle(hour(), &book, &Default::default());
    // One covered for the hour, one for half of it, and the other half of the second commitment covers nothing.
    assert_eq!(
        summary(&rows),
        ["idle $45.000000000", "unused-commitment $15.000000000"]
    );
    let list: NanoUsd = rows.iter().map(|row| row.amounts.unwrap().list).sum();
    assert_eq!(list, usd("90"));
}

#[test]
fn a_savings_plan_covers_in_part_and_the_discount_reaches_the_gpus() {
    let mut book = prices("50");
    book.add_commitment(Commitment {
        kind: CommitmentKind::Spend {
            per_hour: usd("60"),
            off: Permille::new(200).unwrap(),
        },
        name: CommitmentName {
            id: "sp-1".to_owned(),
            cloud: Cloud::Aws,
            region: None,
            instance_type: None,
        },
        valid: PriceVersion::ALWAYS,
        as_of: minute(0),
    });
    let one = Node::ready(machine("i-1", 8), minute(-60));
    let two = Node::ready(machine("i-2", 8), minute(-30));
    let rows = books(one.events.iter().chain(&two.events)).settle(hour(), &book, &Default::default());
    let cost = |id: &str| {
        let rows: Vec<_> = rows
            .iter()
            .filter(|row| row.subject.id() == id)
            .cloned()
            .collect();
        total(&rows)
    };
    // 40 of the 60 dollars cover the first; 20 cover half of the second, whose other half costs 25.
    assert_eq!((cost("i-1"), cost("i-2")), (usd("40"), usd("45")));
    assert!(rows.iter().all(|row| row.part == Part::Idle));
}

#[test]
fn an_end_that_is_learnt_late_is_corrected_by_reversals() {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    node.bind("train", 0, Partition::Whole, Span::new(minute(0), FOREVER));
    let book = prices("6");
    let mut ledger = settle(&node, &book);
    assert_eq!(summary(&ledger), ["pod train $6.000000000"]);

    node.bind("train", 0, Partition::Whole, Span::new(minute(0), minute(20)));
    let correction = correct(&ledger, settle(&node, &book));
    assert_eq!(correction.len(), 3, "one row back, two new ones");
    ledger.extend(correction);
    assert_eq!(summary(&ledger), ["pod train $2.000000000", "idle $4.000000000"]);
    assert_eq!(total(&ledger), usd("6"));
    assert_eq!(correct(&ledger, settle(&node, &book)), []);
}

#[test]
fn a_price_that_is_learnt_late_is_corrected_too() {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    node.bind("train", 0, Partition::Whole, Span::new(minute(0), FOREVER));
    let mut ledger = settle(&node, &PriceBook::new());
    assert_eq!(total(&ledger), NanoUsd::ZERO);
    ledger.extend(correct(&ledger, settle(&node, &prices("6"))));
    assert_eq!(total(&ledger), usd("6"));
    let hours = roll_up(&ledger, Grain::Hour);
    assert_eq!(
        (hours.len(), hours[0].unpriced_ms, hours[0].time.held_ms),
        (1, 0, 3_600_000)
    );
}

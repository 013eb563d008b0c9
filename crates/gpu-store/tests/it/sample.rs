//! Rows as settlement would write them, from a few numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_cost::{
    Amounts, Dimensions, Entry, GpuTime, Holder, LedgerRow, Machine, Moment, Part, Phase, PriceNote,
    PriceSource, RowKey, ShareBasis, Slot, Span, Subject,
};
use gpu_model::{CapacityType, Cloud, ClusterId, GpuUuid, MachineId, NanoUsd, NodeName, OwnerRef, Partition};

/// 2026-03-01 00:00 UTC: the start of a day.
pub(crate) const DAY_ONE: i64 = 1_772_323_200_000;
pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

pub(crate) fn cluster(name: &str) -> ClusterId {
    ClusterId::new(name).unwrap()
}

pub(crate) fn at(offset: i64) -> Moment {
    Moment(DAY_ONE + offset)
}

pub(crate) fn span(from: i64, to: i64) -> Span {
    Span::new(at(from), at(to))
}

pub(crate) fn machine(number: u32) -> Arc<Machine> {
    Arc::new(Machine {
        id: MachineId::new(format!("i-{number:08}")).unwrap(),
        node: NodeName::new(format!("gpu-node-{number}")).unwrap(),
        cloud: Cloud::Aws,
        instance_type: Some("p5.48xlarge".to_owned()),
        region: Some("eu-central-1".to_owned()),
        zone: Some("euc1-az2".to_owned()),
        capacity: if number.is_multiple_of(2) {
            CapacityType::OnDemand
        } else {
            CapacityType::Spot
        },
        pool: Some("training".to_owned()),
        gpu_model: Some(if number.is_multiple_of(3) { "H200" } else { "H100" }.to_owned()),
        gpus: Some(8),
        vcpus: Some(192),
        memory: None,
    })
}

pub(crate) fn holder(pod: u32) -> Arc<Holder> {
    let team = (!pod.is_multiple_of(5)).then(|| format!("team-{}", pod % 4));
    let labels = if pod.is_multiple_of(2) {
        BTreeMap::from([("tier".to_owned(), format!("tier-{}", pod % 3))])
    } else {
        BTreeMap::new()
    };
    Arc::new(Holder {
        namespace: format!("ns-{}", pod % 7).parse().unwrap(),
        pod: format!("trainer-{pod}").parse().unwrap(),
        uid: format!("uid-{pod}").parse().unwrap(),
        container: Some("main".parse().unwrap()),
        dimensions: Dimensions {
            team,
            owner: Some(OwnerRef {
                kind: "Job".to_owned(),
                name: format!("train-{}", pod / 4),
            }),
            workflow: pod.is_multiple_of(3).then(|| format!("wf-{}", pod / 9)),
            step: pod.is_multiple_of(3).then(|| "fit".to_owned()),
            retry: pod.is_multiple_of(3).then_some(pod % 2),
            labels,
            ..Dimensions::default()
        },
    })
}

pub(crate) fn price(rate: i64) -> PriceNote {
    PriceNote::Priced {
        rate: NanoUsd(rate),
        list: NanoUsd(rate * 2),
        source: PriceSource::Bundled,
        as_of: Moment(DAY_ONE),
        capacity: CapacityType::OnDemand,
        estimate: false,
        commitment: None,
    }
}

/// A pod's row: `pod` on one GPU of the machine `pod / 8`, with an amount that no bucket divides evenly.
pub(crate) fn pod_row(pod: u32, span: Span) -> LedgerRow {
    let gpu = GpuUuid::new(format!("GPU-{pod:04}")).unwrap();
    let length = span.milliseconds();
    let allocated = length * 1_913 + i64::from(pod);
    let used = allocated * i64::from(pod % 10) / 13;
    let unmeasured = if pod.is_multiple_of(11) {
        allocated - used
    } else {
        0
    };
    row(
        Part::Pod,
        pod / 8,
        span,
        Slot::Gpu {
            gpu,
            partition: Some(Partition::Whole),
        },
        Some(holder(pod)),
        Amounts {
            list: NanoUsd(allocated * 2),
            allocated: NanoUsd(allocated),
            used: NanoUsd(used),
            unused: NanoUsd(allocated - used - unmeasured),
            unmeasured: NanoUsd(unmeasured),
        },
    )
}

pub(crate) fn idle_row(machine: u32, span: Span) -> LedgerRow {
    let allocated = NanoUsd(span.milliseconds() * 777 + 1);
    let amounts = Amounts {
        list: NanoUsd(allocated.0 * 2),
        allocated,
        unused: allocated,
        ..Amounts::default()
    };
    row(Part::Idle, machine, span, Slot::Whole, None, amounts)
}

fn row(
    part: Part,
    number: u32,
    span: Span,
    slot: Slot,
    holder: Option<Arc<Holder>>,
    amounts: Amounts,
) -> LedgerRow {
    let length = span.milliseconds();
    LedgerRow {
        key: RowKey([0; 16]),
        entry: Entry::Charge,
        revision: 0,
        cluster: cluster("blue"),
        subject: Subject::Machine(machine(number)),
        span,
        part,
        slot,
        phase: if holder.is_some() {
            Phase::Running
        } else {
            Phase::None
        },
        holder,
        basis: if number.is_multiple_of(4) {
            ShareBasis::TimeShareEstimate
        } else {
            ShareBasis::Exclusive
        },
        time: GpuTime {
            held_ms: length,
            used_ms: length / 3,
            unmeasured_ms: 0,
        },
        amounts: Some(amounts),
        price: price(98_320_000_000),
    }
    .sealed()
}

//! The rows of a fleet that is only numbers.

use std::sync::Arc;

use gpu_cost::{
    Amounts, Dimensions, Entry, GpuTime, Holder, LedgerRow, Machine, Moment, Part, Phase, PriceNote,
    PriceSource, RowKey, ShareBasis, Slot, Span, Subject,
};
use gpu_model::{CapacityType, Cloud, ClusterId, GpuUuid, MachineId, NanoUsd, NodeName, OwnerRef};

/// A start of a day in 2026.
pub(crate) const FIRST: i64 = 1_772_323_200_000;

/// A pod on a GPU of its own: 50 namespaces, 12 teams, 8 GPUs a machine, a label, an owner for four pods.
pub(crate) fn template(pod: u32) -> LedgerRow {
    let number = pod / 8;
    let text = |name: String| Some(name);
    let machine = Machine {
        id: MachineId::new(format!("i-{number:017x}")).expect("it is a name"),
        node: NodeName::new(format!("ip-10-0-{}-{}.ec2.internal", number / 250, number % 250))
            .expect("it is a name"),
        cloud: Cloud::Aws,
        instance_type: text("p5.48xlarge".to_owned()),
        region: text("eu-central-1".to_owned()),
        zone: text(format!("euc1-az{}", number % 3)),
        capacity: CapacityType::OnDemand,
        pool: text("training".to_owned()),
        gpu_model: text(if number.is_multiple_of(4) { "H200" } else { "H100" }.to_owned()),
        gpus: Some(8),
        vcpus: Some(192),
        memory: None,
    };
    let holder = Holder {
        namespace: format!("ns-{}", pod % 50).parse().expect("it is a name"),
        pod: format!("trainer-{pod}-worker-0").parse().expect("it is a name"),
        uid: format!("uid-{pod}").parse().expect("it is a name"),
        container: Some("main".parse().expect("it is a name")),
        dimensions: Dimensions {
            team: text(format!("team-{}", pod % 12)),
            owner: Some(OwnerRef {
                kind: "Job".to_owned(),
                name: format!("train-{}", pod / 4),
            }),
            labels: [("tier".to_owned(), format!("tier-{}", pod % 3))].into(),
            ..Dimensions::default()
        },
    };
    LedgerRow {
        key: RowKey([0; 16]),
        entry: Entry::Charge,
        revision: 0,
        cluster: ClusterId::new("production").expect("it is a name"),
        subject: Subject::Machine(Arc::new(machine)),
        span: Span::new(Moment(0), Moment(0)),
        part: Part::Pod,
        slot: Slot::Gpu {
            gpu: GpuUuid::new(format!("GPU-{pod:032x}")).expect("it is a name"),
            partition: None,
        },
        holder: Some(Arc::new(holder)),
        phase: Phase::Running,
        basis: ShareBasis::Exclusive,
        time: GpuTime::default(),
        amounts: None,
        price: PriceNote::Priced {
            rate: NanoUsd(98_320_000_000),
            list: NanoUsd(98_320_000_000),
            source: PriceSource::Bundled,
            as_of: Moment(FIRST),
            capacity: CapacityType::OnDemand,
            estimate: false,
            commitment: None,
        },
    }
}

pub(crate) fn row(template: &LedgerRow, span: Span) -> LedgerRow {
    let held_ms = span.milliseconds();
    let allocated = 12_290_000_000 * held_ms / 3_600_000;
    let used = allocated * 61 / 100;
    LedgerRow {
        span,
        time: GpuTime {
            held_ms,
            used_ms: held_ms * 61 / 100,
            unmeasured_ms: 0,
        },
        amounts: Some(Amounts {
            list: NanoUsd(allocated),
            allocated: NanoUsd(allocated),
            used: NanoUsd(used),
            unused: NanoUsd(allocated - used),
            unmeasured: NanoUsd(0),
        }),
        ..template.clone()
    }
    .sealed()
}

//! Machines, pods and prices for the tests, in few words.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_cost::prices::{Override, OverrideRate, PriceVersion};
use gpu_cost::{
    Books, Claim, Dimensions, End, Event, Gpu, Grain, Holder, HolderClass, LedgerRow, Machine, Moment, Part,
    PriceBook, Settings, Span,
};
use gpu_model::{
    AmdComputeMode, Bytes, CapacityType, Cloud, ClusterId, GpuUuid, MachineId, MigProfileName, Namespace,
    NanoUsd, NodeName, Partition, Permille, PodName, PodUid,
};

/// The start of the hour in which the examples play: 16 November 2026, 00:00 UTC.
pub(crate) const HOUR: i64 = 1_794_787_200_000;

pub(crate) fn minute(minutes: i64) -> Moment {
    Moment(HOUR + minutes * 60_000)
}

pub(crate) fn second(seconds: i64) -> Moment {
    Moment(HOUR + seconds * 1000)
}

pub(crate) fn hour() -> Span {
    Grain::Hour.bucket(minute(0))
}

pub(crate) fn usd(text: &str) -> NanoUsd {
    gpu_cost::prices::parse_usd(text).expect("an amount")
}

pub(crate) fn machine(id: &str, gpus: u16) -> Machine {
    Machine {
        id: MachineId::new(id).expect("an id"),
        node: NodeName::new(format!("node-{id}")).expect("a name"),
        cloud: Cloud::Aws,
        instance_type: Some("test.8gpu".to_owned()),
        region: Some("us-east-1".to_owned()),
        zone: None,
        capacity: CapacityType::OnDemand,
        pool: Some("train".to_owned()),
        gpu_model: Some("NVIDIA A100-SXM4-80GB".to_owned()),
        gpus: Some(gpus),
        vcpus: Some(96),
        memory: Some(Bytes::from_gib(1152)),
    }
}

pub(crate) fn uuid(gpu: usize) -> GpuUuid {
    GpuUuid::new(format!("GPU-{gpu:02}")).expect("an id")
}

pub(crate) fn holder(pod: &str) -> Arc<Holder> {
    Arc::new(Holder {
        namespace: Namespace::new("research").expect("a name"),
        pod: PodName::new(pod).expect("a name"),
        uid: PodUid::new(format!("uid-{pod}")).expect("an id"),
        container: None,
        dimensions: Dimensions::default(),
    })
}

pub(crate) fn mig(profile: &str, gi: u8) -> Partition {
    Partition::MigSlice {
        profile: MigProfileName::new(profile).expect("a profile"),
        gi,
        ci: 0,
    }
}

pub(crate) fn cpx(index: u8) -> Partition {
    Partition::AmdPartition {
        mode: AmdComputeMode::Cpx,
        index,
    }
}

/// One machine with its events.
pub(crate) struct Node {
    pub(crate) machine: Arc<Machine>,
    pub(crate) events: Vec<Event>,
}

impl Node {
    /// Launched and ready at an instant, with all its GPUs.
    pub(crate) fn ready(machine: Machine, at: Moment) -> Self {
        let machine = Arc::new(machine);
        let id = machine.id.clone();
        let mut events = vec![
            Event::Launched {
                machine: machine.clone(),
                at,
            },
            Event::Ready {
                machine: id.clone(),
                at,
            },
        ];
        for gpu in 0..usize::from(machine.gpus.unwrap_or(0)) {
            events.push(Event::GpuSeen {
                machine: id.clone(),
                gpu: Gpu {
                    uuid: uuid(gpu),
                    model: machine.gpu_model.clone(),
                    compute_dies: None,
                },
                at,
            });
        }
        Self { machine, events }
    }

    fn id(&self) -> MachineId {
        self.machine.id.clone()
    }

    pub(crate) fn bind(&mut self, pod: &str, gpu: usize, partition: Partition, span: Span) -> &mut Self {
        let machine = self.id();
        let holder = holder(pod);
        let uid = holder.uid.clone();
        self.events.push(Event::Bound {
            machine: machine.clone(),
            claim: Claim {
                gpu: uuid(gpu),
                partition,
                holder,
                class: HolderClass::Workload,
                host: None,
            },
            at: span.start,
        });
        self.events.push(Event::Running {
            machine: machine.clone(),
            pod: uid.clone(),
            at: span.start,
        });
        if span.end < Moment(i64::MAX) {
            self.events.push(Event::Ended {
                machine,
                pod: uid,
                end: End::reported(span.end),
            });
        }
        self
    }

    pub(crate) fn used(&mut self, pod: &str, gpu: usize, partition: Partition, span: Span, permille: u16) {
        self.events.push(Event::Used {
            machine: self.id(),
            pod: holder(pod).uid.clone(),
            gpu: uuid(gpu),
            partition,
            span,
            utilization: Permille::new(permille).expect("a share"),
        });
    }

    pub(crate) fn gone(&mut self, at: Moment) {
        self.events.push(Event::Gone {
            machine: self.id(),
            end: End::reported(at),
        });
    }

    pub(crate) fn draining(&mut self, at: Moment) {
        self.events.push(Event::Draining {
            machine: self.id(),
            at,
        });
    }
}

pub(crate) fn books<'a>(events: impl IntoIterator<Item = &'a Event>) -> Books {
    let mut books = Books::new(ClusterId::new("test").expect("an id"));
    for event in events {
        books.record(event).expect("a sound event");
    }
    books
}

/// A price for every machine of the tests, from an instant on.
pub(crate) fn price(rate: &str, valid: Span) -> PriceVersion {
    PriceVersion {
        cloud: Cloud::Aws,
        instance_type: "test.8gpu".to_owned(),
        region: "us-east-1".to_owned(),
        zone: None,
        capacity: CapacityType::OnDemand,
        valid,
        rate: usd(rate),
        source: gpu_cost::PriceSource::Live,
        as_of: minute(-60),
    }
}

pub(crate) fn prices(rate: &str) -> PriceBook {
    let mut book = PriceBook::new();
    book.add_versions([price(rate, PriceVersion::ALWAYS)]);
    book
}

pub(crate) fn override_all(rate: &str) -> Override {
    Override {
        name: "all".to_owned(),
        cloud: None,
        region: None,
        zone: None,
        instance_type: None,
        capacity: None,
        pool: None,
        gpu_model: None,
        node: None,
        rate: OverrideRate::NodeHour(usd(rate)),
        valid: PriceVersion::ALWAYS,
        as_of: minute(0),
    }
}

pub(crate) fn settle(node: &Node, prices: &PriceBook) -> Vec<LedgerRow> {
    books(&node.events).settle(hour(), prices, &Settings::default())
}

pub(crate) fn total(rows: &[LedgerRow]) -> NanoUsd {
    rows.iter()
        .filter_map(|row| row.amounts)
        .map(|amounts| amounts.allocated)
        .sum()
}

/// Allocated money by part and pod, as text.
pub(crate) fn summary(rows: &[LedgerRow]) -> Vec<String> {
    let mut sums: BTreeMap<(Part, String), NanoUsd> = BTreeMap::new();
    for row in rows {
        let pod = row
            .holder
            .as_ref()
            .map_or_else(String::new, |holder| format!(" {}", holder.pod));
        let amount = row.amounts.map_or(NanoUsd::ZERO, |amounts| amounts.allocated);
        let sum = sums.entry((row.part, pod)).or_default();
        *sum = NanoUsd(sum.0 + amount.0);
    }
    sums.into_iter()
        .map(|((part, pod), sum)| format!("{}{pod} {sum}", part.as_str()))
        .collect()
}

//! What an hour of a fleet costs us: taking note of it, settling it, summing it up. Eight pods a node, a GPU each, a sample
//! a minute.
//!
//! The budget: an hour of 10,000 pods well under a second on one core, because it is done once an hour.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gpu_cost::{
    Books, Claim, Dimensions, Event, Gpu, Grain, Holder, HolderClass, Machine, Moment, PriceBook, Settings,
    Span, roll_up,
};
use gpu_model::{
    CapacityType, Cloud, ClusterId, GpuUuid, MachineId, Namespace, NodeName, Partition, Permille, PodName,
    PodUid,
};

const SIZES: [u32; 3] = [1_000, 10_000, 100_000];
const START: i64 = 1_794_787_200_000;
const MINUTE: i64 = 60_000;

fn machine(number: u32) -> Machine {
    Machine {
        id: MachineId::new(format!("i-{number:08}")).expect("an id"),
        node: NodeName::new(format!("node-{number}")).expect("a name"),
        cloud: Cloud::Aws,
        instance_type: Some("p5.48xlarge".to_owned()),
        region: Some("us-east-1".to_owned()),
        zone: None,
        capacity: CapacityType::OnDemand,
        pool: None,
        gpu_model: Some("NVIDIA H100 80GB HBM3".to_owned()),
        gpus: Some(8),
        vcpus: Some(192),
        memory: None,
    }
}

fn fleet(pods: u32) -> Vec<Event> {
    let mut events = Vec::new();
    for node in 0..pods.div_ceil(8) {
        let machine = Arc::new(machine(node));
        let id = machine.id.clone();
        let at = Moment(START - MINUTE);
        events.push(Event::Launched { machine, at });
        events.push(Event::Ready {
            machine: id.clone(),
            at,
        });
        for gpu in 0..8u32 {
            let uuid = GpuUuid::new(format!("GPU-{node:08}-{gpu}")).expect("an id");
            let name = format!("pod-{node}-{gpu}");
            let holder = Holder {
                namespace: Namespace::new(format!("team-{}", node % 40)).expect("a name"),
                pod: PodName::new(&name).expect("a name"),
                uid: PodUid::new(&name).expect("an id"),
                container: None,
                dimensions: Dimensions::default(),
            };
            events.push(Event::GpuSeen {
                machine: id.clone(),
                gpu: Gpu {
                    uuid: uuid.clone(),
                    model: None,
                    compute_dies: None,
                },
                at,
            });
            let pod = holder.uid.clone();
            events.push(Event::Bound {
                machine: id.clone(),
                claim: Claim {
                    gpu: uuid.clone(),
                    partition: Partition::Whole,
                    holder: Arc::new(holder),
                    class: HolderClass::Workload,
                    host: None,
                },
                at: Moment(START + i64::from(gpu) * MINUTE),
            });
            for minute in 0..60 {
                let from = Moment(START + minute * MINUTE);
                events.push(Event::Used {
                    machine: id.clone(),
                    pod: pod.clone(),
                    gpu: uuid.clone(),
                    partition: Partition::Whole,
                    span: Span::new(from, from.plus(MINUTE)),
                    utilization: Permille::clamped(u16::try_from(minute * 16).unwrap_or(0)),
                });
            }
        }
    }
    events
}

fn noted(events: &[Event]) -> Books {
    let mut books = Books::new(ClusterId::new("bench").expect("an id"));
    for event in events {
        books.record(event).expect("a sound event");
    }
    books
}

fn hours(criterion: &mut Criterion) {
    let prices = PriceBook::with_bundled().expect("the bundled table");
    let mut group = criterion.benchmark_group("hour");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(4))
        .warm_up_time(Duration::from_millis(500));
    for pods in SIZES {
        let events = fleet(pods);
        group.throughput(Throughput::Elements(u64::from(pods)));
        group.bench_function(BenchmarkId::new("record", pods), |bencher| {
            bencher.iter(|| black_box(noted(&events)));
        });
        let books = noted(&events);
        drop(events);
        let window = Grain::Hour.bucket(Moment(START));
        let settings = Settings::default();
        group.bench_function(BenchmarkId::new("settle", pods), |bencher| {
            bencher.iter(|| black_box(books.settle(window, &prices, &settings)));
        });
        let rows = books.settle(window, &prices, &settings);
        group.bench_function(BenchmarkId::new("roll_up", pods), |bencher| {
            bencher.iter(|| black_box(roll_up(&rows, Grain::Hour)));
        });
    }
    group.finish();
}

criterion_group!(benches, hours);
criterion_main!(benches);

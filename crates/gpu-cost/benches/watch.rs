//! What keeping the ledger costs a control plane: a look at a large fleet, and the settlement of five minutes of it.
//!
//! `cargo bench -p gpu-cost --bench watch`. The budget: a look of 8,000 GPUs well under 100 ms of one core, and less than 60 MiB for
//! all that is remembered over an hour.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_cost::{Books, Grain, Look, Moment, PriceBook, Settings, WatchSettings, Watcher};
use gpu_model::{
    ClusterNode, ClusterPicture, FleetView, GpuPod, HostRequest, MachineId, PodSettings, Readiness,
};
use gpu_sim::{FleetSpec, World};

const NODES: u32 = 1_000;
/// An hour of looks, half a minute apart.
const LOOKS: usize = 120;

fn main() {
    let spec = FleetSpec {
        nodes: NODES,
        ..FleetSpec::default()
    };
    let mut world = World::new(&spec).expect("a fleet");
    let prices = PriceBook::with_bundled().expect("the bundled table is sound");
    let first = world.observe();
    let pods = picture(&first, spec.start).gpu_pods.len();
    println!(
        "{} nodes, {} GPUs, {pods} pods with GPUs",
        first.nodes.len(),
        first.gpu_count()
    );
    let mut watcher = Watcher::new(WatchSettings::every(30_000));
    let mut books = Books::new(first.cluster);
    let (mut looks, mut settles, mut rows) = (Vec::new(), Vec::new(), 0);
    let mut held: i64 = 0;
    for number in 0..LOOKS {
        let view = world.observe();
        let picture = picture(&view, spec.start);
        let look = Look {
            view: &view,
            picture: Some(&picture),
            unhealthy: &BTreeSet::new(),
        };
        let clock = Instant::now();
        let used = allocation_counter::measure(|| {
            for event in watcher.look(&look).events {
                books.record(&event).expect("a sound event");
            }
        });
        looks.push(clock.elapsed());
        held += used.bytes_current;
        if number % 10 == 9 {
            let window = Grain::FiveMinutes.bucket(Moment::from(view.at).plus(-420_000));
            let clock = Instant::now();
            rows = books.settle(window, &prices, &Settings::default()).len();
            settles.push(clock.elapsed());
        }
        world.advance(Duration::from_secs(30));
    }
    println!("first look {:?}", looks[0]);
    report("a look", &mut looks);
    report(&format!("five minutes settled into {rows} rows"), &mut settles);
    println!("held after {LOOKS} looks: {} MiB", held / (1 << 20));
}

fn report(what: &str, took: &mut [Duration]) {
    took.sort_unstable();
    println!(
        "{what}: median {:?}, slowest {:?}",
        took[took.len() / 2],
        took[took.len() - 1]
    );
}

fn picture(view: &FleetView, start: jiff::Timestamp) -> ClusterPicture {
    let mut picture = ClusterPicture::empty(view.cluster.clone(), view.at);
    for node in &view.nodes {
        let name = &node.node.name;
        let known = ClusterNode {
            node: node.node.clone(),
            uid: name.to_string(),
            machine: MachineId::new(format!("i-{name}")).expect("an id"),
            created_at: start,
            readiness: Readiness::Ready,
            is_cordoned: false,
            taints: Vec::new(),
            host: HostRequest::default(),
            gpus: BTreeMap::new(),
            gpu_capacity: node.gpus[0]
                .parts
                .iter()
                .map(|part| (part.resource.clone(), 8))
                .collect(),
        };
        picture.nodes.insert(name.clone(), Arc::new(known));
        for owner in node.gpus.iter().flat_map(|gpu| gpu.owners()) {
            let pod = GpuPod {
                pod: owner.pod.clone(),
                node: Some(name.clone()),
                requests: Vec::new(),
                host: HostRequest::default(),
                is_ready: true,
                is_terminating: false,
                waiting_reason: None,
                restarts: 0,
                workload: None,
                settings: PodSettings::default(),
            };
            picture.gpu_pods.insert(pod.key(), Arc::new(pod));
        }
    }
    picture
}

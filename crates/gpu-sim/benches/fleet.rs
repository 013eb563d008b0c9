//! How long a second of a simulated fleet takes, and how that grows with the fleet.
//!
//! The budget: one second of 1,000 nodes and its view well under 250 ms on one core.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use gpu_sim::{FleetSpec, World};

const SIZES: [u32; 3] = [100, 1000, 5000];

fn world(nodes: u32) -> World {
    World::new(&FleetSpec {
        nodes,
        ..FleetSpec::default()
    })
    .expect("a valid spec")
}

fn fleets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fleet");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3))
        .warm_up_time(Duration::from_millis(500));
    for nodes in SIZES {
        let mut world = world(nodes);
        group.bench_function(BenchmarkId::new("advance_1s", nodes), |bencher| {
            bencher.iter(|| world.advance(Duration::from_secs(1)));
        });
        group.bench_function(BenchmarkId::new("observe", nodes), |bencher| {
            bencher.iter(|| black_box(world.observe()));
        });
        group.bench_function(BenchmarkId::new("advance_1s_and_observe", nodes), |bencher| {
            bencher.iter(|| {
                world.advance(Duration::from_secs(1));
                black_box(world.observe())
            });
        });
    }
    group.bench_function("new/1000", |bencher| bencher.iter(|| black_box(world(1000))));
    group.finish();
}

criterion_group!(benches, fleets);
criterion_main!(benches);

//! Detection over a thousand nodes: 8,000 GPUs and about 10,000 pods.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use gpu_sim::{FleetSpec, World};
use gpu_waste::{Settings, Surroundings, WindowSettings, Windows, detect};

/// Time that this thread has run, which a busy machine does not stretch.
#[expect(clippy::disallowed_methods, reason = "a bench may look at its own clock")]
fn processor_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

fn large_fleet(criterion: &mut Criterion) {
    let spec = FleetSpec {
        nodes: 1000,
        seed: 1,
        ..FleetSpec::default()
    };
    let mut world = World::new(&spec).expect("a valid spec");
    let mut windows = Windows::new(WindowSettings::default());
    let mut held = 0;
    for _ in 0..25 {
        world.advance(Duration::from_secs(30));
        let view = world.observe();
        held += allocation_counter::measure(|| windows.observe(&view)).bytes_current;
    }
    let (picture, rates) = (world.picture(), BTreeMap::new());
    println!(
        "{} GPUs, {} pods, {held} bytes in windows",
        windows.gpu_count(),
        picture.gpu_pods.len()
    );
    let surroundings = Surroundings {
        picture: Some(&picture),
        rates: &rates,
        patterns: None,
    };
    let settings = Settings::default();
    let now = world.now();
    let before = processor_nanos();
    for _ in 0..10 {
        black_box(detect(&windows, &surroundings, &settings, now));
    }
    println!(
        "{} ms of processor time a detection",
        (processor_nanos() - before) / 10_000_000
    );
    let found = detect(&windows, &surroundings, &settings, now).findings.len();
    println!("{found} findings");
    let mut group = criterion.benchmark_group("waste");
    group.sample_size(10);
    group.bench_function("detect", |bencher| {
        bencher.iter(|| black_box(detect(&windows, &surroundings, &settings, now)));
    });
    let view = world.observe();
    group.bench_function("observe", |bencher| {
        bencher.iter_batched(
            || windows.clone(),
            |mut windows| {
                windows.observe(&gpu_model::FleetView {
                    at: now + jiff::SignedDuration::from_secs(30),
                    ..view.clone()
                });
                windows
            },
            criterion::BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, large_fleet);
criterion_main!(benches);

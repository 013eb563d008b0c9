//! What a page costs: rendering, packing, handing out, and how both grow with GPUs and pods.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and ends at the first surprise"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gpu_exporter::page::{Encoding, PageCache, PageRequest, PageSettings, Subset};
use gpu_exporter::snapshot::NodeSnapshot;
use gpu_exposition::Format;

#[expect(dead_code, reason = "the golden pages use the rest")]
#[path = "../tests/it/nodes.rs"]
mod nodes;

/// GPUs and pods: the size we promise a time for, then growth in each.
const SIZES: [(u32, u32); 8] = [
    (8, 110),
    (1, 0),
    (2, 0),
    (4, 0),
    (8, 0),
    (16, 0),
    (8, 250),
    (16, 250),
];

fn request(encoding: Encoding) -> PageRequest {
    PageRequest {
        format: Format::Text,
        subset: Subset::Full,
        encoding,
    }
}

/// Two snapshots of one node, to ask for in turn, so that each page is made anew.
fn pair(gpus: u32, pods: u32) -> [Arc<NodeSnapshot>; 2] {
    [0, 1].map(|sequence| {
        Arc::new(NodeSnapshot {
            sequence,
            ..nodes::sized(gpus, pods)
        })
    })
}

fn pages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("page");
    for (gpus, pods) in SIZES {
        let snapshots = pair(gpus, pods);
        for encoding in [Encoding::Plain, Encoding::Gzip] {
            let cache = PageCache::new(PageSettings::default());
            let size = cache
                .page(&snapshots[0], request(encoding))
                .unwrap()
                .as_ref()
                .len();
            let name = match encoding {
                Encoding::Plain => "make",
                Encoding::Gzip => "make and pack",
            };
            println!("{gpus} GPUs, {pods} pods, {name}: {size} bytes");
            group.throughput(Throughput::Bytes(size as u64));
            let mut turn = 0;
            group.bench_function(BenchmarkId::new(name, format!("{gpus}x{pods}")), |bencher| {
                bencher.iter(|| {
                    turn = 1 - turn;
                    black_box(cache.page(&snapshots[turn], request(encoding)).unwrap());
                });
            });
        }
    }
    group.finish();
    let cache = PageCache::new(PageSettings::default());
    let [snapshot, _] = pair(8, 110);
    criterion.bench_function("hand out a kept page", |bencher| {
        bencher.iter(|| black_box(cache.page(&snapshot, request(Encoding::Gzip)).unwrap()));
    });
}

criterion_group!(benches, pages);
criterion_main!(benches);

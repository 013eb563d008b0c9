//! How fast pages are written into a warm buffer: `cargo bench -p gpu-exposition --bench write`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpu_exposition::Format;

mod fleet;

const MEGABYTE: usize = 1_000_000;

fn write(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("write");
    for format in Format::ALL {
        let mut page = fleet::page_of(MEGABYTE, format).expect("the generator writes what the writer takes");
        let nodes =
            u32::try_from(page.matches("DCGM_FI_DEV_GPU_UTIL{").count() / 8).expect("a page has few nodes");
        let mut fleet = fleet::Fleet::new(nodes).expect("the generator's labels are valid");
        group.throughput(Throughput::Bytes(page.len() as u64));
        group.bench_function(format!("{format:?}/label blocks"), |bencher| {
            bencher.iter(|| {
                page.clear();
                fleet
                    .write(&mut page, format)
                    .expect("the generator writes what the writer takes");
                page.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, write);
criterion_main!(benches);

//! How fast pages are read: `cargo bench -p gpu-exposition --bench parse`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpu_exposition::{Event, Format, Page, Parser, ParserOptions, StreamParser};

mod fleet;

const MEGABYTE: usize = 1_000_000;
/// What a socket usually hands over at once.
const PIECE: usize = 16 << 10;

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    for format in Format::ALL {
        let page = fleet::page_of(MEGABYTE, format).expect("the generator writes what the writer takes");
        let options = ParserOptions::new(format);
        group.throughput(Throughput::Bytes(page.len() as u64));
        group.bench_function(format!("{format:?}/slice"), |bencher| {
            bencher.iter(|| {
                let mut parser = Parser::new(black_box(page.as_bytes()), options);
                let mut sum = 0.0;
                while let Some(event) = parser.next_event() {
                    sum += weigh(&event.expect("the page is valid"));
                }
                sum
            });
        });
        group.bench_function(format!("{format:?}/pieces"), |bencher| {
            bencher.iter(|| {
                let mut parser = StreamParser::new(options);
                let mut sum = 0.0;
                for piece in black_box(page.as_bytes()).chunks(PIECE) {
                    parser.feed(piece, |event| sum += weigh(&event.expect("the page is valid")));
                }
                parser.finish(|event| sum += weigh(&event.expect("the page is valid")));
                sum
            });
        });
        group.bench_function(format!("{format:?}/owned page"), |bencher| {
            bencher.iter(|| Page::parse(black_box(page.as_bytes()), options));
        });
    }
    group.finish();
}

/// Uses every part of an event, so that none of the work can be left out.
fn weigh(event: &Event<'_>) -> f64 {
    match event {
        Event::Sample(sample) => {
            black_box(
                sample
                    .labels
                    .map(|label| label.name.raw().len() + label.value.raw().len())
                    .sum::<usize>(),
            );
            sample.value
        }
        other => {
            black_box(other);
            0.0
        }
    }
}

criterion_group!(benches, parse);
criterion_main!(benches);

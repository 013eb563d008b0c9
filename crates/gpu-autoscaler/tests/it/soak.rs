//! Long runs. A test run takes a sample of some seconds; `cargo xtask soak` runs them for as long as it is told.

use std::time::{Duration, Instant};

use crate::program::Demo;

/// Room for pages of different lengths and for the allocator; a leak of a kilobyte a scrape passes it in the sample already.
const GROWTH_KIB: u64 = 6 * 1024;
/// Buffers reach their size within the first scrapes.
const WARM_UP: usize = 200;

fn duration() -> Duration {
    let seconds = std::env::var("GPU_SOAK_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(10))
}

#[test]
fn soak_scraping_for_long_does_not_grow() {
    let demo = Demo::start(&["--speed", "600"]).ready();
    for _ in 0..WARM_UP {
        assert_eq!(demo.get("/metrics").status, 200);
    }
    let before = demo.resident_kib();
    let started = Instant::now();
    let mut scrapes = 0_u64;
    while started.elapsed() < duration() {
        assert_eq!(demo.get("/metrics").status, 200);
        scrapes += 1;
    }
    let after = demo.resident_kib();
    println!("{scrapes} scrapes: {before} KiB before, {after} KiB after");
    assert!(scrapes > 100, "only {scrapes} scrapes in {:?}", duration());
    assert!(
        after < before + GROWTH_KIB,
        "{scrapes} scrapes grew the program from {before} to {after} KiB"
    );
}

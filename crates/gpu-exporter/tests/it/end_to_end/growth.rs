//! Long runs: memory, threads and files stay what they were. A test run takes some thousand scrapes; `cargo xtask soak`
//! scrapes for as long as it is told.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::machines;

/// In a test run without a time.
const SCRAPES: u64 = 20_000;
/// Buffers reach their size, and the allocator its arenas, within these.
const WARM_UP: u64 = 500;
/// Room for pages of different lengths; a leak of a hundred bytes a scrape passes it.
const GROWTH: u64 = 1024 * 1024;

/// One connection that asks again and again, as Prometheus does.
struct Scraper {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Scraper {
    fn new(address: std::net::SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self {
            stream,
            buffer: vec![0; 1 << 20],
        }
    }

    fn scrape(&mut self) {
        self.stream
            .write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n")
            .unwrap();
        let mut read = 0;
        loop {
            read += self.stream.read(&mut self.buffer[read..]).unwrap();
            let head = self.buffer[..read]
                .windows(4)
                .position(|four| four == b"\r\n\r\n");
            let Some(head) = head else { continue };
            let text = std::str::from_utf8(&self.buffer[..head]).unwrap();
            assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if read >= head + 4 + length.unwrap().parse::<usize>().unwrap() {
                return;
            }
        }
    }
}

#[test]
fn soak_scrapes_without_end_leave_memory_threads_and_files_alone() {
    let seconds = std::env::var("GPU_SOAK_SECONDS").ok();
    let seconds = seconds
        .and_then(|text| text.parse().ok())
        .map(Duration::from_secs);
    let machine = machines::h100_x8()
        .arguments(&["--vocabulary=gpu,dcgm,nvidia_smi"])
        .start();
    machine.wait(|page| page.contains("\ngpu_container_memory_bytes{") && page.contains("\nDCGM_FI_PROF"));
    let mut scraper = Scraper::new(machine.exporter.address);
    scraper.scrape();
    let first = machine.exporter.resident();
    (0..WARM_UP).for_each(|_| scraper.scrape());
    let (before, threads, files) = (
        machine.exporter.resident(),
        machine.threads(),
        machine.open_files(),
    );
    let started = Instant::now();
    let mut scrapes = 0;
    while seconds.map_or(scrapes < SCRAPES, |seconds| started.elapsed() < seconds) {
        scraper.scrape();
        scrapes += 1;
    }
    let after = machine.exporter.resident();
    println!(
        "{scrapes} scrapes in {:?}: {first} bytes after one, {before} after {WARM_UP}, {after} at the end; {threads} threads, {files} files",
        started.elapsed()
    );
    assert!(
        after < before + GROWTH,
        "{scrapes} scrapes: {before} bytes became {after}"
    );
    // Two for each GPU, and those that list, collect, hear faults, serve and reload.
    assert!(threads <= 2 * 8 + 8, "{threads} threads");
    assert_eq!(machine.threads(), threads);
    assert!(files < 40 && machine.open_files() <= files + 2, "{files} files");
}

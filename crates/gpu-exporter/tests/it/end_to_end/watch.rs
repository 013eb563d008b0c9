//! Somebody who scrapes all the while: the page is there, whole, and quick, whatever the test does.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gpu_exposition::Format;

use super::reading::parse;
use crate::exporter::{Exporter, ask};

/// Far above what a page takes and far below what a blocked driver would make it take.
const SLOWEST: Duration = Duration::from_secs(2);

pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    scraping: JoinHandle<u64>,
}

impl Watch {
    pub(super) fn over(exporter: &Exporter) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (address, told) = (exporter.address, Arc::clone(&stop));
        let scraping = std::thread::spawn(move || scrape(address, &told));
        Self { stop, scraping }
    }

    /// Fails if a single page was late, refused or broken.
    #[track_caller]
    pub(super) fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        let pages = self.scraping.join().expect("every scrape was answered");
        assert!(pages > 5, "only {pages} pages were read");
    }
}

fn scrape(address: SocketAddr, stop: &AtomicBool) -> u64 {
    let mut pages = 0;
    while !stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SLOWEST)).unwrap();
        let answer = ask(stream, "GET", "/metrics", &[]).unwrap();
        assert_eq!(answer.status, 200);
        assert!(started.elapsed() < SLOWEST, "a page took {:?}", started.elapsed());
        parse(&answer.text(), Format::Text);
        pages += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    pages
}

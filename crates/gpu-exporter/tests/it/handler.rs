//! What one scrape allocates between the parsed request and the finished answer: the same, whatever the number of series.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allocation_counter::measure;
use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::http::Request;
use gpu_exporter::api::{History, HistorySettings};
use gpu_exporter::page::{PageCache, PageSettings};
use gpu_exporter::snapshot::NodeSnapshot;
use gpu_exporter::web::config::WebConfig;
use gpu_exporter::web::{Door, Pulse, Site};
use tower::ServiceExt as _;

use crate::nodes;

fn site(node: NodeSnapshot) -> Router {
    let node = Arc::new(node);
    let site = Site {
        newest: Arc::new(move || Arc::clone(&node)),
        pages: Arc::new(PageCache::new(PageSettings::default())),
        history: Arc::new(Mutex::new(History::new(HistorySettings::default()))),
        pulse: Arc::new(Pulse::new(Duration::from_secs(1))),
        door: Arc::new(Door::new(WebConfig::default())),
        metrics_path: "/metrics".into(),
    };
    site.router()
}

/// The most digits that two lengths may differ by.
const DIGITS: u64 = 4;

/// The bytes of the answer, and the bytes that were allocated for it.
fn scrape(router: &Router, accept_encoding: &str) -> (u64, u64) {
    let request = || {
        Request::get("/metrics")
            .header("accept", "text/plain;version=0.0.4")
            .header("accept-encoding", accept_encoding)
            .body(Body::empty())
            .unwrap()
    };
    let ask = |request| futures_now(router.clone().oneshot(request));
    ask(request());
    let (again, mut length) = (request(), 0);
    let info = measure(|| length = ask(again).body().size_hint().exact().unwrap());
    (length, info.bytes_total)
}

/// Nothing in a scrape waits, so that one poll is enough.
fn futures_now<T>(future: impl Future<Output = Result<T, std::convert::Infallible>>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(Ok(answer)) => answer,
        std::task::Poll::Ready(Err(never)) => match never {},
        std::task::Poll::Pending => panic!("a scrape waited for something"),
    }
}

#[test]
fn a_scrape_allocates_the_same_for_one_gpu_and_for_sixteen() {
    for encoding in ["identity", "gzip"] {
        let (small_page, small) = scrape(&site(nodes::sized(1, 0)), encoding);
        let (large_page, large) = scrape(&site(nodes::sized(16, 250)), encoding);
        assert!(large_page > 5 * small_page, "{small_page} {large_page}");
        // The length of the page is written in digits.
        assert!(large.abs_diff(small) <= DIGITS, "{small} {large}");
        assert!(large < 8 * 1024, "{large} bytes");
    }
}

//! When the exporter is ready, and when it is no longer alive.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use tower::ServiceExt as _;

use super::{Pulse, first_collection};
use crate::api::{History, HistorySettings};
use crate::page::{PageCache, PageSettings};
use crate::snapshot::{NodeSnapshot, Origin, SourceStatus};
use crate::web::config::WebConfig;
use crate::web::{Door, Site};

fn snapshot(sequence: u64, sources: Vec<SourceStatus>) -> NodeSnapshot {
    NodeSnapshot {
        sequence,
        at: jiff::Timestamp::UNIX_EPOCH,
        node: "node-a".to_owned(),
        origin: Origin::Measured,
        node_labels: None,
        workload: None,
        sources,
        devices: Vec::new(),
    }
}

fn source(name: &'static str, up: bool, problem: Option<&str>) -> SourceStatus {
    SourceStatus {
        name,
        up,
        problem: problem.map(Arc::from),
        last_success_age: None,
        last_duration: None,
        errors: BTreeMap::new(),
    }
}

#[track_caller]
fn check(snapshot: &NodeSnapshot, missing: Option<&str>) {
    match (first_collection(snapshot), missing) {
        (Ok(()), None) => {}
        (Err(words), Some(expected)) => assert!(words.contains(expected), "{words:?}"),
        (outcome, expected) => panic!("{outcome:?} instead of {expected:?}"),
    }
}

#[test]
fn ready_means_that_every_driver_was_asked() {
    check(&snapshot(0, Vec::new()), Some("first collection"));
    check(&snapshot(1, Vec::new()), None);
    check(&snapshot(1, vec![source("nvml", false, None)]), Some("`nvml`"));
    check(&snapshot(1, vec![source("nvml", true, None)]), None);
    check(&snapshot(1, vec![source("nvml", false, Some("no driver"))]), None);
    // What only helps does not hold the page back.
    check(&snapshot(1, vec![source("kubelet", false, None)]), None);
}

#[tokio::test]
async fn a_collection_that_stands_still_is_not_alive() {
    for (patience, expected) in [(Duration::from_secs(60), 200), (Duration::ZERO, 503)] {
        let newest = Arc::new(snapshot(0, Vec::new()));
        let site = Site {
            newest: Arc::new(move || Arc::clone(&newest)),
            pages: Arc::new(PageCache::new(PageSettings::default())),
            history: Arc::new(History::new(HistorySettings::default()).into()),
            pulse: Arc::new(Pulse {
                patience,
                ..Pulse::new(Duration::ZERO)
            }),
            door: Arc::new(Door::new(WebConfig::default())),
            metrics_path: "/metrics".into(),
        };
        let request = Request::get("/healthz").body(Body::empty()).unwrap();
        let answer = site.router().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), expected);
    }
}

//! The direct source and a list of targets, with no cluster in sight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use gpu_autoscaler::sources::direct::DirectSettings;
use gpu_autoscaler::sources::{MetricsSource as _, standalone};
use gpu_runtime::http::client::{Authorization, ClientSettings, Secret};
use jiff::Timestamp;

use super::{class, exporter, golden, serve_app, target};

#[tokio::test]
async fn a_list_of_targets_is_a_fleet_without_kubernetes() {
    let h100 = exporter(golden("8xh100.prom")).await;
    let mi300x = exporter(golden("mi300x-cpx.prom")).await;
    let none = exporter(golden("no-gpu.prom")).await;
    let targets = format!("{h100},{mi300x},{none}");
    let mut source = standalone(&targets, DirectSettings::default()).unwrap();
    assert_eq!(source.name(), "direct");
    let now = Timestamp::now();
    let harvest = source.collect(now).await;
    assert_eq!(harvest.gpus.len(), 10, "{:?}", harvest.targets);
    let found = |address| (class(&harvest, address), target(&harvest, address).gpus);
    assert_eq!(found(h100), (None, 8));
    assert_eq!(found(mi300x), (None, 2));
    assert_eq!(found(none), (None, 0));
    assert_eq!(
        target(&harvest, h100).node.as_ref().unwrap().as_str(),
        "h100-node-1"
    );
    assert!(
        harvest
            .gpus
            .iter()
            .all(|gpu| gpu.taken_at <= harvest.at && harvest.at >= now)
    );
    let names: Vec<_> = harvest
        .gpus
        .iter()
        .map(|gpu| (gpu.node.as_str(), gpu.device.index))
        .collect();
    assert!(names.is_sorted(), "{names:?}");
    let again = source.collect(Timestamp::now()).await;
    assert!(
        harvest
            .gpus
            .iter()
            .zip(&again.gpus)
            .all(|(a, b)| Arc::ptr_eq(&a.device, &b.device)),
        "what did not change is shared between rounds"
    );
    assert_eq!(
        source
            .backfill(now, now, std::time::Duration::from_secs(30))
            .await,
        []
    );
}

/// NVIDIA's exporter beside ours on the same node.
#[tokio::test]
async fn a_gpu_of_two_exporters_counts_once() {
    let page = golden("8xh100.prom");
    let lines = page.lines().filter(|line| line.starts_with("DCGM_FI_"));
    let theirs: String = lines.map(|line| format!("{line}\n")).collect();
    let theirs = exporter(theirs).await;
    let alone = standalone(&theirs.to_string(), DirectSettings::default())
        .unwrap()
        .collect(Timestamp::now())
        .await;
    assert_eq!(alone.gpus.len(), 8);
    assert!(
        alone.gpus.iter().all(|gpu| !gpu.sample.busy.is_known()),
        "only ours tells of busy seconds"
    );
    let ours = exporter(page).await;
    let mut both = standalone(&format!("{theirs},{ours}"), DirectSettings::default()).unwrap();
    let harvest = both.collect(Timestamp::now()).await;
    assert_eq!(harvest.gpus.len(), 8);
    assert!(
        harvest.gpus.iter().all(|gpu| gpu.sample.busy.is_known()),
        "ours is preferred"
    );
    assert_eq!(
        (target(&harvest, theirs).gpus, target(&harvest, ours).gpus),
        (8, 8)
    );
}

#[tokio::test]
async fn a_target_that_keeps_failing_is_asked_less_often_and_taken_back_at_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let app = Router::new().route(
        "/metrics",
        get(async move || match count.fetch_add(1, Ordering::Relaxed) {
            // Fails for the first five questions.
            0..5 => Err(StatusCode::INTERNAL_SERVER_ERROR),
            _ => Ok(golden("t4-time-sliced.prom")),
        }),
    );
    let address = serve_app(app).await;
    let mut source = standalone(&address.to_string(), DirectSettings::default()).unwrap();
    let mut rounds = Vec::new();
    for _ in 0..14 {
        let harvest = source.collect(Timestamp::now()).await;
        let target = target(&harvest, address);
        assert_eq!(target.failure.is_some(), harvest.gpus.is_empty());
        assert_eq!(target.last_success.is_some(), target.failure.is_none());
        rounds.push(asked.load(Ordering::Relaxed));
    }
    // Asked twice in a row, then after one, two, three rounds of waiting; it answers at the sixth question.
    assert_eq!(rounds, [1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6, 7, 8]);
}

/// A token that anybody on the way could read would soon be somebody else's.
#[tokio::test]
async fn credentials_are_not_sent_in_the_clear() {
    let app = Router::new().route(
        "/metrics",
        get(async |headers: HeaderMap| {
            if headers.contains_key("authorization") {
                return Err(StatusCode::BAD_REQUEST);
            }
            assert_eq!(headers.get("accept-encoding").unwrap(), "gzip");
            Ok(golden("t4-time-sliced.prom"))
        }),
    );
    let address = serve_app(app).await;
    let settings = DirectSettings {
        client: ClientSettings {
            authorization: Authorization::Bearer(Secret::new("hunter2")),
            ..ClientSettings::default()
        },
        ..DirectSettings::default()
    };
    let harvest = standalone(&address.to_string(), settings)
        .unwrap()
        .collect(Timestamp::now())
        .await;
    assert_eq!((class(&harvest, address), harvest.gpus.len()), (None, 1));
}

//! What is fetched outlives the process.

use axum::response::IntoResponse as _;
use gpu_cost::Moment;
use gpu_price_feeds::{Bundled, DeskSettings};
use gpu_runtime::{Clock as _, SystemClock};

use crate::aws_offer::offer;
use crate::desk::{Running, machine};
use crate::server::{Server, status};

fn settings() -> DeskSettings {
    DeskSettings {
        bundled: Bundled::Left,
        ..DeskSettings::default()
    }
}

#[tokio::test]
async fn prices_are_there_before_anything_is_fetched_and_an_unchanged_list_is_not_fetched_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = Some(folder.path());
    let server = Server::start(|_, seen| match seen.header("if-none-match") {
        Some("\"of-august\"") => status(304),
        _ => ([("etag", "\"of-august\"")], offer("55.04")).into_response(),
    })
    .await;
    let mut first = Running::start(settings());
    first.offer(&server.url, state);
    first.until("live $55.040000000").await;
    let note = first
        .desk
        .book()
        .quote(&machine(), Moment::from(SystemClock.now()));
    drop(first);

    let asked = server.seen().len();
    let mut second = Running::start(settings());
    second.offer(&server.url, state);
    assert_eq!(second.quote(), "live $55.040000000");
    // The very same price: rows of the ledger that name it do not change.
    assert_eq!(
        second
            .desk
            .book()
            .quote(&machine(), Moment::from(SystemClock.now())),
        note
    );
    second
        .until_status("it is confirmed", |status| status.source == "aws-offer")
        .await;
    let again = &server.seen()[asked..];
    assert!(!again.is_empty() && again.iter().all(|seen| seen.header("if-none-match").is_some()));
    drop(second);

    server.stop();
    let mut third = Running::start(settings());
    third.offer(&server.url, state);
    let failed = third.until_status("it fails", |status| status.failures > 0).await;
    assert_eq!(third.quote(), "live $55.040000000");
    assert!(failed.age.is_some() && failed.versions == 1, "{failed:?}");
}

#[tokio::test]
async fn a_spoilt_file_costs_a_download_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("aws-offer.json"), "{\"form\": 1, \"lists\": [").unwrap();
    let server = Server::start(|_, _| offer("55.04").into_response()).await;
    let mut running = Running::start(settings());
    running.offer(&server.url, Some(folder.path()));
    assert_eq!(running.quote(), "unknown-instance-type");
    running.until("live $55.040000000").await;
}

//! Google's catalogue: pages of pieces.

use std::time::Duration;

use gpu_model::Cloud;
use gpu_price_feeds::feeds::ListRequest;
use gpu_price_feeds::feeds::gcp_catalog::{GcpCatalog, GcpCatalogSettings, GcpIdentity};
use gpu_runtime::http::client::Secret;

use crate::server::{Server, busy, hanging, json, status, truncated};
use crate::{local, read, request};

fn sku(description: &str, usage: &str, unit: &str, nanos: u32) -> String {
    format!(
        r#"{{"description": "{description}", "category": {{"resourceFamily": "Compute", "usageType": "{usage}"}}, "serviceRegions": ["us-central1", "europe-west4"],
            "pricingInfo": [{{"effectiveTime": "2026-11-15T08:00:00Z", "pricingExpression": {{"usageUnit": "{unit}",
            "tieredRates": [{{"unitPrice": {{"currencyCode": "USD", "units": "0", "nanos": {nanos}}}}}]}}}}]}}"#
    )
}

/// The catalogue in three pages: a GPU, a core, a gibibyte of a G2.
fn page(number: usize) -> String {
    let skus = [
        sku("Nvidia L4 GPU running in Americas", "OnDemand", "h", 560_000_000),
        sku(
            "G2 Instance Core running in Americas",
            "OnDemand",
            "h",
            25_000_000,
        ),
        sku(
            "G2 Instance Ram running in Americas",
            "OnDemand",
            "GiBy.h",
            3_000_000,
        ),
    ];
    let next = if number < 2 {
        format!("page-{}", number + 1)
    } else {
        String::new()
    };
    format!(r#"{{"skus": [{}], "nextPageToken": "{next}"}}"#, skus[number])
}

/// Which page a request asks for.
fn asked(token: Option<&str>) -> usize {
    token.map_or(0, |token| token.strip_prefix("page-").unwrap().parse().unwrap())
}

fn g2() -> ListRequest {
    request(Cloud::Gcp, None, &[("us-central1", "g2-standard-4")])
}

fn feed(server: &Server) -> GcpCatalog {
    GcpCatalog::new(GcpCatalogSettings {
        endpoint: server.url.clone(),
        identity: GcpIdentity::ApiKey(Secret::new("hunter2")),
        client: local(),
        timeout: Duration::from_secs(5),
        ..GcpCatalogSettings::default()
    })
    .unwrap()
}

// 0.56 + 4 x 0.025 + 16 x 0.003.
const PRICE: &str = "us-central1 g2-standard-4 on-demand $0.708000000";

#[tokio::test]
async fn pages_are_followed_and_pieces_put_together() {
    let server = Server::start(|_, seen| json(page(asked(seen.query("pageToken"))))).await;
    assert_eq!(read(&feed(&server), &g2()).await.unwrap(), [PRICE]);
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[0].path, "/v1/services/6F81-5844-456A/skus");
    assert_eq!(
        (seen[0].query("pageSize"), seen[0].query("currencyCode")),
        (Some("5000"), Some("USD"))
    );
    assert!(
        seen.iter()
            .all(|seen| seen.header("x-goog-api-key") == Some("hunter2"))
    );
    assert!(
        seen.iter()
            .all(|seen| !format!("{:?}", seen.query).contains("hunter2"))
    );
}

#[tokio::test]
async fn a_busy_page_is_asked_again() {
    let server = Server::start(|before, seen| match before {
        1 => busy("0"),
        2 => status(500),
        _ => json(page(asked(seen.query("pageToken")))),
    })
    .await;
    assert_eq!(read(&feed(&server), &g2()).await.unwrap(), [PRICE]);
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn a_page_that_fails_for_good_is_no_list() {
    let refused = Server::start(|before, seen| match before {
        0 => json(page(asked(seen.query("pageToken")))),
        _ => status(403),
    })
    .await;
    let error = read(&feed(&refused), &g2()).await.unwrap_err();
    assert_eq!(error.class(), "status");
    assert!(!format!("{error:?} {error}").contains("hunter2"));
    let cut = Server::start(|before, _| {
        if before == 0 {
            json(page(0))
        } else {
            truncated(&page(1))
        }
    })
    .await;
    assert_eq!(read(&feed(&cut), &g2()).await.unwrap_err().class(), "other");
}

#[tokio::test]
async fn a_list_without_end_is_ended() {
    let circle = Server::start(|_, _| json(page(0))).await;
    assert_eq!(read(&feed(&circle), &g2()).await.unwrap_err().class(), "endless");
    assert_eq!(circle.seen().len(), 2);
    let endless =
        Server::start(|before, _| json(format!(r#"{{"skus": [], "nextPageToken": "page-{before}"}}"#))).await;
    assert_eq!(read(&feed(&endless), &g2()).await.unwrap_err().class(), "endless");
    assert_eq!(endless.seen().len(), 100);
}

#[tokio::test]
async fn a_page_that_hangs_is_given_up() {
    let server = Server::start(|_, _| hanging(&page(0))).await;
    let impatient = GcpCatalog::new(GcpCatalogSettings {
        endpoint: server.url.clone(),
        identity: GcpIdentity::OfClient,
        client: local(),
        timeout: Duration::from_millis(300),
        ..GcpCatalogSettings::default()
    })
    .unwrap();
    assert_eq!(read(&impatient, &g2()).await.unwrap_err().class(), "timeout");
}

#[tokio::test]
async fn the_service_account_of_the_machine_may_ask_and_its_token_is_kept() {
    let server = Server::start(|_, seen| {
        if seen.path == "/computeMetadata/v1/instance/service-accounts/default/token" {
            return match seen.header("metadata-flavor") {
                Some("Google") => {
                    json(r#"{"access_token": "ticket", "expires_in": 3599, "token_type": "Bearer"}"#)
                }
                _ => status(403),
            };
        }
        match seen.header("authorization") {
            Some("Bearer ticket") => json(page(asked(seen.query("pageToken")))),
            _ => status(401),
        }
    })
    .await;
    let with = |metadata: &str| {
        GcpCatalog::new(GcpCatalogSettings {
            endpoint: server.url.clone(),
            identity: GcpIdentity::Metadata {
                endpoint: metadata.to_owned(),
            },
            client: local(),
            ..GcpCatalogSettings::default()
        })
        .unwrap()
    };
    assert_eq!(read(&with(&server.url), &g2()).await.unwrap(), [PRICE]);
    assert_eq!(server.seen().len(), 4);
    let elsewhere = format!("{}/elsewhere", server.url);
    let error = read(&with(&elsewhere), &g2()).await.unwrap_err();
    assert_eq!(error.class(), "credentials");
}

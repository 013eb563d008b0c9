//! AWS's offer files.

use std::time::Duration;

use axum::response::IntoResponse as _;
use gpu_model::Cloud;
use gpu_price_feeds::feeds::aws_offer::{AwsOffer, AwsOfferSettings, OfferForm};
use gpu_price_feeds::feeds::{Answer, Feed as _, ListRequest};

use crate::server::{Server, busy, hanging, json, status, truncated};
use crate::{lines, local, read, request};

/// An offer file of two types.
pub(crate) fn offer(p5: &str) -> String {
    let product = |sku: &str, name: &str| {
        format!(
            r#""{sku}": {{"sku": "{sku}", "attributes": {{"instanceType": "{name}", "regionCode": "us-east-1", "operatingSystem": "Linux",
                "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}}}}"#
        )
    };
    let term = |sku: &str, price: &str| {
        format!(
            r#""{sku}": {{"{sku}.T": {{"effectiveDate": "2026-08-01T00:00:00Z", "priceDimensions": {{"{sku}.T.D": {{"unit": "Hrs",
                "pricePerUnit": {{"USD": "{price}"}}}}}}}}}}"#
        )
    };
    format!(
        r#"{{"formatVersion": "v1.0", "products": {{{}, {}}}, "terms": {{"OnDemand": {{{}, {}}}}}}}"#,
        product("A", "p5.48xlarge"),
        product("B", "g6.xlarge"),
        term("A", p5),
        term("B", "0.8048")
    )
}

pub(crate) fn p5() -> ListRequest {
    request(Cloud::Aws, Some("us-east-1"), &[("us-east-1", "p5.48xlarge")])
}

fn feed(server: &Server) -> AwsOffer {
    AwsOffer::new(AwsOfferSettings {
        endpoint: server.url.clone(),
        client: local(),
        ..AwsOfferSettings::default()
    })
    .unwrap()
}

#[tokio::test]
async fn the_file_of_the_region_is_read_for_what_is_wanted() {
    let server = Server::start(|_, _| json(offer("55.04"))).await;
    let prices = read(&feed(&server), &p5()).await.unwrap();
    assert_eq!(prices, ["us-east-1 p5.48xlarge on-demand $55.040000000"]);
    assert_eq!(
        server.seen()[0].path,
        "/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.json"
    );
}

#[tokio::test]
async fn the_other_form_says_the_same() {
    let text = "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"x\"\n\"Publication Date\",\"x\"\n\"Version\",\"1\"\n\"OfferCode\",\"AmazonEC2\"\n\
        \"SKU\",\"TermType\",\"EffectiveDate\",\"Unit\",\"PricePerUnit\",\"Currency\",\"Instance Type\",\"Tenancy\",\"Operating System\",\"Pre Installed S/W\",\"CapacityStatus\",\"Region Code\"\n\
        \"A\",\"OnDemand\",\"2026-08-01\",\"Hrs\",\"55.04\",\"USD\",\"p5.48xlarge\",\"Shared\",\"Linux\",\"NA\",\"Used\",\"us-east-1\"\n";
    let server = Server::start(move |_, _| text.into_response()).await;
    let feed = AwsOffer::new(AwsOfferSettings {
        endpoint: server.url.clone(),
        form: OfferForm::Csv,
        client: local(),
        ..AwsOfferSettings::default()
    })
    .unwrap();
    let prices = read(&feed, &p5()).await.unwrap();
    assert_eq!(prices, ["us-east-1 p5.48xlarge on-demand $55.040000000"]);
    assert!(server.seen()[0].path.ends_with("/us-east-1/index.csv"));
}

#[tokio::test]
async fn an_unchanged_file_is_not_sent_again() {
    let server = Server::start(|_, seen| {
        let tag = "\"of-august\"";
        if seen.header("if-none-match") == Some(tag) {
            return status(304);
        }
        ([("etag", tag)], offer("55.04")).into_response()
    })
    .await;
    let feed = feed(&server);
    let Answer::Prices { points, validators } = feed.fetch(&p5(), None).await.unwrap() else {
        panic!("it is new");
    };
    assert_eq!(lines(&points).len(), 1);
    assert_eq!(
        feed.fetch(&p5(), Some(&validators)).await.unwrap(),
        Answer::Unchanged
    );
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_a_broken_one_is_told() {
    let server = Server::start(|before, _| {
        if before < 2 {
            busy("0")
        } else {
            json(offer("55.04"))
        }
    })
    .await;
    assert_eq!(read(&feed(&server), &p5()).await.unwrap().len(), 1);
    assert_eq!(server.seen().len(), 3);
    let long = Server::start(|_, _| busy("3600")).await;
    let error = read(&feed(&long), &p5()).await.unwrap_err();
    assert_eq!(
        (error.class(), error.retry_after()),
        ("status", Some(Duration::from_secs(3600)))
    );
    assert_eq!(
        long.seen().len(),
        1,
        "a server that asks for an hour is left alone"
    );
    let missing = Server::start(|_, _| status(404)).await;
    assert_eq!(read(&feed(&missing), &p5()).await.unwrap_err().class(), "status");
}

#[tokio::test]
async fn a_file_that_is_cut_hangs_or_is_none_gives_no_prices() {
    let text = offer("55.04");
    let cut = Server::start(move |_, _| truncated(&text)).await;
    assert_eq!(read(&feed(&cut), &p5()).await.unwrap_err().class(), "other");
    // Complete for the reader up to the last brace: the break has to count all the same.
    let almost = format!("{}{}", offer("55.04"), " ".repeat(offer("55.04").len()));
    let late = Server::start(move |_, _| truncated(&almost)).await;
    assert_eq!(read(&feed(&late), &p5()).await.unwrap_err().class(), "other");
    let text = offer("55.04");
    let silent = Server::start(move |_, _| hanging(&text)).await;
    let impatient = AwsOffer::new(AwsOfferSettings {
        endpoint: silent.url.clone(),
        client: local(),
        timeout: Duration::from_millis(300),
        ..AwsOfferSettings::default()
    })
    .unwrap();
    assert_eq!(read(&impatient, &p5()).await.unwrap_err().class(), "timeout");
    let nonsense = Server::start(|_, _| json("<html>maintenance</html>")).await;
    assert_eq!(read(&feed(&nonsense), &p5()).await.unwrap_err().class(), "format");
    let changed = Server::start(|_, _| json(r#"{"formatVersion": "v2.0", "catalogue": []}"#)).await;
    assert_eq!(read(&feed(&changed), &p5()).await.unwrap_err().class(), "format");
}

#[test]
fn an_address_that_is_none_is_said_at_the_start() {
    for endpoint in [
        "",
        "pricing.example",
        "ftp://pricing.example",
        "https://user:word@pricing.example",
    ] {
        let settings = AwsOfferSettings {
            endpoint: endpoint.to_owned(),
            ..AwsOfferSettings::default()
        };
        assert!(AwsOffer::new(settings).is_err(), "{endpoint}");
    }
}

//! Azure's retail prices: pages that name the next one.

use std::time::Duration;

use gpu_model::Cloud;
use gpu_price_feeds::feeds::ListRequest;
use gpu_price_feeds::feeds::azure_retail::{AzureRetail, AzureRetailSettings};

use crate::server::{Seen, Server, busy, hanging, json, status, truncated};
use crate::{local, read, request};

const H100: &str = "Standard_ND96isr_H100_v5";

fn item(name: &str, kind: &str, price: &str) -> String {
    format!(
        r#"{{"currencyCode": "USD", "retailPrice": {price}, "armRegionName": "eastus", "armSkuName": "{name}", "skuName": "{name}{kind}",
            "productName": "Virtual Machines NDsr", "unitOfMeasure": "1 Hour", "type": "Consumption", "effectiveStartDate": "2026-01-01T00:00:00Z"}}"#
    )
}

/// Two pages; the second is named by a link to Azure's own address, as behind a mirror.
fn page(seen: &Seen) -> String {
    let (items, next) = match seen.query("$skip") {
        None => (
            item(H100, "", "98.32"),
            r#""https://prices.azure.com:443/api/retail/prices?$skip=1000""#,
        ),
        Some(_) => (item(H100, " Spot", "41.5"), "null"),
    };
    format!(r#"{{"Items": [{items}], "NextPageLink": {next}, "Count": 1}}"#)
}

fn h100() -> ListRequest {
    request(Cloud::Azure, Some("eastus"), &[("eastus", H100)])
}

fn feed(server: &Server, timeout: Duration) -> AzureRetail {
    AzureRetail::new(AzureRetailSettings {
        endpoint: server.url.clone(),
        client: local(),
        timeout,
    })
    .unwrap()
}

const PATIENT: Duration = Duration::from_secs(5);

fn both() -> [String; 2] {
    [
        format!("eastus {H100} on-demand $98.320000000"),
        format!("eastus {H100} spot $41.500000000"),
    ]
}

#[tokio::test]
async fn pages_are_followed_on_the_same_server() {
    let server = Server::start(|_, seen| json(page(seen))).await;
    assert_eq!(read(&feed(&server, PATIENT), &h100()).await.unwrap(), both());
    let seen = server.seen();
    let paths: Vec<&str> = seen.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(paths, ["/api/retail/prices"; 2]);
    let expected = "serviceName eq 'Virtual Machines' and armRegionName eq 'eastus' and priceType eq 'Consumption' \
                    and (armSkuName eq 'Standard_ND96isr_H100_v5')";
    assert_eq!(seen[0].query("$filter"), Some(expected));
    assert_eq!(seen[0].query("meterRegion"), Some("'primary'"));
}

#[tokio::test]
async fn many_types_are_asked_for_in_several_questions() {
    let server = Server::start(|_, _| json(r#"{"Items": [], "NextPageLink": null}"#)).await;
    let names: Vec<String> = (0..25).map(|number| format!("Standard_NC{number}_v5")).collect();
    let places: Vec<(&str, &str)> = names.iter().map(|name| ("eastus", name.as_str())).collect();
    let wanted = request(Cloud::Azure, Some("eastus"), &places);
    assert!(read(&feed(&server, PATIENT), &wanted).await.unwrap().is_empty());
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_busy_page_is_asked_again() {
    let server = Server::start(|before, seen| match before {
        0 | 2 => busy("0"),
        3 => status(503),
        _ => json(page(seen)),
    })
    .await;
    assert_eq!(read(&feed(&server, PATIENT), &h100()).await.unwrap(), both());
}

#[tokio::test]
async fn a_page_that_fails_for_good_is_no_list() {
    let refused = Server::start(|_, seen| match seen.query("$skip") {
        None => json(page(seen)),
        Some(_) => status(400),
    })
    .await;
    assert_eq!(
        read(&feed(&refused, PATIENT), &h100()).await.unwrap_err().class(),
        "status"
    );
    let cut = Server::start(|_, seen| truncated(&page(seen))).await;
    assert_eq!(
        read(&feed(&cut, PATIENT), &h100()).await.unwrap_err().class(),
        "other"
    );
    let silent = Server::start(|_, seen| hanging(&page(seen))).await;
    let error = read(&feed(&silent, Duration::from_millis(300)), &h100())
        .await
        .unwrap_err();
    assert_eq!(error.class(), "timeout");
}

#[tokio::test]
async fn a_list_without_end_is_ended() {
    let circle = Server::start(|_, _| {
        json(r#"{"Items": [], "NextPageLink": "https://prices.azure.com/api/retail/prices?$skip=7"}"#)
    })
    .await;
    assert_eq!(
        read(&feed(&circle, PATIENT), &h100()).await.unwrap_err().class(),
        "endless"
    );
    assert_eq!(circle.seen().len(), 2);
    let endless = Server::start(|before, _| {
        json(format!(
            r#"{{"Items": [], "NextPageLink": "https://prices.azure.com/api/retail/prices?$skip={before}"}}"#
        ))
    })
    .await;
    assert_eq!(
        read(&feed(&endless, PATIENT), &h100()).await.unwrap_err().class(),
        "endless"
    );
    assert_eq!(endless.seen().len(), 50);
}

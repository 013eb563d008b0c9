//! Lists of any size pass through in little memory. Measured by the system, in a process of its own.

use std::process::Command;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::IntoResponse as _;
use gpu_price_feeds::feeds::aws_offer::{AwsOffer, AwsOfferSettings};

use crate::aws_offer::p5;
use crate::server::Server;
use crate::{local, read};

const ADDRESS: &str = "PRICE_FEEDS_TEST_ADDRESS";
const MEGABYTE: usize = 1024 * 1024;
/// A fifth of the largest regional list.
const LIST_BYTES: usize = 128 * MEGABYTE;
const ALLOWED_GROWTH_KIB: u64 = 16 * 1024;

/// A generated list: the products, most of them of no interest, then their terms.
fn pieces() -> impl Iterator<Item = Bytes> {
    let product = |number: usize| {
        let name = if number == 7 { "p5.48xlarge" } else { "m5.large" };
        format!(
            r#""SKU{number:08}": {{"sku": "SKU{number:08}", "productFamily": "Compute Instance", "attributes": {{"servicecode": "AmazonEC2",
            "location": "US East (N. Virginia)", "instanceType": "{name}", "regionCode": "us-east-1", "operatingSystem": "Linux", "tenancy": "Shared",
            "preInstalledSw": "NA", "capacitystatus": "Used", "vcpu": "2", "physicalProcessor": "Intel Xeon Platinum 8175"}}}},"#
        )
    };
    let term = |number: usize| {
        format!(
            r#""SKU{number:08}": {{"SKU{number:08}.JRTCKXETXF": {{"offerTermCode": "JRTCKXETXF", "effectiveDate": "2026-08-01T00:00:00Z",
            "priceDimensions": {{"SKU{number:08}.JRTCKXETXF.6YS6EN2CT7": {{"unit": "Hrs", "description": "an hour of it", "pricePerUnit": {{"USD": "55.04"}}}}}}}}}},"#
        )
    };
    let half = move |entry: &dyn Fn(usize) -> String| LIST_BYTES / 2 / entry(0).len();
    let (products, terms) = (half(&product), half(&term));
    let block = |from: usize, to: usize, entry: &dyn Fn(usize) -> String| {
        Bytes::from((from..to).map(entry).collect::<String>())
    };
    const BLOCK: usize = 64;
    let blocks = move |count: usize| {
        (0..count)
            .step_by(BLOCK)
            .map(move |from| (from, (from + BLOCK).min(count)))
    };
    std::iter::once(Bytes::from_static(br#"{"formatVersion": "v1.0", "products": {"#))
        .chain(blocks(products).map(move |(from, to)| block(from, to, &product)))
        .chain([Bytes::from_static(br#""LAST": {}}, "terms": {"OnDemand": {"#)])
        .chain(blocks(terms).map(move |(from, to)| block(from, to, &term)))
        .chain([Bytes::from_static(br#""LAST": {}}}}"#)])
}

/// Peak of the memory that this process has held, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn fetch_in_this_process(address: &str) {
    let feed = AwsOffer::new(AwsOfferSettings {
        endpoint: address.to_owned(),
        client: local(),
        timeout: Duration::from_secs(300),
        ..AwsOfferSettings::default()
    })
    .unwrap();
    let before = peak_kib();
    let prices = read(&feed, &p5()).await.unwrap();
    println!("{} prices, grown by {} KiB", prices.len(), peak_kib() - before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_128_megabytes_is_read_in_16() {
    if let Ok(address) = std::env::var(ADDRESS) {
        return fetch_in_this_process(&address).await;
    }
    let sum: usize = pieces().map(|piece| piece.len()).sum();
    assert!(sum > 120 * MEGABYTE, "{sum}");
    let server = Server::start(|_, _| {
        Body::from_stream(futures::stream::iter(pieces().map(Ok::<_, std::io::Error>))).into_response()
    })
    .await;
    let url = server.url.clone();
    let child = tokio::task::spawn_blocking(move || {
        Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "memory::a_list_of_128_megabytes_is_read_in_16",
                "--nocapture",
            ])
            .env(ADDRESS, url)
            .output()
            .unwrap()
    });
    let output = child.await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let line = said
        .lines()
        .find_map(|line| line.split_once("1 prices, grown by "))
        .unwrap()
        .1;
    let grown: u64 = line.trim_end_matches(" KiB").parse().unwrap();
    println!("{sum} bytes were read in {grown} KiB");
    assert!(grown < ALLOWED_GROWTH_KIB, "{grown} KiB");
}

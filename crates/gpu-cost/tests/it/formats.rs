//! Price lists in the shapes in which the clouds publish them. The figures are made up.

use std::io::Read;

use gpu_cost::formats::{
    Bounded, FormatError, Limits, PricePoint, aws_offer, aws_offer_csv, aws_spot, azure_retail, gcp_skus,
    versions,
};
use gpu_cost::prices::bundled_machine_types;
use gpu_cost::{Moment, PriceSource};

fn lines(points: &[PricePoint]) -> Vec<String> {
    points
        .iter()
        .map(|point| {
            let zone = point.zone.as_deref().unwrap_or("-");
            let since = point
                .since
                .map_or_else(|| "-".to_owned(), |since| since.to_string());
            format!(
                "{} {} {} {zone} {} {} {since}",
                point.cloud.as_str(),
                point.instance_type,
                point.region,
                point.capacity.as_str(),
                point.rate
            )
        })
        .collect()
}

fn p5_only(name: &str) -> bool {
    name.starts_with("p5")
}

fn product(sku: &str, name: &str, system: &str, status: &str) -> String {
    format!(
        r#""{sku}": {{"sku": "{sku}", "productFamily": "Compute Instance", "attributes": {{
            "servicecode": "AmazonEC2", "instanceType": "{name}", "regionCode": "us-east-1", "operatingSystem": "{system}",
            "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "{status}", "gpu": "8", "vcpu": "192"}}}}"#
    )
}

fn term(sku: &str, price: &str) -> String {
    format!(
        r#""{sku}": {{"{sku}.T": {{"offerTermCode": "T", "sku": "{sku}", "effectiveDate": "2026-08-01T00:00:00Z",
            "priceDimensions": {{"{sku}.T.D": {{"unit": "Hrs", "description": "...", "pricePerUnit": {{"USD": "{price}"}}}}}},
            "termAttributes": {{}}}}}}"#
    )
}

fn offer(products: &[String], terms: &[String]) -> String {
    format!(
        r#"{{"formatVersion": "v1.0", "offerCode": "AmazonEC2", "publicationDate": "2026-08-22T00:00:00Z",
            "products": {{{}}}, "terms": {{"OnDemand": {{{}}}, "Reserved": {{"A": {{"A.R": {{"x": [1, 2]}}}}}}}}, "attributesList": {{}}}}"#,
        products.join(","),
        terms.join(",")
    )
}

#[test]
fn aws_offers_of_plain_linux_machines() {
    let text = offer(
        &[
            product("A", "p5.48xlarge", "Linux", "Used"),
            product("B", "p5.48xlarge", "Windows", "Used"),
            product("C", "p5.48xlarge", "Linux", "UnusedCapacityReservation"),
            product("D", "m5.large", "Linux", "Used"),
        ],
        &[
            term("A", "55.0400000000"),
            term("B", "80"),
            term("C", "55.04"),
            term("D", "0.1"),
        ],
    );
    let points = aws_offer::read(text.as_bytes(), &p5_only, Limits::default()).unwrap();
    assert_eq!(
        lines(&points),
        ["aws p5.48xlarge us-east-1 - on-demand $55.040000000 2026-08-01T00:00:00Z"]
    );
}

#[test]
fn aws_offers_as_comma_separated_values() {
    let text = "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"with, a comma\"\n\"Publication Date\",\"x\"\n\"Version\",\"1\"\n\"OfferCode\",\"AmazonEC2\"\n\
        \"SKU\",\"TermType\",\"EffectiveDate\",\"Unit\",\"PricePerUnit\",\"Currency\",\"Instance Type\",\"Tenancy\",\"Operating System\",\"Pre Installed S/W\",\"CapacityStatus\",\"Region Code\"\n\
        \"A\",\"OnDemand\",\"2026-08-01\",\"Hrs\",\"55.04\",\"USD\",\"p5.48xlarge\",\"Shared\",\"Linux\",\"NA\",\"Used\",\"us-east-1\"\n\
        \"A\",\"Reserved\",\"2026-08-01\",\"Hrs\",\"31\",\"USD\",\"p5.48xlarge\",\"Shared\",\"Linux\",\"NA\",\"Used\",\"us-east-1\"\n\
        \"B\",\"OnDemand\",\"2026-08-01\",\"Hrs\",\"60\",\"USD\",\"p5.48xlarge\",\"Dedicated\",\"Linux\",\"NA\",\"Used\",\"us-east-1\"\n";
    let points = aws_offer_csv::read(text.as_bytes(), &p5_only, Limits::default()).unwrap();
    assert_eq!(
        lines(&points),
        ["aws p5.48xlarge us-east-1 - on-demand $55.040000000 2026-08-01T00:00:00Z"]
    );
    let missing = text.replace("Region Code", "Somewhere");
    let error = aws_offer_csv::read(missing.as_bytes(), &p5_only, Limits::default()).unwrap_err();
    assert!(matches!(error, FormatError::Missing("Region Code")), "{error}");
}

#[test]
fn aws_spot_history_becomes_prices_with_validity() {
    let text = r#"{"SpotPriceHistory": [
        {"AvailabilityZone": "us-east-1a", "AvailabilityZoneId": "use1-az1", "InstanceType": "p5.48xlarge",
         "ProductDescription": "Linux/UNIX", "SpotPrice": "18.5", "Timestamp": "2026-08-21T10:00:00+00:00"},
        {"AvailabilityZone": "us-east-1a", "AvailabilityZoneId": "use1-az1", "InstanceType": "p5.48xlarge",
         "ProductDescription": "Linux/UNIX", "SpotPrice": "17.25", "Timestamp": "2026-08-20T10:00:00+00:00"},
        {"AvailabilityZone": "us-east-1a", "InstanceType": "p5.48xlarge", "ProductDescription": "Windows",
         "SpotPrice": "30", "Timestamp": "2026-08-20T10:00:00+00:00"}], "NextToken": "more"}"#;
    let page = aws_spot::read(text.as_bytes(), "us-east-1", Limits::default()).unwrap();
    assert_eq!(page.next.as_deref(), Some("more"));
    assert_eq!(
        lines(&page.points),
        [
            "aws p5.48xlarge us-east-1 use1-az1 spot $17.250000000 2026-08-20T10:00:00Z",
            "aws p5.48xlarge us-east-1 use1-az1 spot $18.500000000 2026-08-21T10:00:00Z"
        ]
    );
    let versions = versions(page.points, PriceSource::Live, Moment(0));
    assert_eq!(versions.len(), 2);
    assert_eq!(versions[0].valid.end, versions[1].valid.start);
    assert_eq!(versions[1].valid.start.to_string(), "2026-08-21T10:00:00Z");
}

#[test]
fn azure_retail_prices_on_demand_and_spot() {
    let item = |sku: &str, product: &str, price: &str, kind: &str| {
        format!(
            r#"{{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": {price}, "unitPrice": {price}, "armRegionName": "eastus",
            "location": "US East", "effectiveStartDate": "2026-01-01T00:00:00Z", "meterName": "x", "productName": "{product}",
            "skuName": "{sku}", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour", "type": "{kind}",
            "armSkuName": "Standard_ND96isr_H100_v5"}}"#
        )
    };
    let linux = "Virtual Machines NDsr H100 v5 Series";
    let text = format!(
        r#"{{"BillingCurrency": "USD", "Items": [{}, {}, {}, {}, {}], "NextPageLink": null, "Count": 5}}"#,
        item("ND96isr H100 v5", linux, "98.32", "Consumption"),
        item("ND96isr H100 v5 Spot", linux, "29.496", "Consumption"),
        item("ND96isr H100 v5 Low Priority", linux, "19.664", "Consumption"),
        item(
            "ND96isr H100 v5",
            "Virtual Machines NDsr H100 v5 Series Windows",
            "102.7",
            "Consumption"
        ),
        item("ND96isr H100 v5", linux, "500000", "Reservation")
    );
    let page = azure_retail::read(text.as_bytes(), &|_| true, Limits::default()).unwrap();
    assert_eq!(
        lines(&page.points),
        [
            "azure Standard_ND96isr_H100_v5 eastus - spot $29.496000000 2026-01-01T00:00:00Z",
            "azure Standard_ND96isr_H100_v5 eastus - on-demand $98.320000000 2026-01-01T00:00:00Z"
        ]
    );
    assert_eq!(page.next, None);
}

/// Description, unit, market, whole dollars, billionths.
const SKUS: &[(&str, &str, &str, u8, u32)] = &[
    (
        "Nvidia L4 GPU running in Americas",
        "h",
        "OnDemand",
        0,
        560_000_000,
    ),
    (
        "G2 Instance Core running in Americas",
        "h",
        "OnDemand",
        0,
        25_000_000,
    ),
    (
        "G2 Instance Ram running in Americas",
        "GiBy.h",
        "OnDemand",
        0,
        3_000_000,
    ),
    (
        "Nvidia L4 GPU attached to Spot Preemptible VMs running in Americas",
        "h",
        "Preemptible",
        0,
        200_000_000,
    ),
    (
        "Spot Preemptible G2 Instance Core running in Americas",
        "h",
        "Preemptible",
        0,
        10_000_000,
    ),
    (
        "Spot Preemptible G2 Instance Ram running in Americas",
        "GiBy.h",
        "Preemptible",
        0,
        1_000_000,
    ),
    (
        "Nvidia L4 GPU attached to Sole Tenancy VMs running in Americas",
        "h",
        "OnDemand",
        9,
        0,
    ),
    (
        "Nvidia H100 80GB GPU running in Americas",
        "h",
        "OnDemand",
        9,
        796_000_000,
    ),
    (
        "A4 Nvidia B200 (1 gpu slice) running in Americas",
        "h",
        "OnDemand",
        11,
        280_000_000,
    ),
    (
        "Commitment v1: Nvidia L4 GPU running in Americas",
        "h",
        "Commit1Yr",
        0,
        1,
    ),
];

fn catalogue() -> String {
    let skus: Vec<String> = SKUS
        .iter()
        .map(|(words, unit, usage, units, nanos)| {
            format!(
                r#"{{"name": "services/x/skus/y", "description": "{words}", "category": {{"resourceFamily": "Compute",
                "usageType": "{usage}"}}, "serviceRegions": ["us-central1"], "pricingInfo": [{{"effectiveTime": "2026-08-01T00:00:00Z",
                "pricingExpression": {{"usageUnit": "{unit}", "tieredRates": [{{"startUsageAmount": 0, "unitPrice": {{
                "currencyCode": "USD", "units": "{units}", "nanos": {nanos}}}}}]}}}}]}}"#
            )
        })
        .collect();
    format!(r#"{{"skus": [{}], "nextPageToken": ""}}"#, skus.join(","))
}

#[test]
fn google_machines_are_put_together_from_their_pieces() {
    let text = catalogue();
    let mut pieces = gcp_skus::Pieces::default();
    assert_eq!(pieces.read(text.as_bytes(), Limits::default()).unwrap(), None);
    let points = pieces.points(bundled_machine_types());
    let found = |name: &str| -> Vec<String> {
        lines(&points)
            .into_iter()
            .filter(|line| line.contains(&format!(" {name} ")))
            .collect()
    };
    // 0.56 + 4 x 0.025 + 16 x 0.003, and 0.2 + 4 x 0.01 + 16 x 0.001.
    assert_eq!(
        found("g2-standard-4"),
        [
            "gcp g2-standard-4 us-central1 - spot $0.256000000 2026-08-01T00:00:00Z",
            "gcp g2-standard-4 us-central1 - on-demand $0.708000000 2026-08-01T00:00:00Z"
        ]
    );
    assert_eq!(
        found("a4-highgpu-8g"),
        ["gcp a4-highgpu-8g us-central1 - on-demand $90.240000000 2026-08-01T00:00:00Z"]
    );
    assert_eq!(
        found("a3-highgpu-8g"),
        Vec::<String>::new(),
        "a GPU without its host has no price"
    );
}

/// An offer file of any length, made while it is read.
struct Endless {
    sent: u64,
    products: u64,
    pending: Vec<u8>,
    stage: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.pending.is_empty() {
            let next = match self.stage {
                0 => {
                    r#"{"offerCode": "AmazonEC2", "products": {"#.to_owned()
                        + &product("A", "p5.48xlarge", "Linux", "Used")
                }
                stage if stage <= self.products => {
                    format!(", {}", product(&format!("X{stage}"), "m5.large", "Linux", "Used"))
                }
                stage if stage == self.products + 1 => {
                    r#"}, "terms": {"OnDemand": {"#.to_owned() + &term("A", "55.04")
                }
                stage if stage <= self.products * 2 => {
                    format!(", {}", term(&format!("X{}", stage - self.products), "0.1"))
                }
                stage if stage == self.products * 2 + 1 => "}}}".to_owned(),
                _ => return Ok(0),
            };
            self.stage += 1;
            self.pending = next.into_bytes();
        }
        let count = buffer.len().min(self.pending.len());
        buffer[..count].copy_from_slice(&self.pending[..count]);
        self.pending.drain(..count);
        self.sent += count as u64;
        Ok(count)
    }
}

#[test]
fn a_long_list_is_read_in_little_memory() {
    let mut list = Endless {
        sent: 0,
        products: 20_000,
        pending: Vec::new(),
        stage: 0,
    };
    let mut points = Vec::new();
    let used = allocation_counter::measure(|| {
        points = aws_offer::read(&mut list, &p5_only, Limits::default()).unwrap();
    });
    assert_eq!(points.len(), 1);
    assert!(list.sent > 10_000_000, "{} bytes were read", list.sent);
    assert!(
        used.bytes_max < 300_000,
        "{} bytes were held at once",
        used.bytes_max
    );
}

#[test]
fn what_is_too_long_cut_off_or_something_else_is_refused() {
    let text = offer(
        &[product("A", "p5.48xlarge", "Linux", "Used")],
        &[term("A", "55.04")],
    );
    let short = Limits {
        bytes: 200,
        ..Limits::default()
    };
    assert!(aws_offer::read(text.as_bytes(), &p5_only, short).is_err());
    assert!(aws_offer::read(&text.as_bytes()[..text.len() - 5], &p5_only, Limits::default()).is_err());
    let none = Limits {
        points: 0,
        ..Limits::default()
    };
    let error = aws_offer::read(text.as_bytes(), &p5_only, none).unwrap_err();
    assert!(matches!(error, FormatError::TooMany(0)), "{error}");
    let error = aws_offer::read("{}".as_bytes(), &p5_only, Limits::default()).unwrap_err();
    assert!(matches!(error, FormatError::Missing("terms")), "{error}");
    for text in ["{}", "[]", "", "<html>"] {
        assert!(azure_retail::read(text.as_bytes(), &|_| true, Limits::default()).is_err());
        assert!(aws_spot::read(text.as_bytes(), "r", Limits::default()).is_err());
        assert!(
            gcp_skus::Pieces::default()
                .read(text.as_bytes(), Limits::default())
                .is_err()
        );
        assert!(aws_offer_csv::read(text.as_bytes(), &p5_only, Limits::default()).is_err());
    }
    let mut whole = Vec::new();
    assert!(Bounded::new(&b"12345"[..], 5).read_to_end(&mut whole).is_ok());
    assert!(Bounded::new(&b"123456"[..], 5).read_to_end(&mut whole).is_err());
}

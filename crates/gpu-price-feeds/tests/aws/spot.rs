//! Spot prices from a server that follows EC2's document, and breaks off where told.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use gpu_model::Cloud;
use gpu_price_feeds::Wanted;
use gpu_price_feeds::aws::{Environment, StaticKeys};
use gpu_price_feeds::feeds::aws_spot::{AwsSpot, AwsSpotSettings};
use gpu_price_feeds::feeds::{Answer, Feed as _, FeedError, ListRequest};
use gpu_runtime::http::client::Secret;
use gpu_runtime::{ManualClock, SystemClock};

use crate::local;
use crate::server::{Server, hanging, truncated};

pub(crate) fn settings(endpoint: &str) -> AwsSpotSettings {
    AwsSpotSettings {
        endpoint: Some(endpoint.to_owned()),
        client: local(),
        environment: Environment {
            keys: Some(StaticKeys {
                access_key: "AKIA1".to_owned(),
                secret: Secret::new("hunter2"),
                token: None,
            }),
            ..Environment::default()
        },
        look_back: Duration::from_secs(48 * 3600),
        timeout: Duration::from_secs(20),
    }
}

pub(crate) fn request(types: &[&str]) -> ListRequest {
    let mut wanted = Wanted::new();
    for name in types {
        wanted.add(Cloud::Aws, "us-east-1", name);
    }
    ListRequest {
        region: Some("us-east-1".to_owned()),
        wanted,
    }
}

pub(crate) async fn read(feed: &AwsSpot, types: &[&str]) -> Result<Vec<String>, FeedError> {
    let Answer::Prices { mut points, .. } = feed.fetch(&request(types), None).await? else {
        panic!("there is no unchanged history");
    };
    points.sort();
    let lines = points.iter().map(|point| {
        let zone = point.zone.as_deref().unwrap_or("-");
        format!(
            "{zone} {} {} {}",
            point.instance_type,
            point.rate,
            point.since.unwrap()
        )
    });
    Ok(lines.collect())
}

fn feed(server: &Server) -> AwsSpot {
    AwsSpot::new(settings(&server.url), Arc::new(SystemClock)).unwrap()
}

fn item(zone: &str, price: &str, day: u8) -> String {
    format!(
        "<item><instanceType>p5.48xlarge</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>{price}</spotPrice>\
         <timestamp>2026-11-{day:02}T10:00:00.000Z</timestamp>{zone}</item>"
    )
}

fn page(items: &[String], next: &str) -> String {
    format!(
        "<DescribeSpotPriceHistoryResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>x</requestId>\
         <spotPriceHistorySet>{}</spotPriceHistorySet><nextToken>{next}</nextToken></DescribeSpotPriceHistoryResponse>",
        items.concat()
    )
}

fn by_id(number: u8) -> String {
    format!(
        "<availabilityZone>us-east-1{}</availabilityZone><availabilityZoneId>use1-az{number}</availabilityZoneId>",
        char::from(b'a' + number)
    )
}

fn refusal(status: u16, code: &str) -> Response {
    let text = format!(
        "<Response><Errors><Error><Code>{code}</Code><Message>m</Message></Error></Errors><RequestID>x</RequestID></Response>"
    );
    (StatusCode::from_u16(status).unwrap(), text).into_response()
}

#[tokio::test]
async fn pages_are_followed_and_every_request_is_signed() {
    let server = Server::start(|before, seen| match (before, seen.form("NextToken").as_deref()) {
        // Asked too often, as accounts with many tools are.
        (1, _) => refusal(503, "RequestLimitExceeded"),
        (_, None) => page(&[item(&by_id(1), "18.5", 15)], "more").into_response(),
        (_, Some("more")) => {
            page(&[item(&by_id(2), "17.25", 14), item(&by_id(1), "19", 16)], "").into_response()
        }
        _ => refusal(400, "InvalidNextToken"),
    })
    .await;
    let clock = Arc::new(ManualClock::new("2026-11-16T12:00:00.5Z".parse().unwrap()));
    let feed = AwsSpot::new(settings(&server.url), clock).unwrap();
    assert_eq!(
        read(&feed, &["p5.48xlarge"]).await.unwrap(),
        [
            "us-east-1b p5.48xlarge $18.500000000 2026-11-15T10:00:00Z",
            "us-east-1b p5.48xlarge $19.000000000 2026-11-16T10:00:00Z",
            "us-east-1c p5.48xlarge $17.250000000 2026-11-14T10:00:00Z",
            "use1-az1 p5.48xlarge $18.500000000 2026-11-15T10:00:00Z",
            "use1-az1 p5.48xlarge $19.000000000 2026-11-16T10:00:00Z",
            "use1-az2 p5.48xlarge $17.250000000 2026-11-14T10:00:00Z",
        ]
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    for asked in &seen {
        let field = |name: &str| asked.form(name).unwrap_or_default();
        assert_eq!(
            (field("Action"), field("Version")),
            ("DescribeSpotPriceHistory".to_owned(), "2016-11-15".to_owned())
        );
        assert_eq!(
            (field("InstanceType.1"), field("MaxResults")),
            ("p5.48xlarge".to_owned(), "1000".to_owned())
        );
        assert_eq!(field("StartTime").get(..16), Some("2026-11-14T12:00"));
        let signed = asked.header("authorization").unwrap();
        let scope = "AWS4-HMAC-SHA256 Credential=AKIA1/20261116/us-east-1/ec2/aws4_request";
        assert!(signed.starts_with(scope), "{signed}");
    }
}

#[tokio::test]
async fn what_is_not_allowed_is_said_with_the_right_that_is_missing() {
    let server = Server::start(|_, _| refusal(403, "UnauthorizedOperation")).await;
    let error = read(&feed(&server), &["p5.48xlarge"]).await.unwrap_err();
    assert_eq!(error.class(), "credentials");
    let said = error.to_string();
    assert!(
        said.contains("UnauthorizedOperation") && said.contains("allow `ec2:DescribeSpotPriceHistory`"),
        "{said}"
    );
    let server = Server::start(|_, _| refusal(400, "InvalidParameterValue")).await;
    let error = read(&feed(&server), &["p5.48xlarge"]).await.unwrap_err();
    assert_eq!(
        (error.class(), error.to_string().as_str()),
        ("status", "the service answered 400 InvalidParameterValue")
    );
}

#[tokio::test]
async fn zones_get_their_ids_where_the_answer_lacks_them_and_the_role_may_ask() {
    let by_name = "<availabilityZone>us-east-1a</availabilityZone>";
    let history = page(&[item(by_name, "18.5", 15)], "");
    let zones = "<DescribeAvailabilityZonesResponse><availabilityZoneInfo><item><zoneName>us-east-1a</zoneName><zoneId>use1-az4</zoneId></item>\
        </availabilityZoneInfo></DescribeAvailabilityZonesResponse>";
    let start = async |allowed: bool| {
        let history = history.clone();
        Server::start(move |_, seen| match seen.form("Action").as_deref() {
            Some("DescribeSpotPriceHistory") => history.clone().into_response(),
            _ if allowed => zones.into_response(),
            _ => refusal(403, "UnauthorizedOperation"),
        })
        .await
    };
    let price = "p5.48xlarge $18.500000000 2026-11-15T10:00:00Z";
    let both = read(&feed(&start(true).await), &["p5.48xlarge"]).await.unwrap();
    assert_eq!(both, [format!("us-east-1a {price}"), format!("use1-az4 {price}")]);
    let one = read(&feed(&start(false).await), &["p5.48xlarge"]).await.unwrap();
    assert_eq!(one, [format!("us-east-1a {price}")]);
}

#[tokio::test]
async fn a_history_that_is_cut_hangs_or_never_ends_gives_no_prices() {
    let whole = page(&[item(&by_id(1), "18.5", 15)], "");
    let text = whole.clone();
    let cut = Server::start(move |_, _| truncated(&text)).await;
    assert_eq!(
        read(&feed(&cut), &["p5.48xlarge"]).await.unwrap_err().class(),
        "other"
    );
    let text = whole[..whole.len() - 10].to_owned();
    let short = Server::start(move |_, _| text.clone().into_response()).await;
    assert_eq!(
        read(&feed(&short), &["p5.48xlarge"]).await.unwrap_err().class(),
        "format"
    );
    let silent = Server::start(move |_, _| hanging(&whole)).await;
    let impatient = AwsSpotSettings {
        timeout: Duration::from_millis(300),
        ..settings(&silent.url)
    };
    let feed_of = |settings| AwsSpot::new(settings, Arc::new(SystemClock)).unwrap();
    let error = read(&feed_of(impatient), &["p5.48xlarge"]).await.unwrap_err();
    assert_eq!(error.class(), "timeout");
    let circle = Server::start(|_, _| page(&[], "again").into_response()).await;
    assert_eq!(
        read(&feed(&circle), &["p5.48xlarge"]).await.unwrap_err().class(),
        "endless"
    );
    let endless = Server::start(|before, _| page(&[], &format!("t{before}")).into_response()).await;
    assert_eq!(
        read(&feed(&endless), &["p5.48xlarge"]).await.unwrap_err().class(),
        "endless"
    );
    assert_eq!(endless.seen().len(), 100);
}

//! AWS's spot prices: `DescribeSpotPriceHistory` of EC2, signed, in pages, by region.

mod answers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gpu_model::Cloud;
use gpu_runtime::http::client::{Client, ClientSettings, Limits, Response, Url};
use gpu_runtime::{Chain, Clock};
use jiff::{Timestamp, Unit};
use tokio::time::sleep;
use tracing::warn;

use super::{Answer, Division, Feed, FeedError, FeedSettingsError, ListRequest, Validators, pages};
use crate::aws::{self, CredentialsChain, Environment};
use answers::{Refusal, SpotPrice};

/// Where EC2 is, and who asks.
#[derive(Debug, Clone)]
pub struct AwsSpotSettings {
    /// One server for all regions, in place of `https://ec2.REGION.amazonaws.com`.
    pub endpoint: Option<String>,
    /// How it is reached.
    pub client: ClientSettings,
    /// Where credentials are to be had.
    pub environment: Environment,
    /// How far back prices are read.
    pub look_back: Duration,
    /// How long one page may take.
    pub timeout: Duration,
}

impl AwsSpotSettings {
    /// The usual settings with what the variables of this process say of credentials.
    pub fn of_process() -> Self {
        Self {
            endpoint: None,
            client: ClientSettings::default(),
            environment: Environment::of_process(),
            // What a stop over a weekend's night has missed.
            look_back: Duration::from_secs(48 * 3600),
            timeout: Duration::from_secs(30),
        }
    }
}

/// The version of EC2's interface.
const VERSION: &str = "2016-11-15";
/// The largest page that may be asked for.
const PAGE_SIZE: &str = "1000";
/// A page of a thousand is some 400 KB.
const PAGE_BYTES: u64 = 8 * 1024 * 1024;
/// A hundred thousand changes within the time that is looked back are more than EC2 has types.
const MOST_PAGES: usize = 100;
/// Types in one question.
const TYPES_A_QUESTION: usize = 50;

/// The history of each region.
pub struct AwsSpot {
    endpoint: Option<Url>,
    client: Client,
    credentials: CredentialsChain,
    clock: Arc<dyn Clock>,
    look_back: Duration,
    limits: Limits,
}

impl AwsSpot {
    /// Sets up the feed; nothing is fetched yet.
    pub fn new(settings: AwsSpotSettings, clock: Arc<dyn Clock>) -> Result<Self, FeedSettingsError> {
        let client = Client::new(settings.client)?;
        Ok(Self {
            endpoint: settings.endpoint.as_deref().map(pages::base).transpose()?,
            credentials: CredentialsChain::new(settings.environment, client.clone(), Arc::clone(&clock))?,
            client,
            clock,
            look_back: settings.look_back,
            limits: Limits::new(settings.timeout, PAGE_BYTES),
        })
    }

    /// All pages of the history of some types.
    async fn history(
        &self,
        region: &str,
        types: &[&String],
        since: &str,
    ) -> Result<Vec<SpotPrice>, FeedError> {
        let mut prices = Vec::new();
        let mut seen = BTreeSet::new();
        let mut token: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let numbered: Vec<String> = (1..=types.len())
                .map(|number| format!("InstanceType.{number}"))
                .collect();
            let mut fields = vec![
                ("ProductDescription.1", "Linux/UNIX"),
                ("StartTime", since),
                ("MaxResults", PAGE_SIZE),
            ];
            fields.extend(
                numbered
                    .iter()
                    .map(String::as_str)
                    .zip(types.iter().map(|name| name.as_str())),
            );
            fields.extend(token.as_deref().map(|token| ("NextToken", token)));
            let text = self.ask(region, "DescribeSpotPriceHistory", &fields).await?;
            let page = answers::history(&text, region)?;
            prices.extend(page.prices);
            let Some(next) = page.next else { return Ok(prices) };
            if !seen.insert(next.clone()) {
                break;
            }
            token = Some(next);
        }
        Err(FeedError::Endless { limit: seen.len() })
    }

    /// Older answers name zones by letters alone, which mean another place in every account; price lists have ids. A role that
    /// may not ask for the ids still gets the prices, by letters.
    async fn add_ids(&self, region: &str, prices: &mut [SpotPrice]) {
        if prices.iter().all(|price| price.zone_id.is_some()) {
            return;
        }
        let answer = self.ask(region, "DescribeAvailabilityZones", &[]).await;
        match answer.and_then(|text| Ok(answers::zones(&text)?)) {
            Ok(ids) => {
                for price in prices.iter_mut().filter(|price| price.zone_id.is_none()) {
                    price.zone_id = price.zone_name.as_ref().and_then(|name| ids.get(name).cloned());
                }
            }
            Err(error) => {
                warn!(region, error = %Chain(&error), "spot prices are known by the names of zones alone");
            }
        }
    }

    /// Asks EC2, with patience where it is busy.
    async fn ask(&self, region: &str, action: &str, fields: &[(&str, &str)]) -> Result<String, FeedError> {
        let mut pause = pages::FIRST_PAUSE;
        for attempt in 0.. {
            let response = self.attempt(region, action, fields).await?;
            if response.status.is_success() {
                return Ok(String::from_utf8_lossy(&response.body).into_owned());
            }
            let refusal = Refusal::read(&response);
            if !refusal.is_busy() || attempt >= pages::PATIENCE {
                return Err(refusal.into_error(action));
            }
            sleep(pause).await;
            pause *= 2;
        }
        unreachable!("the attempts are counted above")
    }

    async fn attempt(
        &self,
        region: &str,
        action: &str,
        fields: &[(&str, &str)],
    ) -> Result<Response, FeedError> {
        let credentials = self
            .credentials
            .get()
            .await
            .map_err(|error| FeedError::Credentials {
                reason: Chain(&error).to_string(),
            })?;
        let url = match &self.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => format!("https://ec2.{region}.{}/", aws::domain(region))
                .parse()
                .map_err(|_| FeedError::Reader)?,
        };
        let mut all = vec![("Action", action), ("Version", VERSION)];
        all.extend_from_slice(fields);
        let request = aws::sign(
            url,
            aws::form(&all),
            &credentials,
            region,
            "ec2",
            self.clock.now(),
        )
        .map_err(|error| FeedError::Credentials {
            reason: error.to_string(),
        })?;
        Ok(self.client.fetch(request, self.limits).await?)
    }
}

impl Feed for AwsSpot {
    fn source(&self) -> &'static str {
        "aws-spot"
    }

    fn cloud(&self) -> Cloud {
        Cloud::Aws
    }

    fn division(&self) -> Division {
        Division::ByRegion
    }

    async fn fetch(&self, list: &ListRequest, _known: Option<&Validators>) -> Result<Answer, FeedError> {
        let region = list.region.as_deref().unwrap_or_default();
        let since = start(self.clock.now(), self.look_back);
        let types: Vec<&String> = list
            .wanted
            .regions(Cloud::Aws)
            .flat_map(|(_, types)| types)
            .collect();
        let mut prices = Vec::new();
        for some in types.chunks(TYPES_A_QUESTION) {
            prices.extend(self.history(region, some, &since).await?);
        }
        prices.retain(|price| list.wanted.has(Cloud::Aws, region, &price.point.instance_type));
        self.add_ids(region, &mut prices).await;
        let points = prices.into_iter().flat_map(SpotPrice::points).collect();
        Ok(Answer::Prices {
            points,
            validators: Validators::default(),
        })
    }
}

/// Since when the history is read, in whole seconds.
fn start(now: Timestamp, look_back: Duration) -> String {
    let start = now.saturating_sub(look_back).unwrap_or(now);
    start.round(Unit::Second).unwrap_or(start).to_string()
}

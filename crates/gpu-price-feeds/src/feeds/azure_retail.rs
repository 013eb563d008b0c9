//! Azure's retail prices: a list for each region, asked for by machine type, in pages.

use std::collections::BTreeSet;
use std::time::Duration;

use gpu_cost::formats::{self, FormatError, PricePoint, azure_retail::Page};
use gpu_model::Cloud;
use gpu_runtime::http::client::{Client, ClientSettings, Limits, Request, Url};

use super::{Answer, Division, Feed, FeedError, FeedSettingsError, ListRequest, Validators, pages, pipe};

/// Where the prices are.
#[derive(Debug, Clone)]
pub struct AzureRetailSettings {
    /// The server.
    pub endpoint: String,
    /// How it is reached.
    pub client: ClientSettings,
    /// How long one page may take.
    pub timeout: Duration,
}

impl Default for AzureRetailSettings {
    fn default() -> Self {
        Self {
            endpoint: "https://prices.azure.com".to_owned(),
            client: ClientSettings::default(),
            timeout: Duration::from_secs(60),
        }
    }
}

/// Types in one question: the address stays under two kilobytes.
const TYPES_A_QUESTION: usize = 10;
/// A type has some ten prices in a region, and a page a thousand; this is far beyond ten types.
const MOST_PAGES: usize = 50;
/// A page of a thousand prices is under a megabyte.
const PAGE_BYTES: u64 = 16 * 1024 * 1024;

/// The prices of each region.
#[derive(Debug)]
pub struct AzureRetail {
    list: Url,
    client: Client,
    limits: Limits,
}

impl AzureRetail {
    /// Sets up the feed; nothing is fetched yet.
    pub fn new(settings: AzureRetailSettings) -> Result<Self, FeedSettingsError> {
        let base = pages::base(&settings.endpoint)?;
        Ok(Self {
            list: pages::below(&base, &["api", "retail", "prices"]),
            client: Client::new(settings.client)?,
            limits: Limits::new(settings.timeout, PAGE_BYTES),
        })
    }

    /// The first page of a question. Names hold no quotes: [`crate::Wanted`] lets none in.
    fn question(&self, region: &str, types: &[&String]) -> Url {
        let types: Vec<String> = types
            .iter()
            .map(|name| format!("armSkuName eq '{name}'"))
            .collect();
        let filter = format!(
            "serviceName eq 'Virtual Machines' and armRegionName eq '{region}' and priceType eq 'Consumption' and ({})",
            types.join(" or ")
        );
        let mut url = self.list.clone();
        url.query_pairs_mut()
            .append_pair("api-version", "2023-01-01-preview")
            .append_pair("meterRegion", "'primary'")
            .append_pair("$filter", &filter);
        url
    }

    /// Reads every page of a question.
    async fn answers(&self, first: Url, list: &ListRequest) -> Result<Vec<PricePoint>, FeedError> {
        let mut points = Vec::new();
        let mut seen = BTreeSet::from([first.clone()]);
        let mut url = first;
        for _ in 0..MOST_PAGES {
            let chunks = pages::ask(&self.client, Request::get(url), self.limits).await?;
            let (region, wanted) = (list.region.clone().unwrap_or_default(), list.wanted.clone());
            let page: Page = pipe::parse(chunks, move |reader| {
                let is_wanted = |name: &str| wanted.has(Cloud::Azure, &region, name);
                let limits = formats::Limits {
                    bytes: PAGE_BYTES,
                    ..formats::Limits::default()
                };
                formats::azure_retail::read(reader, &is_wanted, limits)
            })
            .await?;
            points.extend(page.points);
            let Some(next) = page.next else { return Ok(points) };
            url = self.followed(&next)?;
            if !seen.insert(url.clone()) {
                break;
            }
        }
        Err(FeedError::Endless { limit: seen.len() })
    }

    /// The address of the next page. Of the link only the question is taken: whatever it names as the server, and a mirror
    /// passes on the name of the original, the next page is asked from the same one.
    fn followed(&self, link: &str) -> Result<Url, FeedError> {
        let next: Url = link.parse().map_err(|_| FormatError::Missing("NextPageLink"))?;
        let mut url = self.list.clone();
        url.set_query(next.query());
        Ok(url)
    }
}

impl Feed for AzureRetail {
    fn source(&self) -> &'static str {
        "azure-retail"
    }

    fn cloud(&self) -> Cloud {
        Cloud::Azure
    }

    fn division(&self) -> Division {
        Division::ByRegion
    }

    async fn fetch(&self, list: &ListRequest, _known: Option<&Validators>) -> Result<Answer, FeedError> {
        let region = list.region.as_deref().unwrap_or_default();
        let types: Vec<&String> = list
            .wanted
            .regions(Cloud::Azure)
            .flat_map(|(_, types)| types)
            .collect();
        let mut points = Vec::new();
        for some in types.chunks(TYPES_A_QUESTION) {
            points.extend(self.answers(self.question(region, some), list).await?);
        }
        points.retain(|point| point.region == region);
        Ok(Answer::Prices {
            points,
            validators: Validators::default(),
        })
    }
}

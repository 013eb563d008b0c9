//! Google's catalogue of billing: one list for all regions, in pages. A machine's price is put together from its pieces.

mod token;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpu_cost::formats::{self, gcp_skus::Pieces};
use gpu_cost::prices::{MachineType, bundled_machine_types};
use gpu_model::Cloud;
use gpu_runtime::http::client::{
    Client, ClientSettings, HeaderName, Limits, Request, Secret, SettingsError, Url, header,
};

use super::{Answer, Division, Feed, FeedError, FeedSettingsError, ListRequest, Validators, pages, pipe};
use token::MetadataToken;

/// Where the catalogue is, and who asks.
#[derive(Debug, Clone)]
pub struct GcpCatalogSettings {
    /// The server.
    pub endpoint: String,
    /// The service whose prices are read.
    pub service: String,
    /// Who asks.
    pub identity: GcpIdentity,
    /// How it is reached.
    pub client: ClientSettings,
    /// How long one page may take.
    pub timeout: Duration,
}

impl Default for GcpCatalogSettings {
    fn default() -> Self {
        Self {
            endpoint: "https://cloudbilling.googleapis.com".to_owned(),
            // Compute Engine.
            service: "6F81-5844-456A".to_owned(),
            identity: GcpIdentity::Metadata {
                endpoint: "http://metadata.google.internal".to_owned(),
            },
            client: ClientSettings::default(),
            timeout: Duration::from_secs(60),
        }
    }
}

/// Who asks; the catalogue is public, but not for nobody.
#[derive(Debug, Clone)]
pub enum GcpIdentity {
    /// An API key of a project in which the Cloud Billing API is enabled.
    ApiKey(Secret),
    /// The service account of the machine or, with Workload Identity, of the pod.
    Metadata {
        /// Where machines of Google find what concerns them.
        endpoint: String,
    },
    /// Whatever the client's authorization says, as a token in a file.
    OfClient,
}

/// The largest page that may be asked for.
const PAGE_SIZE: &str = "5000";
/// The catalogue of Compute Engine has some ten pages.
const MOST_PAGES: usize = 100;
/// A page of five thousand is some twenty megabytes.
const PAGE_BYTES: u64 = 128 * 1024 * 1024;

/// The catalogue.
#[derive(Debug)]
pub struct GcpCatalog {
    list: Url,
    client: Client,
    token: Option<MetadataToken>,
    limits: Limits,
}

impl GcpCatalog {
    /// Sets up the feed; nothing is fetched yet.
    pub fn new(settings: GcpCatalogSettings) -> Result<Self, FeedSettingsError> {
        let base = pages::base(&settings.endpoint)?;
        let mut client = settings.client;
        let mut token = None;
        match settings.identity {
            GcpIdentity::ApiKey(key) => {
                // In a header and not in the address, which proxies write down.
                let name = HeaderName::from_static("x-goog-api-key");
                client
                    .headers
                    .insert(name, key.header().ok_or(SettingsError::Credentials)?);
            }
            GcpIdentity::Metadata { endpoint } => token = Some(MetadataToken::new(&pages::base(&endpoint)?)?),
            GcpIdentity::OfClient => {}
        }
        Ok(Self {
            list: pages::below(&base, &["v1", "services", &settings.service, "skus"]),
            client: Client::new(client)?,
            token,
            limits: Limits::new(settings.timeout, PAGE_BYTES),
        })
    }

    async fn page(&self, token: Option<&str>) -> Result<Request, FeedError> {
        let mut url = self.list.clone();
        url.query_pairs_mut().append_pair("pageSize", PAGE_SIZE);
        url.query_pairs_mut().append_pair("currencyCode", "USD");
        if let Some(token) = token {
            url.query_pairs_mut().append_pair("pageToken", token);
        }
        let request = Request::get(url);
        Ok(match &self.token {
            Some(bearer) => request.header(header::AUTHORIZATION, bearer.header().await?),
            None => request,
        })
    }

    /// Reads every page.
    async fn pieces(&self) -> Result<Pieces, FeedError> {
        let pieces = Arc::new(Mutex::new(Pieces::default()));
        let mut seen = BTreeSet::new();
        let mut token: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let chunks = pages::ask(&self.client, self.page(token.as_deref()).await?, self.limits).await?;
            let gathered = Arc::clone(&pieces);
            let next = pipe::parse(chunks, move |reader| {
                let limits = formats::Limits {
                    bytes: PAGE_BYTES,
                    ..formats::Limits::default()
                };
                let mut pieces = gathered.lock().unwrap_or_else(PoisonError::into_inner);
                pieces.read(reader, limits)
            })
            .await?;
            let Some(next) = next else {
                return Ok(std::mem::take(
                    &mut *pieces.lock().unwrap_or_else(PoisonError::into_inner),
                ));
            };
            if !seen.insert(next.clone()) {
                break;
            }
            token = Some(next);
        }
        Err(FeedError::Endless { limit: seen.len() })
    }
}

impl Feed for GcpCatalog {
    fn source(&self) -> &'static str {
        "gcp-catalog"
    }

    fn cloud(&self) -> Cloud {
        Cloud::Gcp
    }

    fn division(&self) -> Division {
        Division::Whole
    }

    async fn fetch(&self, list: &ListRequest, _known: Option<&Validators>) -> Result<Answer, FeedError> {
        let pieces = self.pieces().await?;
        let names: BTreeSet<&String> = list
            .wanted
            .regions(Cloud::Gcp)
            .flat_map(|(_, types)| types)
            .collect();
        let types: Vec<MachineType> = bundled_machine_types()
            .iter()
            .filter(|known| known.cloud == Cloud::Gcp && names.contains(&known.name))
            .cloned()
            .collect();
        let mut points = pieces.points(&types);
        points.retain(|point| list.wanted.has(Cloud::Gcp, &point.region, &point.instance_type));
        Ok(Answer::Prices {
            points,
            validators: Validators::default(),
        })
    }
}

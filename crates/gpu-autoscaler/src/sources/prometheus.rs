//! Asks a Prometheus, or one of its kin (Thanos, Mimir, Cortex, VictoriaMetrics), for what it scraped: one query a round.
//!
//! The query selects the families that the vocabularies need, over a short range, so that every sample comes with the time at which
//! it was taken. The answer is read as it arrives; a series is held at a time. Series are sorted by the target they were scraped
//! from, and each target is then read like a page.

mod answer;
mod query;
mod round;
mod series;
mod splitter;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use gpu_model::Harvest;
use gpu_runtime::http::client::{Client, ClientSettings, SettingsError, Url};
use jiff::Timestamp;

use super::MetricsSource;
use super::dialects::Memory;
pub use query::UrlError;

/// Whom to ask, and what an answer may cost.
#[derive(Debug, Clone)]
pub struct PrometheusSettings {
    /// Up to and without `/api/v1`; a path before it stays, as Mimir's `/prometheus`.
    pub url: Url,
    /// Trust, credentials and headers such as `X-Scope-OrgID`.
    pub client: ClientSettings,
    /// For a query and its whole answer.
    pub timeout: Duration,
    /// Bytes of an answer after decompression. They are not held in memory.
    pub max_bytes: u64,
    /// Samples older than this are not asked for. It has to cover two scrapes.
    pub lookback: Duration,
    /// Further conditions in the words of PromQL, such as `cluster="a"`, where one server has several clusters.
    pub matchers: Vec<String>,
}

impl PrometheusSettings {
    /// The usual bounds for the server at `url`.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        Ok(Self {
            url: query::base(url)?,
            client: ClientSettings::default(),
            timeout: Duration::from_secs(20),
            // 8,000 GPUs in two vocabularies are about 160 MB of JSON.
            max_bytes: 256 << 20,
            // Two scrapes at the usual slowest interval of a minute, and a little.
            lookback: Duration::from_secs(150),
            matchers: Vec::new(),
        })
    }
}

/// Asks one server.
#[derive(Debug)]
pub struct PrometheusSource {
    settings: PrometheusSettings,
    client: Client,
    /// By job and instance.
    known: BTreeMap<(String, String), Known>,
    last_success: Option<Timestamp>,
}

/// What is remembered of a scraped target from round to round.
#[derive(Debug, Default)]
struct Known {
    memory: Memory,
    last_success: Option<Timestamp>,
}

impl PrometheusSource {
    /// Reads the files that the settings name; one that is missing or wrong is an error.
    pub fn new(settings: PrometheusSettings) -> Result<Self, SettingsError> {
        Ok(Self {
            client: Client::new(settings.client.clone())?,
            settings,
            known: BTreeMap::new(),
            last_success: None,
        })
    }
}

impl MetricsSource for PrometheusSource {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn collect(&mut self, now: Timestamp) -> BoxFuture<'_, Harvest> {
        round::run(self, now).boxed()
    }

    fn backfill(&mut self, from: Timestamp, to: Timestamp, step: Duration) -> BoxFuture<'_, Vec<Harvest>> {
        round::backfill(self, from, to, step).boxed()
    }
}

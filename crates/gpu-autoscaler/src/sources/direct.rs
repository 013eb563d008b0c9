//! Scrapes exporters itself: one request a target and round, within bounds that hold for each target and for the round.
//!
//! A target that hangs, lies or floods costs its own freshness and nothing else. Targets that answer are asked first; those that
//! failed are asked last and less often, and never given up.

mod round;
mod scrape;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use gpu_model::{Harvest, TargetFailure};
use gpu_runtime::http::client::{Authorization, Client, ClientSettings, Proxies, SettingsError};
use jiff::Timestamp;

use super::MetricsSource;
use super::dialects::Memory;
use super::discover::TargetBook;

/// What a round may cost.
#[derive(Debug, Clone)]
pub struct DirectSettings {
    /// How we present ourselves to targets with an `https` address. Credentials are never sent in the clear.
    pub client: ClientSettings,
    /// From the start of the connection to the last byte of the page.
    pub timeout: Duration,
    /// For the whole round; targets that were not reached by then have failed.
    pub round: Duration,
    /// Pages that are read at the same time.
    pub concurrency: usize,
    /// Bytes of a page after decompression.
    pub page_bytes: u64,
}

impl Default for DirectSettings {
    fn default() -> Self {
        Self {
            client: ClientSettings::default(),
            timeout: Duration::from_secs(5),
            // Leaves five of the usual thirty seconds for the analysis.
            round: Duration::from_secs(25),
            // A page is held in a few kilobytes while it is read, so this bounds sockets and not memory.
            concurrency: 64,
            // The largest pages seen, sixteen GPUs in slices with every family, are below 10 MB.
            page_bytes: 16 << 20,
        }
    }
}

/// Scrapes the targets of a book.
#[derive(Debug)]
pub struct DirectSource {
    settings: DirectSettings,
    plain: Client,
    secured: Client,
    book: Arc<TargetBook>,
    known: BTreeMap<String, Known>,
    rounds: usize,
}

/// What is remembered of a target from round to round.
#[derive(Debug, Default)]
struct Known {
    memory: Memory,
    last_success: Option<Timestamp>,
    last_failure: Option<TargetFailure>,
    failures: u32,
    /// Rounds to let pass before it is asked again.
    wait: u32,
}

impl DirectSource {
    /// Reads the files that the settings name; one that is missing or wrong is an error.
    pub fn new(settings: DirectSettings, book: Arc<TargetBook>) -> Result<Self, SettingsError> {
        let connect_timeout = settings.client.connect_timeout.min(settings.timeout);
        // Targets are addresses of pods and nodes, to which no proxy leads.
        let secured = ClientSettings {
            connect_timeout,
            proxies: Proxies::Never,
            ..settings.client.clone()
        };
        let plain = ClientSettings {
            authorization: Authorization::None,
            certificate: None,
            ..secured.clone()
        };
        Ok(Self {
            plain: Client::new(plain)?,
            secured: Client::new(secured)?,
            settings,
            book,
            known: BTreeMap::new(),
            rounds: 0,
        })
    }
}

impl MetricsSource for DirectSource {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn collect(&mut self, now: Timestamp) -> BoxFuture<'_, Harvest> {
        round::run(self, now).boxed()
    }

    /// Exporters tell of now; what was is gone.
    fn backfill(&mut self, _: Timestamp, _: Timestamp, _: Duration) -> BoxFuture<'_, Vec<Harvest>> {
        std::future::ready(Vec::new()).boxed()
    }
}

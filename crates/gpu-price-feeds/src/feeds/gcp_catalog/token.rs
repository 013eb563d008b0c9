//! A token of the service account, from Google's metadata; kept until shortly before it ends.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gpu_runtime::Chain;
use gpu_runtime::http::client::{
    Client, ClientSettings, HeaderName, HeaderValue, Limits, Proxies, Request, Response, Secret,
    SettingsError, Url,
};
use serde::Deserialize;
use tokio::time::Instant;

use crate::feeds::{FeedError, pages};

/// The answer is a kilobyte or two.
const LIMITS: Limits = Limits::new(Duration::from_secs(10), 64 * 1024);
/// A new token is fetched this long before the old one ends; Google hands it out at least this much earlier.
const EARLY: Duration = Duration::from_secs(4 * 60);

#[derive(Debug)]
pub(super) struct MetadataToken {
    url: Url,
    client: Client,
    kept: Mutex<Option<(HeaderValue, Instant)>>,
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    expires_in: u64,
}

impl MetadataToken {
    pub(super) fn new(endpoint: &Url) -> Result<Self, SettingsError> {
        let path = [
            "computeMetadata",
            "v1",
            "instance",
            "service-accounts",
            "default",
            "token",
        ];
        Ok(Self {
            url: pages::below(endpoint, &path),
            client: Client::new(ClientSettings {
                proxies: Proxies::Never,
                // It is this machine or nobody.
                connect_timeout: Duration::from_secs(2),
                ..ClientSettings::default()
            })?,
            kept: Mutex::default(),
        })
    }

    /// The header that shows a token which holds for some minutes.
    pub(super) async fn header(&self) -> Result<HeaderValue, FeedError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((header, _)) = kept.filter(|(_, until)| Instant::now() < *until) {
            return Ok(header);
        }
        let request = Request::get(self.url.clone()).header(
            HeaderName::from_static("metadata-flavor"),
            HeaderValue::from_static("Google"),
        );
        let answer = self
            .client
            .fetch(request, LIMITS)
            .await
            .and_then(Response::success);
        let answer = answer.map_err(|error| FeedError::Credentials {
            reason: format!("no token of the service account: {}", Chain(&error)),
        })?;
        let wrong = || FeedError::Credentials {
            reason: "the metadata answered without a token of the service account".to_owned(),
        };
        let answer: Answer = serde_json::from_slice(&answer.body).map_err(|_| wrong())?;
        let bearer = Secret::new(format!("Bearer {}", answer.access_token));
        let header = bearer.header().ok_or_else(wrong)?;
        let holds = Duration::from_secs(answer.expires_in.min(24 * 3600)).saturating_sub(EARLY);
        let kept = (header.clone(), Instant::now() + holds);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(header)
    }
}

//! How a command reaches the control plane: by its address, or through the cluster's API server to its Service.

use std::time::Duration;

use anyhow::{Context as _, bail};
use gpu_runtime::http::client::{Client, ClientSettings, Limits, Request, Url};
use serde::de::DeserializeOwned;

use crate::cli::people::AskOptions;
use crate::kubernetes;

/// A person waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// All findings of ten thousand pods with their evidence.
const LARGEST_ANSWER: u64 = 256 << 20;

/// The port by name in the Service of the chart.
const PORT: &str = "http";

/// The control plane as commands see it.
pub(super) enum Api {
    Server { client: Client, base: Url },
    Service { client: kube::Client, base: String },
}

impl Api {
    pub(super) async fn connect(options: &AskOptions) -> anyhow::Result<Self> {
        if let Some(server) = &options.server {
            let text = if server.contains("://") {
                server.clone()
            } else {
                format!("http://{server}")
            };
            let base: Url = text
                .parse()
                .ok()
                .filter(|url: &Url| url.has_host())
                .with_context(|| format!("`{server}` is no address: give --server http://HOST:8080"))?;
            let client = Client::new(ClientSettings::default()).context("failed to prepare the client")?;
            return Ok(Self::Server { client, base });
        }
        let Some((namespace, name)) = options.service.split_once('/') else {
            bail!(
                "`{}` is no Service: give --service NAMESPACE/NAME",
                options.service
            );
        };
        let client = kubernetes::client(options.context.as_deref()).await.context(
            "found neither --server nor a cluster to ask: give --server http://HOST:8080, or a kubeconfig",
        )?;
        let base = format!("/api/v1/namespaces/{namespace}/services/http:{name}:{PORT}/proxy");
        Ok(Self::Service { client, base })
    }

    /// The document at a path of the API.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<T> {
        let text = self.fetch(path, query).await?;
        serde_json::from_slice(&text).with_context(|| {
            format!(
                "the answer of {path} is not what this version expects: are both sides of the same version?"
            )
        })
    }

    async fn fetch(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::Server { client, base } => {
                let mut url = base.join(path).context("failed to make the address")?;
                if !query.is_empty() {
                    url.query_pairs_mut().extend_pairs(query);
                }
                let limits = Limits::new(PATIENCE, LARGEST_ANSWER);
                let answer = client.fetch(Request::get(url), limits).await?;
                if !answer.status.is_success() {
                    bail!(
                        "{}",
                        refusal(&answer.body).unwrap_or_else(|| format!("{path} answered {}", answer.status))
                    );
                }
                Ok(answer.body.to_vec())
            }
            Self::Service { client, base } => {
                let mut url: Url = format!("http://service{base}{path}")
                    .parse()
                    .context("failed to make the address")?;
                if !query.is_empty() {
                    url.query_pairs_mut().extend_pairs(query);
                }
                let place = match url.query() {
                    Some(query) => format!("{}?{query}", url.path()),
                    None => url.path().to_owned(),
                };
                let request = http::Request::get(place)
                    .body(Vec::new())
                    .context("failed to make the request")?;
                let text = tokio::time::timeout(PATIENCE, client.request_text(request))
                    .await
                    .context("the control plane's Service did not answer in time")?
                    .context("failed to reach the control plane through the API server: is it installed, and may you use services/proxy?")?;
                Ok(text.into_bytes())
            }
        }
    }
}

/// The words of an error page.
fn refusal(body: &[u8]) -> Option<String> {
    let page: serde_json::Value = serde_json::from_slice(body).ok()?;
    let details = page.get("details")?.as_str()?;
    Some(details.to_owned())
}

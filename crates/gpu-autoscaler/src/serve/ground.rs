//! What the control plane stands on: the cluster's API, its id, the store and the prices.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use gpu_model::ClusterId;
use gpu_price_feeds::feeds::gcp_catalog::{GcpCatalogSettings, GcpIdentity};
use gpu_price_feeds::{DeskSettings, DocumentSource, PriceDesk};
use gpu_runtime::http::client::Secret;
use gpu_runtime::{Shutdown, SystemClock, Tasks};
use gpu_store::{Store, StoreAddress};
use kube::Config;

use crate::cli::serve::{PriceFeed, ServeOptions};
use crate::kubernetes;

/// Where the control plane lives unless told otherwise.
const USUAL_NAMESPACE: &str = "gpu-autoscaler-system";

/// How often a file of prices is looked at.
const LOOK_AT_PRICES: Duration = Duration::from_secs(10);

pub(super) struct Ground {
    /// Absent where there is no Kubernetes.
    pub(super) config: Option<Config>,
    pub(super) client: Option<kube::Client>,
    pub(super) cluster: ClusterId,
    pub(super) namespace: String,
    pub(super) address: StoreAddress,
    pub(super) store: Arc<dyn Store>,
}

impl Ground {
    pub(super) async fn prepare(options: &ServeOptions) -> anyhow::Result<Self> {
        let address: StoreAddress = options.money.store.parse().context("cannot use --store")?;
        let config =
            if options.source.standalone {
                None
            } else {
                let found = kubernetes::config(options.context.as_deref()).await;
                Some(found.context(
                    "cannot reach a cluster; without one use --standalone --targets a:9400,b:9400",
                )?)
            };
        let client = match &config {
            Some(config) => Some(
                kube::Client::try_from(config.clone())
                    .context("failed to prepare the client of the API server")?,
            ),
            None => None,
        };
        let cluster = match (&options.cluster, &client) {
            (Some(name), _) => ClusterId::new(name).context("cannot use --cluster")?,
            (None, Some(client)) => kubernetes::cluster_id(client).await?,
            (None, None) => ClusterId::new("standalone").context("a valid id")?,
        };
        let own = || kubernetes::own_namespace().unwrap_or_else(|| USUAL_NAMESPACE.to_owned());
        let namespace = options.namespace.clone().unwrap_or_else(own);
        let store = gpu_store::open(&address)
            .await
            .context("failed to open the store")?;
        Ok(Self {
            config,
            client,
            cluster,
            namespace,
            address,
            store,
        })
    }

    /// Starts the sources of prices.
    pub(super) fn price_desk(
        &self,
        options: &ServeOptions,
        tasks: &mut Tasks,
        shutdown: &Shutdown,
    ) -> anyhow::Result<PriceDesk> {
        let money = &options.money;
        let document = match (&money.prices_file, &money.prices_configmap, &self.client) {
            (Some(_), Some(_), _) => bail!("--prices-file and --prices-configmap exclude each other"),
            (Some(path), None, _) => Some(DocumentSource::File {
                path: path.clone(),
                every: LOOK_AT_PRICES,
            }),
            (None, Some(_), None) => bail!("--prices-configmap needs Kubernetes: use --prices-file"),
            (None, Some(text), Some(client)) => Some(config_map(text, client)?),
            (None, None, _) => None,
        };
        let asked = |feed: PriceFeed| money.price_feeds.contains(&feed);
        let mut google = GcpCatalogSettings::default();
        if let Some(key) = &money.gcp_api_key {
            google.identity = GcpIdentity::ApiKey(Secret::new(key.clone()));
        }
        let settings = DeskSettings {
            aws_offer: asked(PriceFeed::Aws).then(Default::default),
            gcp_catalog: asked(PriceFeed::Gcp).then_some(google),
            azure_retail: asked(PriceFeed::Azure).then(Default::default),
            document,
            ..DeskSettings::default()
        };
        PriceDesk::start(settings, Arc::new(SystemClock), tasks, shutdown).context("cannot prepare prices")
    }
}

fn config_map(text: &str, client: &kube::Client) -> anyhow::Result<DocumentSource> {
    let Some((namespace, name)) = text.split_once('/') else {
        bail!("`{text}` names no ConfigMap: give --prices-configmap NAMESPACE/NAME");
    };
    Ok(DocumentSource::ConfigMap {
        client: client.clone(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        key: "prices.yaml".to_owned(),
    })
}

//! The way to a cluster's API server: the pod's own account inside of a cluster, the kubeconfig outside.

use anyhow::Context as _;
use gpu_model::ClusterId;
use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Config};

/// The way to the cluster that a context names, or to the one this process is in.
pub(crate) async fn config(context: Option<&str>) -> anyhow::Result<Config> {
    let Some(context) = context else {
        return Config::infer()
            .await
            .context("found no cluster: neither a kubeconfig nor a service account of a pod");
    };
    let options = KubeConfigOptions {
        context: Some(context.to_owned()),
        ..KubeConfigOptions::default()
    };
    let file = Kubeconfig::read().context("failed to read the kubeconfig")?;
    Config::from_custom_kubeconfig(file, &options)
        .await
        .with_context(|| format!("the kubeconfig has no usable context `{context}`"))
}

/// A client for it.
pub(crate) async fn client(context: Option<&str>) -> anyhow::Result<kube::Client> {
    let config = config(context).await?;
    kube::Client::try_from(config).context("failed to prepare the client of the API server")
}

/// The id of a cluster that nobody named: the uid of its `kube-system` namespace, which lives as long as the cluster.
pub(crate) async fn cluster_id(client: &kube::Client) -> anyhow::Result<ClusterId> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces
        .get_metadata("kube-system")
        .await
        .context("failed to read the namespace kube-system for the cluster's id: allow it, or name the cluster by --cluster")?;
    let uid = found
        .metadata
        .uid
        .context("the namespace kube-system has no uid: name the cluster by --cluster")?;
    ClusterId::new(uid).context("the uid of kube-system is no id: name the cluster by --cluster")
}

/// The namespace of this pod, where there is one.
pub(crate) fn own_namespace() -> Option<String> {
    let text = std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace").ok()?;
    let name = text.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

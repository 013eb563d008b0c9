//! Exporters without a Service, by the labels of their pods.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::Config;
use kube::{Api, Client};

use super::{Found, Scheme, TargetBook, watch};

/// Which pods are exporters, and where they listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodSelector {
    /// All namespaces where it is absent.
    pub namespace: Option<String>,
    /// In the words of Kubernetes: `app=gpu-exporter,tier!=test`.
    pub labels: String,
    /// Without it the container port called `metrics`, else the first.
    pub port: Option<u16>,
    pub scheme: Scheme,
    pub path: String,
}

/// Follows pods and writes those that run into the book. Runs until it is dropped.
pub async fn follow_pods(client: Client, selector: PodSelector, book: Arc<TargetBook>) {
    let api: Api<Pod> = match &selector.namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let config = Config::default().labels(&selector.labels);
    let finder = format!(
        "pods {} {}",
        selector.namespace.as_deref().unwrap_or("*"),
        selector.labels
    );
    watch::follow(api, config, finder, book, move |pod| {
        find(pod, &selector).into_iter().collect()
    })
    .await;
}

fn find(pod: &Pod, selector: &PodSelector) -> Option<Found> {
    let status = pod.status.as_ref()?;
    let is_going = pod.metadata.deletion_timestamp.is_some();
    if status.phase.as_deref() != Some("Running") || is_going {
        return None;
    }
    let spec = pod.spec.as_ref()?;
    let port = selector.port.or_else(|| {
        let ports = || {
            spec.containers
                .iter()
                .flat_map(|container| container.ports.iter().flatten())
        };
        let named = ports().find(|port| port.name.as_deref() == Some("metrics"));
        u16::try_from(named.or_else(|| ports().next())?.container_port).ok()
    })?;
    let address = status.pod_ip.as_deref()?;
    let uid = pod.metadata.uid.as_deref();
    Found::new(
        address,
        port,
        selector.scheme,
        &selector.path,
        spec.node_name.as_deref(),
        uid,
    )
}

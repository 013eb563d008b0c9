//! Pods of this node that ask to be scraped, by the annotations that Prometheus' configurations follow: `prometheus.io/scrape`,
//! `prometheus.io/port` and `prometheus.io/path`. Only in builds with the feature `kubernetes-labels`: the default build holds no
//! API token.
//!
//! The address is the one that the API server has of the pod. A pod that shares the node's network has the node's, where other
//! services listen, so that its annotations are not followed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::StreamExt as _;
use gpu_model::{Namespace, NodeName, PodName};
use gpu_runtime::{Chain, Shutdown};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tracing::warn;

use super::Finder;
use super::target::{Host, Target, is_of_pod, is_path};
use crate::owners::labels::client;

const SCRAPE: &str = "prometheus.io/scrape";
const PORT: &str = "prometheus.io/port";
const PATH: &str = "prometheus.io/path";
const SCHEME: &str = "prometheus.io/scheme";
/// A kubelet runs a few hundred pods at most.
const MOST_PODS: usize = 4_096;
/// A token or a certificate that is missing may be mounted late.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// By namespace and name.
type Targets = BTreeMap<(String, String), Target>;

/// What the API server says of the pods of one node.
pub struct AnnotatedPods {
    node: NodeName,
    known: ArcSwap<Targets>,
    is_failing: AtomicBool,
}

impl Finder for AnnotatedPods {
    fn target(&self, namespace: &Namespace, pod: &PodName) -> Option<Target> {
        let key = (namespace.as_str().to_owned(), pod.as_str().to_owned());
        self.known.load().get(&key).cloned()
    }

    fn problem(&self) -> Option<Arc<str>> {
        let is_failing = self.is_failing.load(Ordering::Relaxed);
        let words = "pods to scrape cannot be watched; mount a token whose account may list and watch pods, or scrape by rules";
        is_failing.then(|| words.into())
    }
}

impl AnnotatedPods {
    /// Nothing is known until [`AnnotatedPods::run`] has heard from the API server.
    pub fn new(node: NodeName) -> Self {
        Self {
            node,
            known: ArcSwap::default(),
            is_failing: AtomicBool::new(false),
        }
    }

    /// Finds the API server as every program in a pod does, then watches until the program stops.
    pub async fn find_and_run(&self, shutdown: &Shutdown) {
        loop {
            match client().await {
                Ok(client) => return self.run(client, shutdown).await,
                Err(error) => self.fail(&*error),
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(TRY_AGAIN) => {}
            }
        }
    }

    /// Watches until the program stops. Errors are retried with back-off, and what is known stands meanwhile.
    pub async fn run(&self, client: Client, shutdown: &Shutdown) {
        let config = watcher::Config::default().fields(&format!("spec.nodeName={}", self.node));
        let mut events = pin!(watcher(Api::<Pod>::all(client), config).default_backoff());
        let mut known = Targets::clone(&self.known.load());
        let mut listed = Targets::new();
        loop {
            let event = tokio::select! {
                () = shutdown.triggered() => return,
                event = events.next() => event,
            };
            match event {
                Some(Ok(event)) => {
                    self.is_failing.store(false, Ordering::Relaxed);
                    if hear(event, &mut known, &mut listed) {
                        self.known.store(Arc::new(known.clone()));
                    }
                }
                Some(Err(error)) => self.fail(&error),
                // The stream of a watcher has no end.
                None => return,
            }
        }
    }
}

impl AnnotatedPods {
    /// The log says it once.
    fn fail(&self, error: &(dyn std::error::Error + 'static)) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            warn!(error = %Chain(error), "failed to watch which pods to scrape; those that are known stand");
        }
    }
}

/// Takes an event over and says whether it can be shown: a list only as a whole.
fn hear(event: Event<Pod>, known: &mut Targets, listed: &mut Targets) -> bool {
    match event {
        Event::Init => listed.clear(),
        Event::InitApply(pod) => put(&pod, listed),
        Event::InitDone => {
            *known = std::mem::take(listed);
            return true;
        }
        Event::Apply(pod) => {
            put(&pod, known);
            return true;
        }
        Event::Delete(pod) => {
            known.remove(&key(&pod));
            return true;
        }
    }
    false
}

fn put(pod: &Pod, targets: &mut Targets) {
    match target(pod) {
        Some(target) if targets.len() < MOST_PODS => {
            targets.insert(key(pod), target);
        }
        _ => {
            targets.remove(&key(pod));
        }
    }
}

fn key(pod: &Pod) -> (String, String) {
    let name = |text: &Option<String>| text.clone().unwrap_or_default();
    (name(&pod.metadata.namespace), name(&pod.metadata.name))
}

/// The page that a pod asks to be scraped; none where it does not, or asks for what is not done.
fn target(pod: &Pod) -> Option<Target> {
    let annotation = |name: &str| pod.metadata.annotations.as_ref()?.get(name).map(String::as_str);
    let (spec, status) = (pod.spec.as_ref()?, pod.status.as_ref()?);
    let is_asked =
        annotation(SCRAPE) == Some("true") && annotation(SCHEME).is_none_or(|scheme| scheme == "http");
    if !is_asked || spec.host_network == Some(true) || status.phase.as_deref() != Some("Running") {
        return None;
    }
    let address: IpAddr = status.pod_ip.as_deref()?.parse().ok()?;
    let is_nodes = status.host_ip.as_deref().and_then(|text| text.parse().ok()) == Some(address);
    let path = annotation(PATH).unwrap_or("/metrics");
    if is_nodes || !is_of_pod(address) || !is_path(path) {
        return None;
    }
    Some(Target {
        host: Host::Address(address),
        port: annotation(PORT)?.parse().ok().filter(|port| *port != 0)?,
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    //! Which pods are scraped where, and which ask in vain.

    use k8s_openapi::api::core::v1::Pod;
    use serde_json::{Value, json};

    use super::target;

    fn pod(annotations: Value, spec: Value, status: Value) -> Option<String> {
        let mut spec = spec;
        spec["containers"] = json!([]);
        let pod = json!({"metadata": {"namespace": "ml", "name": "a", "annotations": annotations}, "spec": spec, "status": status});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        target(&pod).map(|target| format!("{:?} {} {}", target.host, target.port, target.path))
    }

    #[test]
    fn a_pod_chooses_its_port_and_path_and_nothing_else() {
        let running = json!({"phase": "Running", "podIP": "10.0.0.7", "hostIP": "10.9.0.1"});
        let asks = json!({"prometheus.io/scrape": "true", "prometheus.io/port": "8000"});
        assert_eq!(
            pod(asks.clone(), json!({}), running.clone()).unwrap(),
            "Address(10.0.0.7) 8000 /metrics"
        );
        let with = |name: &str, value: &str| {
            let mut annotations = asks.clone();
            annotations[name] = value.into();
            pod(annotations, json!({}), running.clone())
        };
        assert_eq!(
            with("prometheus.io/path", "/stats?a=b").unwrap(),
            "Address(10.0.0.7) 8000 /stats?a=b"
        );
        for (name, value) in [
            ("prometheus.io/scrape", "false"),
            ("prometheus.io/scheme", "https"),
            ("prometheus.io/port", "0"),
            ("prometheus.io/port", "http"),
            ("prometheus.io/path", "http://169.254.169.254/"),
            ("prometheus.io/path", "/a\r\nhost: b"),
        ] {
            assert_eq!(with(name, value), None, "{name} {value}");
        }
        assert_eq!(pod(asks.clone(), json!({"hostNetwork": true}), running), None);
        for status in [
            json!({"phase": "Pending", "podIP": "10.0.0.7"}),
            json!({"phase": "Running"}),
            json!({"phase": "Running", "podIP": "127.0.0.1"}),
            json!({"phase": "Running", "podIP": "10.9.0.1", "hostIP": "10.9.0.1"}),
        ] {
            assert_eq!(pod(asks.clone(), json!({}), status.clone()), None, "{status}");
        }
    }
}

//! Which exporters there are: a list, or what the cluster knows. Whoever finds targets writes a chapter of the book; the direct
//! source reads the whole book at every round.

mod fixed;
mod pods;
mod services;
mod watch;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use gpu_model::NodeName;
use gpu_runtime::http::client::Url;

pub use fixed::{TargetError, parse_targets};
pub use pods::{PodSelector, follow_pods};
pub use services::{ServiceError, ServiceRef, follow_service};

/// Five times the largest clusters that Kubernetes supports, with two exporters a node.
const MOST_TARGETS: usize = 50_000;

/// Somebody who answers with a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Address and port, for labels and for people.
    pub name: String,
    pub url: Url,
    /// The node it runs on, where the cluster says so. It wins over what the page says.
    pub node: Option<NodeName>,
}

/// All targets that are known, by who found them.
#[derive(Debug, Default)]
pub struct TargetBook {
    chapters: Mutex<BTreeMap<String, Vec<Arc<Target>>>>,
}

impl TargetBook {
    /// Replaces what `finder` found before, and says whether that was something else.
    pub fn write(&self, finder: &str, targets: Vec<Target>) -> bool {
        let mut chapters = self.chapters.lock().unwrap_or_else(PoisonError::into_inner);
        let targets: Vec<_> = targets.into_iter().map(Arc::new).collect();
        let is_new = chapters.get(finder).is_none_or(|known| *known != targets);
        chapters.insert(finder.to_owned(), targets);
        is_new
    }

    /// All targets, each once, ordered by name. One that is found twice keeps the node that somebody knows.
    pub fn current(&self) -> Vec<Arc<Target>> {
        let chapters = self.chapters.lock().unwrap_or_else(PoisonError::into_inner);
        let mut targets: BTreeMap<&str, &Arc<Target>> = BTreeMap::new();
        for target in chapters.values().flatten().take(MOST_TARGETS) {
            let known = targets.entry(&target.name).or_insert(target);
            if known.node.is_none() {
                *known = target;
            }
        }
        targets.into_values().cloned().collect()
    }
}

/// What is spoken with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The scheme in front of a word, and the rest.
    fn split(text: &str) -> (Option<Self>, &str) {
        let with = |scheme: Self| text.strip_prefix(scheme.as_str())?.strip_prefix("://");
        let found = [Self::Http, Self::Https]
            .into_iter()
            .find_map(|scheme| Some((scheme, with(scheme)?)));
        found.map_or((None, text), |(scheme, rest)| (Some(scheme), rest))
    }
}

/// A target that the cluster knows, and the pod behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// A pod in a cluster of two address families is found once for each of them.
    pod: String,
    is_v6: bool,
    target: Target,
}

impl Found {
    fn new(
        address: &str,
        port: u16,
        scheme: Scheme,
        path: &str,
        node: Option<&str>,
        uid: Option<&str>,
    ) -> Option<Self> {
        let address: IpAddr = address.parse().ok()?;
        let name = std::net::SocketAddr::new(address, port).to_string();
        let url = format!("{}://{name}{path}", scheme.as_str()).parse().ok()?;
        Some(Self {
            pod: uid.unwrap_or(&name).to_owned(),
            is_v6: address.is_ipv6(),
            target: Target {
                name,
                url,
                node: node.and_then(|node| node.parse().ok()),
            },
        })
    }
}

/// Each pod once, by its older address family where it has two, ordered by name.
fn chapter<'f>(found: impl Iterator<Item = &'f Found>) -> Vec<Target> {
    let mut pods: BTreeMap<&str, &Found> = BTreeMap::new();
    for one in found {
        let known = pods.entry(&one.pod).or_insert(one);
        if (one.is_v6, &one.target.name) < (known.is_v6, &known.target.name) {
            *known = one;
        }
    }
    let mut targets: Vec<Target> = pods.into_values().map(|found| found.target.clone()).collect();
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    targets
}

#[cfg(test)]
mod tests;

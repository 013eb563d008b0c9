//! Which exporters there are: a list, or what the cluster knows. Whoever finds targets writes a chapter of the book; the direct
//! source reads the whole book at every round.

mod fixed;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use gpu_model::NodeName;
use gpu_runtime::http::client::Url;

pub use fixed::{TargetError, parse_targets};

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
    /// Replaces what `finder` found before.
    pub fn write(&self, finder: &str, targets: Vec<Target>) {
        let mut chapters = self.chapters.lock().unwrap_or_else(PoisonError::into_inner);
        chapters.insert(finder.to_owned(), targets.into_iter().map(Arc::new).collect());
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

#[cfg(test)]
mod tests;

//! What is kept of the labels: those on the allow-list, of as many pods as a node can run.

use std::collections::BTreeMap;

use gpu_model::PodUid;
use kube::core::ObjectMeta;

/// A kubelet runs 110 pods by default and a few hundred at most.
const MOST_PODS: usize = 4_096;
/// Every label is a label of every series of a pod.
const MOST_LABELS: usize = 16;

/// The names of the labels that may be taken over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList {
    pods: Vec<String>,
    nodes: Vec<String>,
}

/// More names than a page can bear.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{count} label names are allowed for {of}, at most {MOST_LABELS} can be: name fewer")]
pub struct TooManyLabels {
    of: &'static str,
    count: usize,
}

impl AllowList {
    pub fn new(pods: Vec<String>, nodes: Vec<String>) -> Result<Self, TooManyLabels> {
        for (of, names) in [("pods", &pods), ("nodes", &nodes)] {
            if names.len() > MOST_LABELS {
                let count = names.len();
                return Err(TooManyLabels { of, count });
            }
        }
        Ok(Self { pods, nodes })
    }
}

type LabelSet = BTreeMap<String, String>;

/// The labels of a node's pods and of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelBook {
    pods: BTreeMap<PodUid, LabelSet>,
    /// A list that is on its way takes effect as a whole: no pod loses its labels in between.
    relisted: BTreeMap<PodUid, LabelSet>,
    node: LabelSet,
    /// Errors of watching since the start.
    pub errors: u64,
    /// Pods beyond the bound, or without a uid.
    pub dropped: u64,
}

impl LabelBook {
    /// The labels of a pod; empty for one that is not known.
    pub fn pod(&self, uid: &PodUid) -> impl Iterator<Item = (&str, &str)> {
        pairs(self.pods.get(uid))
    }

    pub fn node(&self) -> impl Iterator<Item = (&str, &str)> {
        pairs(Some(&self.node))
    }

    pub(super) fn begin_again(&mut self) {
        self.relisted.clear();
    }

    pub(super) fn relist_pod(&mut self, pod: &ObjectMeta, allowed: &AllowList) {
        put(&mut self.relisted, &mut self.dropped, pod, allowed);
    }

    pub(super) fn end_relist(&mut self) {
        self.pods = std::mem::take(&mut self.relisted);
    }

    pub(super) fn put_pod(&mut self, pod: &ObjectMeta, allowed: &AllowList) {
        put(&mut self.pods, &mut self.dropped, pod, allowed);
    }

    pub(super) fn remove_pod(&mut self, pod: &ObjectMeta) {
        if let Some(uid) = pod.uid.as_deref() {
            self.pods.remove(uid);
        }
    }

    pub(super) fn put_node(&mut self, node: &ObjectMeta, allowed: &AllowList) {
        self.node = picked(node, &allowed.nodes);
    }

    pub(super) fn remove_node(&mut self) {
        self.node.clear();
    }
}

fn pairs(labels: Option<&LabelSet>) -> impl Iterator<Item = (&str, &str)> {
    let labels = labels.into_iter().flatten();
    labels.map(|(name, value)| (name.as_str(), value.as_str()))
}

fn put(pods: &mut BTreeMap<PodUid, LabelSet>, dropped: &mut u64, pod: &ObjectMeta, allowed: &AllowList) {
    let uid = pod.uid.as_deref().and_then(|uid| PodUid::new(uid).ok());
    match uid {
        Some(uid) if pods.len() < MOST_PODS || pods.contains_key(&uid) => {
            pods.insert(uid, picked(pod, &allowed.pods));
        }
        _ => *dropped += 1,
    }
}

fn picked(object: &ObjectMeta, allowed: &[String]) -> LabelSet {
    let labels = object.labels.as_ref();
    let pick = |name: &String| Some((name.clone(), labels?.get(name)?.clone()));
    allowed.iter().filter_map(pick).collect()
}

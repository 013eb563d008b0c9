//! What is kept of the labels: those on the allow-list, of as many pods as a node can run; and how the watching fares.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_model::{Namespace, PodName, PodUid};
use kube::core::ObjectMeta;

use crate::settings::{AllowList, ApiLabels};
use crate::snapshot::{LabelSet, SourceStatus};

/// The name of the source in metrics.
pub const NAME: &str = "api_server";

/// A kubelet runs 110 pods by default and a few hundred at most.
const MOST_PODS: usize = 4_096;
/// What a page takes, and some more, of which the page says that it leaves them out.
const MOST_LABELS: usize = 64;
/// A watch that goes on after an error says nothing; one that does not fails again at once, or at the latest when the longest
/// back-off and the time for a connection, half a minute each, are over.
const FAILING_FOR: Duration = Duration::from_secs(90);

/// The labels of a node's pods and of the node.
#[derive(Debug, Clone)]
pub struct LabelBook {
    pods: BTreeMap<PodUid, Entry>,
    /// A list that is on its way takes effect as a whole: no pod loses its labels in between.
    relisted: BTreeMap<PodUid, Entry>,
    node: LabelSet,
    /// What the first lists have not told yet.
    awaits_pods: bool,
    awaits_node: bool,
    /// When it last failed, by what was asked for.
    failed_at: BTreeMap<&'static str, Instant>,
    errors: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Clone)]
struct Entry {
    namespace: String,
    name: String,
    labels: LabelSet,
}

impl LabelBook {
    pub(super) fn new(wanted: &ApiLabels) -> Self {
        Self {
            pods: BTreeMap::new(),
            relisted: BTreeMap::new(),
            node: LabelSet::default(),
            awaits_pods: !wanted.of_pods.is_empty(),
            awaits_node: !wanted.of_node.is_empty(),
            failed_at: BTreeMap::new(),
            errors: BTreeMap::new(),
        }
    }

    /// The labels of a pod, by its name only where its uid is not known: a successor of the same name is another pod. They
    /// are empty for one that is not known.
    pub fn pod(&self, uid: Option<&PodUid>, namespace: &Namespace, name: &PodName) -> LabelSet {
        let is_named = |entry: &&Entry| entry.namespace == namespace.as_str() && entry.name == name.as_str();
        let entry = match uid {
            Some(uid) => self.pods.get(uid),
            None => self.pods.values().find(is_named),
        };
        entry.map_or_else(LabelSet::default, |entry| Arc::clone(&entry.labels))
    }

    pub fn node(&self) -> LabelSet {
        Arc::clone(&self.node)
    }

    /// How the source is doing. It has no age: nothing may change for days.
    pub fn status(&self, now: Instant) -> SourceStatus {
        let is_failing = self.failed_at.values().any(|at| is_recent(*at, now));
        let problem = is_failing.then(|| {
            Arc::from(
                "labels of pods or of the node cannot be watched; mount a token whose account may list and watch \
                 pods and nodes, or ask for no labels",
            )
        });
        SourceStatus {
            name: NAME,
            up: !is_failing && !self.awaits_pods && !self.awaits_node,
            problem,
            last_success_age: None,
            last_duration: None,
            errors: self.errors.clone(),
        }
    }

    /// Notes an error and says whether it is the first after things went well.
    pub(super) fn fail(&mut self, class: &'static str, now: Instant) -> bool {
        self.count(class);
        let before = self.failed_at.insert(class, now);
        before.is_none_or(|at| !is_recent(at, now))
    }

    /// Notes that things go well and says whether they did not before.
    pub(super) fn recover(&mut self, class: &'static str) -> bool {
        self.failed_at.remove(class).is_some()
    }

    pub(super) fn begin_again(&mut self) {
        self.relisted.clear();
    }

    pub(super) fn relist_pod(&mut self, pod: &ObjectMeta, allowed: &AllowList) {
        let mut pods = std::mem::take(&mut self.relisted);
        self.put(&mut pods, pod, allowed);
        self.relisted = pods;
    }

    pub(super) fn end_relist(&mut self) {
        self.pods = std::mem::take(&mut self.relisted);
        self.awaits_pods = false;
    }

    pub(super) fn put_pod(&mut self, pod: &ObjectMeta, allowed: &AllowList) {
        let mut pods = std::mem::take(&mut self.pods);
        self.put(&mut pods, pod, allowed);
        self.pods = pods;
    }

    pub(super) fn remove_pod(&mut self, pod: &ObjectMeta) {
        if let Some(uid) = pod.uid.as_deref() {
            self.pods.remove(uid);
        }
    }

    pub(super) fn put_node(&mut self, node: &ObjectMeta, allowed: &AllowList) {
        self.node = picked(node, allowed);
    }

    pub(super) fn end_node_list(&mut self) {
        self.awaits_node = false;
    }

    pub(super) fn remove_node(&mut self) {
        self.node = LabelSet::default();
    }

    fn put(&mut self, pods: &mut BTreeMap<PodUid, Entry>, pod: &ObjectMeta, allowed: &AllowList) {
        let uid = pod.uid.as_deref().and_then(|uid| PodUid::new(uid).ok());
        match uid {
            Some(uid) if pods.len() < MOST_PODS || pods.contains_key(&uid) => {
                let entry = Entry {
                    namespace: pod.namespace.clone().unwrap_or_default(),
                    name: pod.name.clone().unwrap_or_default(),
                    labels: picked(pod, allowed),
                };
                pods.insert(uid, entry);
            }
            // A pod beyond the bound, or without a uid.
            _ => self.count("dropped"),
        }
    }

    fn count(&mut self, class: &'static str) {
        *self.errors.entry(class).or_default() += 1;
    }
}

fn is_recent(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < FAILING_FOR
}

fn picked(object: &ObjectMeta, allowed: &AllowList) -> LabelSet {
    let labels = object.labels.iter().flatten();
    labels
        .filter(|(name, _)| allowed.takes(name))
        .take(MOST_LABELS)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

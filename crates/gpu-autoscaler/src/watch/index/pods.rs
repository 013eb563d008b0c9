//! Pods in the index, and how a pod is put together from its own object and from those it hangs together with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gpu_k8s::convert::{GpuCandidate, OwnSay, PodLinks, PodState, namespace_says};
use gpu_k8s::owners::{OwnerLink, climb};
use gpu_model::{GpuPod, HostRequest, Namespace, NodeName, OwnerRef, Pod, PodKey, PodName, Workload};
use jiff::Timestamp;

use super::tally::Tally;
use super::{Index, ObjectKey};

/// How long a pod waits for its node to be seen. Both are watched apart, and a node may arrive some seconds after its first pod;
/// one that has not come by then is gone, and its pod is shown without it.
const HOLD: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct Pods {
    all: BTreeMap<PodKey, Held>,
    /// Pods that ask for GPUs or have claims, by namespace.
    gpu: BTreeMap<Namespace, BTreeSet<PodName>>,
    /// Since when a pod waits for its node to be seen.
    waiting: BTreeMap<PodKey, Timestamp>,
    others: Tally,
}

#[derive(Debug)]
enum Held {
    /// It counts with its node's other pods.
    Other {
        node: Option<NodeName>,
        host: HostRequest,
    },
    Gpu(Box<Entry>),
    Unreadable,
}

#[derive(Debug)]
struct Entry {
    pod: Arc<GpuPod>,
    links: PodLinks,
    chain: Vec<OwnerLink>,
    /// Its claims are not for GPUs, as far as is known, so it counts with the others.
    counts_as_other: bool,
}

impl Pods {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn held_back(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.all
            .keys()
            .map(|key| ObjectKey::new(key.namespace.as_str(), key.name.as_str()))
            .collect()
    }
}

impl Index {
    pub(super) fn put_pod(&mut self, key: &ObjectKey, state: PodState, now: Timestamp) {
        let Some(key) = self.pod_key(key) else { return };
        let candidate = match state {
            PodState::Ended => return self.withdraw(&key),
            PodState::Other { node, host } => {
                let node = node.map(|node| self.shared_name(node));
                if let Some(Held::Other {
                    node: old_node,
                    host: old_host,
                }) = self.pods.all.get(&key)
                    && *old_node == node
                    && *old_host == host
                {
                    return;
                }
                self.withdraw(&key);
                self.count(node.as_ref(), host);
                self.pods.all.insert(key, Held::Other { node, host });
                return;
            }
            PodState::Gpu(candidate) => *candidate,
        };
        self.put_candidate(key, candidate, now);
    }

    fn put_candidate(&mut self, key: PodKey, candidate: GpuCandidate, now: Timestamp) {
        let GpuCandidate { mut pod, links } = candidate;
        pod.node = pod.node.map(|node| self.shared_name(node));
        let shown = self.picture.gpu_pods.get(&key);
        let was_shown_there = shown.is_some_and(|shown| shown.node == pod.node);
        let waited_since = self.pods.waiting.get(&key).copied();
        // The shown pod stays in the picture until its successor takes its place, so that an update changes one entry once.
        self.unhook(&key);
        let is_unknown = pod
            .node
            .as_ref()
            .is_some_and(|node| !self.picture.nodes.contains_key(node));
        if is_unknown && !was_shown_there {
            self.pods.waiting.insert(key.clone(), waited_since.unwrap_or(now));
        } else {
            self.pods.waiting.remove(&key);
        }
        self.pods
            .gpu
            .entry(key.namespace.clone())
            .or_default()
            .insert(key.name.clone());
        let entry = Entry {
            pod: Arc::new(pod),
            links,
            chain: Vec::new(),
            counts_as_other: false,
        };
        self.settle(key, entry);
    }

    /// Puts a pod together with what it hangs on, counts it and shows it.
    fn settle(&mut self, key: PodKey, mut entry: Entry) {
        let namespace = key.namespace.as_str();
        entry.chain = climb(entry.links.owner.as_ref(), |link| {
            self.owners.look(namespace, link)
        });
        self.owners.link(&key, namespace, &entry.chain);
        let composed = self.compose(&entry);
        if *entry.pod != composed {
            entry.pod = Arc::new(composed);
        }
        entry.counts_as_other = entry.pod.requests.is_empty();
        if entry.counts_as_other {
            self.count(entry.pod.node.as_ref(), entry.pod.host);
        }
        let is_shown = !entry.counts_as_other && !self.pods.waiting.contains_key(&key);
        self.show(&key, is_shown.then(|| entry.pod.clone()));
        self.pods.all.insert(key, Held::Gpu(Box::new(entry)));
    }

    fn compose(&self, entry: &Entry) -> GpuPod {
        let own = &entry.pod;
        let namespace = own.pod.reference.namespace.as_str();
        let mut requests = entry.links.requests.clone();
        requests.extend(self.claims.gpu_requests(namespace, &entry.links.claims));
        let resource = requests
            .first()
            .map_or_else(|| own.pod.resource.clone(), |first| first.resource.clone());
        let count = requests
            .iter()
            .filter(|request| request.resource == resource)
            .fold(0, |sum: u32, request| sum.saturating_add(request.count));
        let owners: Vec<OwnerRef> = entry.chain.iter().map(OwnerRef::from).collect();
        let workload = entry.chain.last().map(|top| Workload {
            api_version: top.api_version.clone(),
            kind: top.kind.clone(),
            name: top.name.clone(),
            uid: top.uid.clone(),
            replicas: self.owners.replicas(top),
            is_served: self.is_served(namespace, &own.pod.labels),
        });
        let mut settings = own.settings.clone();
        settings.is_opted_out = match entry.links.optimize {
            OwnSay::OptOut => true,
            OwnSay::OptIn => false,
            OwnSay::Nothing => self
                .picture
                .namespaces
                .get(namespace)
                .is_some_and(|labels| namespace_says(labels) == OwnSay::OptOut),
        };
        let pod = &own.pod;
        let pod = if pod.owners == owners && pod.resource == resource && pod.count == count {
            pod.clone()
        } else {
            Arc::new(Pod {
                owners,
                resource,
                count,
                ..Pod::clone(pod)
            })
        };
        GpuPod {
            pod,
            requests,
            workload,
            settings,
            ..GpuPod::clone(own)
        }
    }

    fn is_served(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Option<bool> {
        if !self.services_are_known {
            return None;
        }
        let services = self.services.get(namespace);
        Some(services.is_some_and(|services| {
            services.values().any(|selector| {
                !selector.is_empty() && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
            })
        }))
    }

    /// A pod that asks for GPUs, as it was last seen.
    pub(in crate::watch) fn gpu_pod(&self, key: &ObjectKey) -> Option<Arc<GpuPod>> {
        let key = self.pod_key(key)?;
        match self.pods.all.get(&key)? {
            Held::Gpu(entry) if !entry.counts_as_other => Some(entry.pod.clone()),
            Held::Gpu(_) | Held::Other { .. } | Held::Unreadable => None,
        }
    }

    pub(super) fn remove_pod(&mut self, key: &ObjectKey) {
        if let Some(key) = self.pod_key(key) {
            self.withdraw(&key);
        }
    }

    pub(super) fn put_unreadable_pod(&mut self, key: &ObjectKey, node: Option<NodeName>) {
        let Some(key) = self.pod_key(key) else { return };
        Arc::make_mut(&mut self.picture)
            .unreadable_pods
            .insert(key.clone(), node);
        self.pods.all.insert(key, Held::Unreadable);
    }

    /// Takes a pod out of everything.
    fn withdraw(&mut self, key: &PodKey) {
        self.unhook(key);
        self.pods.waiting.remove(key);
        self.show(key, None);
        if self.picture.unreadable_pods.contains_key(key) {
            Arc::make_mut(&mut self.picture).unreadable_pods.remove(key);
        }
    }

    /// Takes a pod out of sums and links, and leaves it in the picture.
    fn unhook(&mut self, key: &PodKey) {
        match self.pods.all.remove(key) {
            None => {}
            Some(Held::Unreadable) => {
                Arc::make_mut(&mut self.picture).unreadable_pods.remove(key);
            }
            Some(Held::Other { node, host }) => self.uncount(node.as_ref(), host),
            Some(Held::Gpu(entry)) => {
                self.owners.unlink(key, key.namespace.as_str(), &entry.chain);
                if entry.counts_as_other {
                    self.uncount(entry.pod.node.as_ref(), entry.pod.host);
                }
                if let Some(names) = self.pods.gpu.get_mut(&key.namespace) {
                    names.remove(&key.name);
                    if names.is_empty() {
                        self.pods.gpu.remove(&key.namespace);
                    }
                }
            }
        }
    }

    fn show(&mut self, key: &PodKey, pod: Option<Arc<GpuPod>>) {
        if self.picture.gpu_pods.get(key) == pod.as_ref() {
            return;
        }
        let shown = &mut Arc::make_mut(&mut self.picture).gpu_pods;
        match pod {
            Some(pod) => drop(shown.insert(key.clone(), pod)),
            None => drop(shown.remove(key)),
        }
    }

    fn count(&mut self, node: Option<&NodeName>, host: HostRequest) {
        if let Some(node) = node {
            let sum = self.pods.others.add(node, host);
            self.show_sum(node, sum);
        }
    }

    fn uncount(&mut self, node: Option<&NodeName>, host: HostRequest) {
        if let Some(node) = node {
            let sum = self.pods.others.subtract(node, host);
            self.show_sum(node, sum);
        }
    }

    fn show_sum(&mut self, node: &NodeName, sum: Option<HostRequest>) {
        let shown = &mut Arc::make_mut(&mut self.picture).other_pods;
        match sum {
            Some(sum) => drop(shown.insert(node.clone(), sum)),
            None => drop(shown.remove(node)),
        }
    }

    /// Shows pods that waited for their node for long enough.
    pub(super) fn release_held(&mut self, now: Timestamp) {
        let waited = |since: &Timestamp| Duration::try_from(now.duration_since(*since)).unwrap_or_default();
        let due: Vec<PodKey> = self
            .pods
            .waiting
            .iter()
            .filter(|(_, since)| waited(since) >= HOLD)
            .map(|(key, _)| key.clone())
            .collect();
        self.release(due);
    }

    /// Shows the pods of a node that has just been seen.
    pub(super) fn release_held_on(&mut self, node: &NodeName) {
        let is_there = |key: &&PodKey| match self.pods.all.get(*key) {
            Some(Held::Gpu(entry)) => entry.pod.node.as_ref() == Some(node),
            _ => false,
        };
        let due: Vec<PodKey> = self.pods.waiting.keys().filter(is_there).cloned().collect();
        self.release(due);
    }

    fn release(&mut self, due: Vec<PodKey>) {
        for key in due {
            self.pods.waiting.remove(&key);
            if let Some(Held::Gpu(entry)) = self.pods.all.get(&key)
                && !entry.counts_as_other
            {
                let pod = entry.pod.clone();
                self.show(&key, Some(pod));
            }
        }
    }

    pub(super) fn recompose_owned(&mut self, pods: &[PodKey]) {
        for key in pods {
            self.recompose(key);
        }
    }

    pub(super) fn recompose_namespace(&mut self, namespace: &str) {
        let Some(names) = self.pods.gpu.get(namespace) else {
            return;
        };
        let Ok(namespace) = Namespace::new(namespace) else {
            return;
        };
        let keys: Vec<PodKey> = names
            .iter()
            .map(|name| PodKey {
                namespace: namespace.clone(),
                name: name.clone(),
            })
            .collect();
        self.recompose_owned(&keys);
    }

    pub(super) fn recompose_all(&mut self) {
        let namespaces: Vec<Namespace> = self.pods.gpu.keys().cloned().collect();
        for namespace in namespaces {
            self.recompose_namespace(namespace.as_str());
        }
    }

    fn recompose(&mut self, key: &PodKey) {
        let Some((key, held)) = self.pods.all.remove_entry(key) else {
            return;
        };
        let Held::Gpu(entry) = held else {
            self.pods.all.insert(key, held);
            return;
        };
        self.owners.unlink(&key, key.namespace.as_str(), &entry.chain);
        if entry.counts_as_other {
            self.uncount(entry.pod.node.as_ref(), entry.pod.host);
        }
        self.settle(key, *entry);
    }

    /// The key with a namespace whose text is shared with other pods of it.
    fn pod_key(&self, key: &ObjectKey) -> Option<PodKey> {
        let namespace = match self.picture.namespaces.get_key_value(&*key.namespace) {
            Some((namespace, _)) => namespace.clone(),
            None => Namespace::new(&key.namespace).ok()?,
        };
        Some(PodKey {
            namespace,
            name: PodName::new(&key.name).ok()?,
        })
    }

    /// The name whose text is shared with the node's.
    fn shared_name(&self, name: NodeName) -> NodeName {
        self.picture
            .nodes
            .get_key_value(&name)
            .map_or(name, |(shared, _)| shared.clone())
    }
}

impl Index {
    pub(in crate::watch) fn questions(&mut self, now: Timestamp, most: usize) -> Vec<super::ForeignOwner> {
        self.owners.questions(now, most)
    }

    pub(in crate::watch) fn answer(&mut self, id: &str, answer: super::Answer, now: Timestamp) {
        let pods = self.owners.answer(id, answer, now);
        self.recompose_owned(&pods);
    }
}

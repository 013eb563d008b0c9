//! The index: what every watched object amounts to, and the picture that follows from it.
//!
//! It is a value without clock or socket. Whatever the order in which objects arrive, change, go and are listed anew, the picture
//! is the one that a fresh index would give for the objects that are left; a property test holds it to that. The picture is
//! changed in place where it can be: one pod that changes costs one entry, not forty thousand.

mod claims;
mod owners;
mod pods;
mod tally;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use gpu_k8s::convert::{ClaimFacts, OwnerFacts, PodState, ServiceFacts};
use gpu_model::{ClusterId, ClusterNode, ClusterPicture, DisruptionBudget, GpuQuota, Namespace, NodeName};
use jiff::Timestamp;

use super::Kind;
use super::policies::{Policies, Policy};
use claims::Claims;
use owners::Owners;
pub(super) use owners::{Answer, ForeignOwner};
use pods::Pods;

/// The name of an object; the namespace is empty where the kind has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectKey {
    pub(super) namespace: Box<str>,
    pub(super) name: Box<str>,
}

impl ObjectKey {
    pub(super) fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.namespace {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

/// What an object amounts to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Node(Box<ClusterNode>),
    Pod(PodState),
    Namespace(BTreeMap<String, String>),
    Owner(OwnerFacts),
    Service(ServiceFacts),
    Budget(DisruptionBudget),
    Quota(Option<GpuQuota>),
    Claim(ClaimFacts),
    Template(ClaimFacts),
    Class(bool),
    Policy(Policy),
}

/// How much is held, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    pub nodes: usize,
    pub gpu_pods: usize,
    pub other_pods: usize,
    /// Pods whose node was not seen yet.
    pub held_back: usize,
    pub owners: usize,
    /// Owners of kinds that are not watched, asked for one by one.
    pub foreign_owners: usize,
}

/// The labels by which Services find their pods, by the name of the Service.
type Selectors = BTreeMap<Box<str>, BTreeMap<String, String>>;

#[derive(Debug)]
pub(super) struct Index {
    picture: Arc<ClusterPicture>,
    policies: Arc<Policies>,
    pods: Pods,
    owners: Owners,
    claims: Claims,
    /// Selectors by namespace and name.
    services: BTreeMap<Box<str>, Selectors>,
    services_are_known: bool,
    budgets: BTreeMap<ObjectKey, Arc<DisruptionBudget>>,
    quotas: BTreeMap<ObjectKey, Arc<GpuQuota>>,
    /// What the list that is under way has named so far.
    listed: BTreeMap<Kind, BTreeSet<ObjectKey>>,
}

impl Index {
    pub(super) fn new(cluster: ClusterId, now: Timestamp) -> Self {
        Self {
            picture: Arc::new(ClusterPicture::empty(cluster, now)),
            policies: Arc::default(),
            pods: Pods::default(),
            owners: Owners::default(),
            claims: Claims::default(),
            services: BTreeMap::new(),
            services_are_known: false,
            budgets: BTreeMap::new(),
            quotas: BTreeMap::new(),
            listed: BTreeMap::new(),
        }
    }

    /// A list of all objects of a kind begins.
    pub(super) fn begin(&mut self, kind: Kind) {
        self.listed.insert(kind, BTreeSet::new());
    }

    /// The list is complete: what it did not name is gone. Answers with what it named.
    pub(super) fn done(&mut self, kind: Kind) -> BTreeSet<ObjectKey> {
        let listed = self.listed.remove(&kind).unwrap_or_default();
        for key in self.keys(kind) {
            if !listed.contains(&key) {
                self.remove(kind, &key);
            }
        }
        listed
    }

    /// All objects of the kind were seen, so that what is not here is not there.
    pub(super) fn known(&mut self, kind: Kind) {
        if kind == Kind::Services && !self.services_are_known {
            self.services_are_known = true;
            self.recompose_all();
        }
    }

    /// An object arrived or changed.
    pub(super) fn put(&mut self, kind: Kind, key: ObjectKey, item: Item, now: Timestamp) {
        match item {
            Item::Node(node) => self.put_node(*node),
            Item::Pod(state) => self.put_pod(&key, state, now),
            Item::Namespace(labels) => self.put_namespace(&key, labels),
            Item::Owner(facts) => {
                let changed = self.owners.put(kind, &key, facts);
                self.recompose_owned(&changed);
            }
            Item::Service(facts) => {
                let services = self.services.entry(key.namespace.clone()).or_default();
                let before = services.insert(key.name.clone(), facts.selector.clone());
                if before.as_ref() != Some(&facts.selector) {
                    self.recompose_namespace(&key.namespace);
                }
            }
            Item::Budget(budget) => {
                self.budgets.insert(key.clone(), Arc::new(budget));
                self.publish_budgets(&key.namespace);
            }
            Item::Quota(quota) => {
                match quota {
                    Some(quota) => drop(self.quotas.insert(key.clone(), Arc::new(quota))),
                    None => drop(self.quotas.remove(&key)),
                }
                self.publish_quotas(&key.namespace);
            }
            Item::Claim(facts) => {
                if self.claims.put_claim(&key, facts) {
                    self.recompose_namespace(&key.namespace);
                }
            }
            Item::Template(facts) => {
                if self.claims.put_template(&key, facts) {
                    self.recompose_namespace(&key.namespace);
                }
            }
            Item::Class(is_gpu) => {
                if self.claims.put_class(&key, is_gpu) {
                    self.recompose_all();
                }
            }
            Item::Policy(policy) => Arc::make_mut(&mut self.policies).put(&key, policy),
        }
        if let Some(listed) = self.listed.get_mut(&kind) {
            listed.insert(key);
        }
    }

    /// An object is there and cannot be read; what was known of it before no longer holds.
    pub(super) fn put_unreadable(&mut self, kind: Kind, key: ObjectKey, node: Option<NodeName>) {
        self.remove(kind, &key);
        if kind == Kind::Pods {
            self.put_unreadable_pod(&key, node);
        }
        if let Some(listed) = self.listed.get_mut(&kind) {
            listed.insert(key);
        }
    }

    /// An object is gone.
    pub(super) fn remove(&mut self, kind: Kind, key: &ObjectKey) {
        match kind {
            Kind::Nodes => {
                if self.picture.nodes.contains_key(&*key.name) {
                    Arc::make_mut(&mut self.picture).nodes.remove(&*key.name);
                }
            }
            Kind::Pods => self.remove_pod(key),
            Kind::Namespaces => {
                if self.picture.namespaces.contains_key(&*key.name) {
                    Arc::make_mut(&mut self.picture).namespaces.remove(&*key.name);
                    self.recompose_namespace(&key.name);
                }
            }
            Kind::ReplicaSets
            | Kind::Deployments
            | Kind::StatefulSets
            | Kind::DaemonSets
            | Kind::Jobs
            | Kind::CronJobs => {
                let changed = self.owners.remove(kind, key);
                self.recompose_owned(&changed);
            }
            Kind::Services => {
                if let Some(services) = self.services.get_mut(&key.namespace) {
                    services.remove(&key.name);
                    if services.is_empty() {
                        self.services.remove(&key.namespace);
                    }
                    self.recompose_namespace(&key.namespace);
                }
            }
            Kind::DisruptionBudgets => {
                self.budgets.remove(key);
                self.publish_budgets(&key.namespace);
            }
            Kind::Quotas => {
                self.quotas.remove(key);
                self.publish_quotas(&key.namespace);
            }
            Kind::Claims | Kind::ClaimTemplates => {
                if self.claims.remove(kind, key) {
                    self.recompose_namespace(&key.namespace);
                }
            }
            Kind::DeviceClasses => {
                if self.claims.remove(kind, key) {
                    self.recompose_all();
                }
            }
            Kind::AutoscalingPolicies
            | Kind::SharingPolicies
            | Kind::WorkloadAutoscalers
            | Kind::CostBudgets
            | Kind::CostAttributions => Arc::make_mut(&mut self.policies).remove(kind, key),
        }
    }

    /// The picture, with pods in it whose node was waited for long enough.
    pub(super) fn picture(&mut self, now: Timestamp, at: Timestamp) -> Arc<ClusterPicture> {
        self.release_held(now);
        if self.picture.at != at {
            Arc::make_mut(&mut self.picture).at = at;
        }
        self.picture.clone()
    }

    pub(super) fn policies(&self) -> Arc<Policies> {
        self.policies.clone()
    }

    pub(super) fn load(&self) -> Load {
        Load {
            nodes: self.picture.nodes.len(),
            gpu_pods: self.picture.gpu_pods.len(),
            other_pods: self.pods.len() - self.picture.gpu_pods.len(),
            held_back: self.pods.held_back(),
            owners: self.owners.len(),
            foreign_owners: self.owners.foreign_len(),
        }
    }

    fn put_node(&mut self, node: ClusterNode) {
        let name = node.node.name.clone();
        let before = self.picture.nodes.get(&name);
        let is_new = before.is_none();
        if before.is_some_and(|before| **before == node) {
            // A heartbeat: nothing that we keep has changed.
            return;
        }
        Arc::make_mut(&mut self.picture)
            .nodes
            .insert(name.clone(), Arc::new(node));
        if is_new {
            self.release_held_on(&name);
        }
    }

    fn put_namespace(&mut self, key: &ObjectKey, labels: BTreeMap<String, String>) {
        let Ok(namespace) = Namespace::new(&key.name) else {
            return;
        };
        if self
            .picture
            .namespaces
            .get(&namespace)
            .is_some_and(|before| **before == labels)
        {
            return;
        }
        Arc::make_mut(&mut self.picture)
            .namespaces
            .insert(namespace, Arc::new(labels));
        self.recompose_namespace(&key.name);
    }

    fn publish_budgets(&mut self, namespace: &str) {
        let Ok(name) = Namespace::new(namespace) else {
            return;
        };
        let budgets = of_namespace(&self.budgets, namespace);
        if self
            .picture
            .disruption_budgets
            .get(&name)
            .is_some_and(|before| *before == budgets)
        {
            return;
        }
        let published = &mut Arc::make_mut(&mut self.picture).disruption_budgets;
        match budgets.is_empty() {
            true => drop(published.remove(&name)),
            false => drop(published.insert(name, budgets)),
        }
    }

    fn publish_quotas(&mut self, namespace: &str) {
        let Ok(name) = Namespace::new(namespace) else {
            return;
        };
        let quotas = of_namespace(&self.quotas, namespace);
        if self
            .picture
            .quotas
            .get(&name)
            .map_or(quotas.is_empty(), |before| *before == quotas)
        {
            return;
        }
        let published = &mut Arc::make_mut(&mut self.picture).quotas;
        match quotas.is_empty() {
            true => drop(published.remove(&name)),
            false => drop(published.insert(name, quotas)),
        }
    }

    fn keys(&self, kind: Kind) -> Vec<ObjectKey> {
        match kind {
            Kind::Nodes => plain(self.picture.nodes.keys().map(NodeName::as_str)),
            Kind::Namespaces => plain(self.picture.namespaces.keys().map(Namespace::as_str)),
            Kind::Pods => self.pods.keys(),
            Kind::ReplicaSets
            | Kind::Deployments
            | Kind::StatefulSets
            | Kind::DaemonSets
            | Kind::Jobs
            | Kind::CronJobs => self.owners.keys(kind),
            Kind::Services => {
                let named = self.services.iter().flat_map(|(namespace, services)| {
                    services.keys().map(|name| ObjectKey::new(namespace, name))
                });
                named.collect()
            }
            Kind::DisruptionBudgets => self.budgets.keys().cloned().collect(),
            Kind::Quotas => self.quotas.keys().cloned().collect(),
            Kind::Claims | Kind::ClaimTemplates | Kind::DeviceClasses => self.claims.keys(kind),
            Kind::AutoscalingPolicies
            | Kind::SharingPolicies
            | Kind::WorkloadAutoscalers
            | Kind::CostBudgets
            | Kind::CostAttributions => self.policies.keys(kind),
        }
    }
}

fn plain<'a>(names: impl Iterator<Item = &'a str>) -> Vec<ObjectKey> {
    names.map(|name| ObjectKey::new("", name)).collect()
}

fn of_namespace<T: Clone>(all: &BTreeMap<ObjectKey, T>, namespace: &str) -> Vec<T> {
    all.range(ObjectKey::new(namespace, "")..)
        .take_while(|(key, _)| &*key.namespace == namespace)
        .map(|(_, value)| value.clone())
        .collect()
}

#[cfg(test)]
mod tests;

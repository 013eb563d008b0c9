//! Our own objects as they stand in the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_k8s::convert::Unreadable;
use gpu_k8s::kinds::{AutoscalingPolicy, CostAttribution, CostBudget, GPUSharingPolicy, WorkloadAutoscaler};
use serde::de::DeserializeOwned;

use super::Kind;
use super::index::ObjectKey;

/// All objects of our kinds, by name; those of namespaces by namespace and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policies {
    pub autoscaling: BTreeMap<String, Arc<AutoscalingPolicy>>,
    pub sharing: BTreeMap<String, Arc<GPUSharingPolicy>>,
    pub workloads: BTreeMap<(String, String), Arc<WorkloadAutoscaler>>,
    pub budgets: BTreeMap<String, Arc<CostBudget>>,
    pub attributions: BTreeMap<String, Arc<CostAttribution>>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Policy {
    Autoscaling(Arc<AutoscalingPolicy>),
    Sharing(Arc<GPUSharingPolicy>),
    Workload(Arc<WorkloadAutoscaler>),
    Budget(Arc<CostBudget>),
    Attribution(Arc<CostAttribution>),
}

impl Policy {
    pub(super) fn read(kind: Kind, text: &str) -> Result<Self, Unreadable> {
        Ok(match kind {
            Kind::AutoscalingPolicies => Self::Autoscaling(Arc::new(typed(text)?)),
            Kind::SharingPolicies => Self::Sharing(Arc::new(typed(text)?)),
            Kind::WorkloadAutoscalers => Self::Workload(Arc::new(typed(text)?)),
            Kind::CostBudgets => Self::Budget(Arc::new(typed(text)?)),
            Kind::CostAttributions => Self::Attribution(Arc::new(typed(text)?)),
            other => {
                return Err(Unreadable::Form {
                    why: format!("{} are no kind of ours", other.name()),
                });
            }
        })
    }
}

/// Who wrote which field is of no use here, and larger than the object.
fn typed<K: kube::Resource + DeserializeOwned>(text: &str) -> Result<K, Unreadable> {
    let mut object: K = serde_json::from_str(text)?;
    object.meta_mut().managed_fields = None;
    Ok(object)
}

impl Policies {
    pub(super) fn put(&mut self, key: &ObjectKey, policy: Policy) {
        let name = key.name.to_string();
        match policy {
            Policy::Autoscaling(object) => drop(self.autoscaling.insert(name, object)),
            Policy::Sharing(object) => drop(self.sharing.insert(name, object)),
            Policy::Workload(object) => {
                drop(self.workloads.insert((key.namespace.to_string(), name), object))
            }
            Policy::Budget(object) => drop(self.budgets.insert(name, object)),
            Policy::Attribution(object) => drop(self.attributions.insert(name, object)),
        }
    }

    pub(super) fn remove(&mut self, kind: Kind, key: &ObjectKey) {
        let name = &*key.name;
        match kind {
            Kind::AutoscalingPolicies => drop(self.autoscaling.remove(name)),
            Kind::SharingPolicies => drop(self.sharing.remove(name)),
            Kind::WorkloadAutoscalers => {
                drop(
                    self.workloads
                        .remove(&(key.namespace.to_string(), name.to_owned())),
                );
            }
            Kind::CostBudgets => drop(self.budgets.remove(name)),
            Kind::CostAttributions => drop(self.attributions.remove(name)),
            _ => {}
        }
    }

    pub(super) fn keys(&self, kind: Kind) -> Vec<ObjectKey> {
        let plain = |name: &String| ObjectKey::new("", name);
        match kind {
            Kind::AutoscalingPolicies => self.autoscaling.keys().map(plain).collect(),
            Kind::SharingPolicies => self.sharing.keys().map(plain).collect(),
            Kind::WorkloadAutoscalers => self
                .workloads
                .keys()
                .map(|(namespace, name)| ObjectKey::new(namespace, name))
                .collect(),
            Kind::CostBudgets => self.budgets.keys().map(plain).collect(),
            Kind::CostAttributions => self.attributions.keys().map(plain).collect(),
            _ => Vec::new(),
        }
    }
}

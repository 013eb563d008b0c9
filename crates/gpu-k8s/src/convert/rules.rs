//! Objects that say something about pods: owners, Services, budgets of disruption, quotas, namespaces.

use std::collections::BTreeMap;

use gpu_model::{DisruptionBudget, GpuQuota, Operator, QuotaUse, Requirement, ResourceName, Selector};

use super::requests::request_kind;
use super::wire::{
    BudgetSpec, BudgetStatus, LabelSelector, Nothing, Object, OwnerReference, QuotaLists, Replicated,
    ServiceSpec,
};
use super::{Labels, Unreadable};
use crate::owners::OwnerLink;
use crate::quantity;

/// An object that may own pods: who owns it, and how many replicas it asks for where it has such a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerFacts {
    pub uid: String,
    pub owner: Option<OwnerLink>,
    pub replicas: Option<u32>,
}

/// Reads a Deployment, a StatefulSet, any other kind, or the metadata of an object alone.
pub fn owner(text: &str) -> Result<OwnerFacts, Unreadable> {
    let object: Object<Replicated, Nothing> = serde_json::from_str(text)?;
    Ok(OwnerFacts {
        uid: object.metadata.uid,
        owner: controller(&object.metadata.owner_references),
        replicas: object.spec.replicas,
    })
}

/// The owner that controls, or the first where none says that it does. A pod of the node itself has no owner to speak of.
pub(super) fn controller(references: &[OwnerReference]) -> Option<OwnerLink> {
    let chosen = references
        .iter()
        .find(|reference| reference.controller == Some(true))
        .or_else(|| references.first())?;
    (chosen.kind != "Node").then(|| OwnerLink {
        api_version: chosen.api_version.clone(),
        kind: chosen.kind.clone(),
        name: chosen.name.clone(),
        uid: chosen.uid.clone(),
    })
}

/// The labels by which a Service finds its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceFacts {
    /// Empty for a Service whose addresses somebody else maintains; nobody can say whom it serves.
    pub selector: Labels,
}

/// Reads a Service.
pub fn service(text: &str) -> Result<ServiceFacts, Unreadable> {
    let object: Object<ServiceSpec, Nothing> = serde_json::from_str(text)?;
    Ok(ServiceFacts {
        selector: object.spec.selector,
    })
}

/// Reads the labels of a namespace.
pub fn namespace_labels(text: &str) -> Result<Labels, Unreadable> {
    let object: Object<Nothing, Nothing> = serde_json::from_str(text)?;
    Ok(object.metadata.labels)
}

/// Reads a PodDisruptionBudget.
pub fn disruption_budget(text: &str) -> Result<DisruptionBudget, Unreadable> {
    let object: Object<BudgetSpec, BudgetStatus> = serde_json::from_str(text)?;
    let is_counted = object.status.observed_generation.is_some();
    let allowed = object.status.disruptions_allowed.filter(|_| is_counted);
    Ok(DisruptionBudget {
        name: object.metadata.name,
        selector: object.spec.selector.map(selector).transpose()?,
        disruptions_allowed: allowed.map(|allowed| u32::try_from(allowed.max(0)).unwrap_or(u32::MAX)),
    })
}

/// Reads a ResourceQuota; absent when it says nothing of GPUs.
pub fn gpu_quota(text: &str) -> Result<Option<GpuQuota>, Unreadable> {
    let object: Object<QuotaLists, QuotaLists> = serde_json::from_str(text)?;
    let mut limits = BTreeMap::new();
    for (name, hard) in &object.spec.hard {
        let resource = name.strip_prefix("requests.").unwrap_or(name);
        if request_kind(resource).is_none() {
            continue;
        }
        let read = |text: &str| {
            quantity::units(text).map_err(|error| Unreadable::field(format!("limit of `{name}`"), error))
        };
        let used = object
            .status
            .used
            .get(name)
            .map(|used| read(&used.0))
            .transpose()?;
        limits.insert(
            ResourceName::new(resource)?,
            QuotaUse {
                hard: read(&hard.0)?,
                used,
            },
        );
    }
    let name = object.metadata.name;
    Ok((!limits.is_empty()).then_some(GpuQuota { name, limits }))
}

fn selector(wire: LabelSelector) -> Result<Selector, Unreadable> {
    let mut requirements = Vec::new();
    for expression in wire.match_expressions {
        let values = expression.values.into_iter().collect();
        let operator = match expression.operator.as_str() {
            "In" => Operator::In(values),
            "NotIn" => Operator::NotIn(values),
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                return Err(Unreadable::field(
                    "selector",
                    format!("the operator `{other}` is not known"),
                ));
            }
        };
        requirements.push(Requirement {
            key: expression.key,
            operator,
        });
    }
    Ok(Selector {
        labels: wire.match_labels,
        requirements,
    })
}

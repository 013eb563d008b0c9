//! The kinds that are watched, where the API has them, and what is made of their objects.

use gpu_k8s::convert::{self, Unreadable};
use gpu_k8s::names::{GROUP, VERSION, dra};

use super::index::Item;
use super::policies::Policy;

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Nodes,
    Pods,
    Namespaces,
    ReplicaSets,
    Deployments,
    StatefulSets,
    DaemonSets,
    Jobs,
    CronJobs,
    Services,
    DisruptionBudgets,
    Quotas,
    Claims,
    ClaimTemplates,
    DeviceClasses,
    AutoscalingPolicies,
    SharingPolicies,
    WorkloadAutoscalers,
    CostBudgets,
    CostAttributions,
}

/// How much of the objects is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Whole,
    /// Names, labels and owners are enough.
    Metadata,
}

impl Kind {
    pub const ALL: [Self; 20] = [
        Self::Nodes,
        Self::Pods,
        Self::Namespaces,
        Self::ReplicaSets,
        Self::Deployments,
        Self::StatefulSets,
        Self::DaemonSets,
        Self::Jobs,
        Self::CronJobs,
        Self::Services,
        Self::DisruptionBudgets,
        Self::Quotas,
        Self::Claims,
        Self::ClaimTemplates,
        Self::DeviceClasses,
        Self::AutoscalingPolicies,
        Self::SharingPolicies,
        Self::WorkloadAutoscalers,
        Self::CostBudgets,
        Self::CostAttributions,
    ];

    /// Its name in the API, which is also its name in the status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Namespaces => "namespaces",
            Self::ReplicaSets => "replicasets",
            Self::Deployments => "deployments",
            Self::StatefulSets => "statefulsets",
            Self::DaemonSets => "daemonsets",
            Self::Jobs => "jobs",
            Self::CronJobs => "cronjobs",
            Self::Services => "services",
            Self::DisruptionBudgets => "poddisruptionbudgets",
            Self::Quotas => "resourcequotas",
            Self::Claims => "resourceclaims",
            Self::ClaimTemplates => "resourceclaimtemplates",
            Self::DeviceClasses => "deviceclasses",
            Self::AutoscalingPolicies => "autoscalingpolicies",
            Self::SharingPolicies => "gpusharingpolicies",
            Self::WorkloadAutoscalers => "workloadautoscalers",
            Self::CostBudgets => "costbudgets",
            Self::CostAttributions => "costattributions",
        }
    }

    /// The name of the task that watches it.
    pub(super) fn task(self) -> &'static str {
        match self {
            Self::Nodes => "watch nodes",
            Self::Pods => "watch pods",
            Self::Namespaces => "watch namespaces",
            Self::ReplicaSets => "watch replicasets",
            Self::Deployments => "watch deployments",
            Self::StatefulSets => "watch statefulsets",
            Self::DaemonSets => "watch daemonsets",
            Self::Jobs => "watch jobs",
            Self::CronJobs => "watch cronjobs",
            Self::Services => "watch services",
            Self::DisruptionBudgets => "watch poddisruptionbudgets",
            Self::Quotas => "watch resourcequotas",
            Self::Claims => "watch resourceclaims",
            Self::ClaimTemplates => "watch resourceclaimtemplates",
            Self::DeviceClasses => "watch deviceclasses",
            Self::AutoscalingPolicies => "watch autoscalingpolicies",
            Self::SharingPolicies => "watch gpusharingpolicies",
            Self::WorkloadAutoscalers => "watch workloadautoscalers",
            Self::CostBudgets => "watch costbudgets",
            Self::CostAttributions => "watch costattributions",
        }
    }

    /// Without these there is no picture at all.
    pub fn is_mandatory(self) -> bool {
        matches!(self, Self::Nodes | Self::Pods)
    }

    pub(super) fn asked(self) -> Asked {
        match self {
            Self::Namespaces | Self::ReplicaSets | Self::DaemonSets | Self::Jobs | Self::CronJobs => {
                Asked::Metadata
            }
            _ => Asked::Whole,
        }
    }

    /// The groups and versions that may have it, the best first, as the beginning of a path.
    pub(super) fn places(self) -> Vec<String> {
        let group = |name: &str| vec![format!("/apis/{name}")];
        match self {
            Self::Nodes | Self::Pods | Self::Namespaces | Self::Services | Self::Quotas => {
                vec!["/api/v1".to_owned()]
            }
            Self::ReplicaSets | Self::Deployments | Self::StatefulSets | Self::DaemonSets => group("apps/v1"),
            Self::Jobs | Self::CronJobs => group("batch/v1"),
            Self::DisruptionBudgets => group("policy/v1"),
            Self::Claims | Self::ClaimTemplates | Self::DeviceClasses => dra::VERSIONS
                .iter()
                .map(|version| format!("/apis/{}/{version}", dra::GROUP))
                .collect(),
            Self::AutoscalingPolicies
            | Self::SharingPolicies
            | Self::WorkloadAutoscalers
            | Self::CostBudgets
            | Self::CostAttributions => vec![format!("/apis/{GROUP}/{VERSION}")],
        }
    }

    /// Whether an owner of this kind and group is watched, and so need not be asked for one by one.
    pub(super) fn watches_owner(group: &str, kind: &str) -> bool {
        matches!(
            (group, kind),
            ("apps", "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet")
                | ("batch", "Job" | "CronJob")
        )
    }

    /// Reads one object.
    pub(super) fn read(self, text: &str) -> Result<Item, Unreadable> {
        Ok(match self {
            Self::Nodes => Item::Node(Box::new(convert::node(text)?)),
            Self::Pods => Item::Pod(convert::pod(text)?.state),
            Self::Namespaces => Item::Namespace(convert::namespace_labels(text)?),
            Self::ReplicaSets
            | Self::Deployments
            | Self::StatefulSets
            | Self::DaemonSets
            | Self::Jobs
            | Self::CronJobs => Item::Owner(convert::owner(text)?),
            Self::Services => Item::Service(convert::service(text)?),
            Self::DisruptionBudgets => Item::Budget(convert::disruption_budget(text)?),
            Self::Quotas => Item::Quota(convert::gpu_quota(text)?),
            Self::Claims => Item::Claim(convert::claim(text)?),
            Self::ClaimTemplates => Item::Template(convert::template(text)?),
            Self::DeviceClasses => Item::Class(convert::device_class(text)?),
            Self::AutoscalingPolicies
            | Self::SharingPolicies
            | Self::WorkloadAutoscalers
            | Self::CostBudgets
            | Self::CostAttributions => Item::Policy(Policy::read(self, text)?),
        })
    }
}

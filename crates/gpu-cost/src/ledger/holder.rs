//! Who held a part of a GPU, with every name by which somebody will ask for the bill.

use std::collections::BTreeMap;
use std::fmt;

use gpu_model::{ContainerName, Namespace, OwnerRef, PodName, PodUid};
use serde::{Deserialize, Serialize};

use super::Digest;

/// A container of a pod, and whose it is. Rows share one behind an `Arc`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    pub namespace: Namespace,
    pub pod: PodName,
    pub uid: PodUid,
    /// Absent where only the pod is known.
    pub container: Option<ContainerName>,
    pub dimensions: Dimensions,
}

/// The names under which cost is asked for, beside namespace and pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Dimensions {
    pub team: Option<String>,
    pub project: Option<String>,
    pub cost_center: Option<String>,
    pub experiment_id: Option<String>,
    /// The topmost object that owns the pod.
    pub owner: Option<OwnerRef>,
    /// The Argo workflow.
    pub workflow: Option<String>,
    /// The step of the workflow, without the number of the attempt.
    pub step: Option<String>,
    /// The attempt at the step, from 0.
    pub retry: Option<u32>,
    /// The Argo CD application.
    pub application: Option<String>,
    /// Labels that were asked for by name. Few: each is a column of somebody's report.
    pub labels: BTreeMap<String, String>,
}

/// What identifies a holder and all its dimensions: a key for a table of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderKey(pub [u8; 16]);

impl fmt::Debug for HolderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::RowKey(self.0).fmt(f)
    }
}

impl Holder {
    /// Follows from the content: a pod whose labels changed is another holder from then on.
    pub fn key(&self) -> HolderKey {
        let names = &self.dimensions;
        let owner = names.owner.as_ref();
        let mut digest = Digest::new("holder")
            .text(self.namespace.as_str())
            .text(self.pod.as_str())
            .text(self.uid.as_str())
            .maybe(self.container.as_ref().map(ContainerName::as_str))
            .maybe(names.team.as_deref())
            .maybe(names.project.as_deref())
            .maybe(names.cost_center.as_deref())
            .maybe(names.experiment_id.as_deref())
            .maybe(owner.map(|owner| owner.kind.as_str()))
            .maybe(owner.map(|owner| owner.name.as_str()))
            .maybe(names.workflow.as_deref())
            .maybe(names.step.as_deref())
            .number(names.retry.map_or(-1, i64::from))
            .maybe(names.application.as_deref());
        for (name, value) in &names.labels {
            digest = digest.text(name).text(value);
        }
        HolderKey(digest.finish())
    }
}

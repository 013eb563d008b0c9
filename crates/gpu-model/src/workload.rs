//! Who asked for GPUs: a pod and the chain of objects that made it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{PodRef, ResourceName};

/// One object that owns another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OwnerRef {
    pub kind: String,
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodPhase {
    Pending,
    Running,
}

impl PodPhase {
    pub fn as_str(self) -> &'static str {
        match self {
            PodPhase::Pending => "Pending",
            PodPhase::Running => "Running",
        }
    }
}

/// A pod that holds, or waits for, GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    pub reference: PodRef,
    /// From the direct owner up: ReplicaSet, then Deployment. Empty for a bare pod.
    pub owners: Vec<OwnerRef>,
    pub labels: BTreeMap<String, String>,
    pub resource: ResourceName,
    /// How many of `resource` it asked for.
    pub count: u32,
    pub phase: PodPhase,
    /// Absent where nobody told: an exporter's page names pods and nothing more.
    pub created_at: Option<Timestamp>,
    /// When it got its node and started; absent while it waits.
    pub started_at: Option<Timestamp>,
}

impl Pod {
    /// The object a person would name when asked whose pod this is.
    pub fn workload(&self) -> Option<&OwnerRef> {
        self.owners.last()
    }
}

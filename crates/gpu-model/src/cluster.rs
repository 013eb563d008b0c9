//! The cluster as its API tells of it at one instant: nodes, who asks for GPUs and in which form, and who made them.
//!
//! What GPUs do is in [`crate::FleetView`], which is made by joining this picture with what exporters measured.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::{
    Bytes, ClusterId, ContainerName, MachineId, MigProfileName, Namespace, Node, NodeName, Pod, PodName,
    ResourceName, Selector, Vendor,
};

/// One consistent picture: every pod's node is in it, or was not there when the picture was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPicture {
    pub cluster: ClusterId,
    pub at: Timestamp,
    pub nodes: BTreeMap<NodeName, Arc<ClusterNode>>,
    /// Pods that ask for GPUs in any form and have not ended.
    pub gpu_pods: BTreeMap<PodKey, Arc<GpuPod>>,
    /// What all other pods together ask for, by node.
    pub other_pods: BTreeMap<NodeName, HostRequest>,
    /// The labels of namespaces.
    pub namespaces: BTreeMap<Namespace, Arc<BTreeMap<String, String>>>,
    /// Pods whose objects could not be read, with their node. A node that holds one must not be taken for empty.
    pub unreadable_pods: BTreeMap<PodKey, Option<NodeName>>,
    /// How many pods may be away at a time, by namespace.
    pub disruption_budgets: BTreeMap<Namespace, Vec<Arc<DisruptionBudget>>>,
    /// Limits of namespaces on GPUs; a quota that says nothing of GPUs is not here.
    pub quotas: BTreeMap<Namespace, Vec<Arc<GpuQuota>>>,
}

impl ClusterPicture {
    /// A picture of nothing, for fleets without Kubernetes.
    pub fn empty(cluster: ClusterId, at: Timestamp) -> Self {
        Self {
            cluster,
            at,
            nodes: BTreeMap::new(),
            gpu_pods: BTreeMap::new(),
            other_pods: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            unreadable_pods: BTreeMap::new(),
            disruption_budgets: BTreeMap::new(),
            quotas: BTreeMap::new(),
        }
    }
}

/// The name of a pod. Its uid is with the pod: a name comes back with another pod behind it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodKey {
    pub namespace: Namespace,
    pub name: PodName,
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A node as the API tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterNode {
    pub node: Arc<Node>,
    /// The node object's own uid.
    pub uid: String,
    pub machine: MachineId,
    pub created_at: Timestamp,
    pub readiness: Readiness,
    pub is_cordoned: bool,
    pub taints: Vec<Taint>,
    pub host: HostRequest,
    /// GPU resources that can be given out, by resource name.
    pub gpus: BTreeMap<ResourceName, u32>,
    /// GPU resources that are there, given out or not, healthy or not.
    pub gpu_capacity: BTreeMap<ResourceName, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Readiness {
    Ready,
    NotReady,
    /// The node's condition is missing, or its kubelet has gone silent.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

/// What is asked for, or there, besides GPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostRequest {
    pub cpu_millicores: u64,
    pub memory: Bytes,
    pub pods: u32,
}

impl HostRequest {
    /// Adds another request to this one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            cpu_millicores: self.cpu_millicores.saturating_add(other.cpu_millicores),
            memory: self.memory.saturating_add(other.memory),
            pods: self.pods.saturating_add(other.pods),
        }
    }
}

/// A pod that asks for GPUs, with what decisions about it need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuPod {
    /// Names, labels, the chain of owners and times. Its `resource` is the first of `requests`.
    pub pod: Arc<Pod>,
    pub node: Option<NodeName>,
    /// By container, in the order of the pod.
    pub requests: Vec<GpuRequest>,
    /// What the pod as a whole asks for besides GPUs; it counts as one pod.
    pub host: HostRequest,
    pub is_ready: bool,
    pub is_terminating: bool,
    /// Why its containers do not run, as the kubelet words it: `CrashLoopBackOff`, `ImagePullBackOff`; or the scheduler,
    /// while it has no node: `Unschedulable`, `SchedulingGated`.
    pub waiting_reason: Option<String>,
    /// Over all containers.
    pub restarts: u32,
    pub workload: Option<Workload>,
    pub settings: PodSettings,
}

impl GpuPod {
    pub fn key(&self) -> PodKey {
        PodKey {
            namespace: self.pod.reference.namespace.clone(),
            name: self.pod.reference.name.clone(),
        }
    }
}

/// The object at the top of a pod's chain of owners.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
    /// How many replicas are asked for, where the kind has such a number.
    pub replicas: Option<u32>,
    /// Whether a Service sends its pods requests; absent where Services could not be looked at.
    pub is_served: Option<bool>,
}

/// One container's request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GpuRequest {
    pub container: ContainerName,
    /// The extended resource, or the device class of a claim.
    pub resource: ResourceName,
    pub count: u32,
    pub kind: RequestKind,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// `nvidia.com/gpu`, `amd.com/gpu`, `gpu.intel.com/i915` and `gpu.intel.com/xe`.
    Whole(Vendor),
    /// `nvidia.com/mig-3g.40gb`.
    MigSlice(MigProfileName),
    /// `nvidia.com/gpu.shared`: a replica of a GPU that shares time.
    Shared,
    /// A partition of an AMD GPU under a resource name of its own, `amd.com/cpx_nps4`.
    AmdPartition(String),
    /// HAMi: device memory in mebibytes.
    HamiMemory,
    /// HAMi: device memory in percent of the GPU's.
    HamiMemoryPercent,
    /// HAMi: cores in percent.
    HamiCores,
    /// A claim of Dynamic Resource Allocation, by the name of its claim.
    Claim(String),
}

/// What a pod's owner told us by annotations, read once. A value that cannot be read is a problem and changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodSettings {
    /// `optimize: "false"`, or the same said by its namespace.
    pub is_opted_out: bool,
    /// `exempt-until`: no finding before this instant.
    pub exempt_until: Option<Timestamp>,
    /// `workload-type`: `training`, `inference`, `standby`, `notebook`, `batch`, in the owner's words.
    pub workload_type: Option<String>,
    /// `gang`: pods of the same namespace with the same word work as one.
    pub gang: Option<String>,
    pub is_movable: Option<bool>,
    pub is_spot_ok: Option<bool>,
    /// `cost-center`, or the label of the same meaning.
    pub cost_center: Option<String>,
    /// `sharing`: whether its GPU may be shared with others.
    pub may_share: Option<bool>,
    pub sharing_mode: Option<SharingMode>,
    /// `mig-profile`: the slice it would be content with.
    pub mig_profile: Option<MigProfileName>,
    /// `priority`: higher goes first.
    pub priority: Option<i32>,
    /// In words for the owner: which annotation, what is wrong, what would be right.
    pub problems: Vec<String>,
}

/// How GPUs are shared, in the words of the annotation `sharing-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SharingMode {
    Mig,
    Mps,
    TimeSlicing,
}

impl SharingMode {
    pub fn as_str(self) -> &'static str {
        match self {
            SharingMode::Mig => "mig",
            SharingMode::Mps => "mps",
            SharingMode::TimeSlicing => "time-slicing",
        }
    }
}

/// A PodDisruptionBudget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisruptionBudget {
    pub name: String,
    /// Absent means that it covers no pod.
    pub selector: Option<Selector>,
    /// How many of its pods may be evicted now; absent until the control plane has counted.
    pub disruptions_allowed: Option<u32>,
}

impl DisruptionBudget {
    /// Whether a pod with these labels, in the budget's namespace, is under it.
    pub fn covers(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector
            .as_ref()
            .is_some_and(|selector| selector.matches(labels))
    }
}

/// What a ResourceQuota says of GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuQuota {
    pub name: String,
    pub limits: BTreeMap<ResourceName, QuotaUse>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaUse {
    pub hard: u64,
    /// Absent until the control plane has counted.
    pub used: Option<u64>,
}

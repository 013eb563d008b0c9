//! Who causes what a GPU does: the kubelet says which container was given which device, control groups say which container
//! a process runs in, and the join gives each of them what the driver measured for them. What nobody measured stays
//! without an owner, with the reason.
//!
//! What has to be visible, and what is lost without it (all read-only, all under roots that are settings):
//! - the kubelet's `pod-resources` directory: which container holds which device. Without it nothing has an owner.
//! - the host's process namespace: which process runs in which container. Without it containers that share a device have
//!   no figures of their own.
//! - `/var/log/containers` and `/var/log/pods`, names only: which container a process of a pod with several runs in.
//! - the kubelet's device checkpoint: pod uids. Without it they come from the names in `/var/log/pods`.
//! - the host's control group tree: which pods have ended, which kubelets before 1.34 still list.

pub mod answer;
pub mod assign;
pub mod cgroup;
pub mod checkpoint;
pub mod device_id;
pub mod host;
pub mod jobs;
pub mod join;
pub mod kubelet;
#[cfg(feature = "kubernetes-labels")]
pub mod labels;
pub mod names;
pub mod own_pod;
pub mod pod_info;
pub mod processes;
pub mod resources;

use gpu_model::{ContainerName, Namespace, PodName, PodUid};

use device_id::DeviceRef;

/// A device that a container was given, as the kubelet tells it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    pub namespace: Namespace,
    pub pod: PodName,
    pub container: ContainerName,
    /// The kubelet's answer has none; it comes from elsewhere on the node.
    pub uid: Option<PodUid>,
    pub device: DeviceRef,
    pub given: Given,
}

/// How much of a device, or of a slice of it, a container was given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Given {
    /// All of it, and nobody else any.
    Alone,
    /// One of several names of it, as the device plugin numbers them.
    Replica(String),
    /// A claim on it; with a share, others have theirs.
    Claim { claim: String, share: Option<String> },
}

/// Whom a process belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessOwner {
    /// A container of a pod, as far as it could be named.
    Pod {
        uid: Option<PodUid>,
        pod: Option<(Namespace, PodName)>,
        container: Option<ContainerName>,
    },
    /// Its control group was read, and it is of no pod.
    Outside,
    /// Its control group could not be read.
    Unreadable,
}

/// Whether the driver shows the exporter every process of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The exporter runs in the host's process namespace: a process that is not listed does not exist.
    Host,
    /// It runs in one of its own, where the driver hides the others: an empty list proves nothing.
    Own,
}

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

pub mod cgroup;
pub mod device_id;
pub mod resources;

//! The objects of Kubernetes as a kubelet would write them.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::{GROUP_LABEL, NodeSpec};

/// The kubelet's own default.
const LEASE_SECONDS: u32 = 40;

/// The time with whole seconds, as the API wants it.
pub(super) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The time with microseconds, as leases have it.
fn now_precisely() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A node that is ready from its first moment.
pub(super) fn node(name: &str, group: &str, address: &Ipv4Addr, spec: &NodeSpec) -> Node {
    let mut labels = spec.labels.clone();
    for (label, value) in [
        (GROUP_LABEL, group),
        ("kubernetes.io/hostname", name),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
    ] {
        labels.insert(label.to_owned(), value.to_owned());
    }
    let resources = spec.first_resources();
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": spec.taints, "providerID": spec.provider_id},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": ready_conditions(),
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": name,
                "containerRuntimeVersion": "containerd://2.1.0",
                "kernelVersion": "6.12.0",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.36.3",
                "machineID": name,
                "operatingSystem": "linux",
                "osImage": "fake node of the test bed",
                "systemUUID": name,
            },
        },
    }))
    .expect("the object above is a node")
}

/// The conditions of a healthy node.
pub(super) fn ready_conditions() -> Value {
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "the fake node says so",
            "lastHeartbeatTime": now(),
            "lastTransitionTime": now(),
        })
    };
    json!([
        condition("Ready", "True", "KubeletReady"),
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
    ])
}

/// The lease by which a node says that it lives.
pub(super) fn lease(node: &str) -> Lease {
    serde_json::from_value(json!({
        "metadata": {"name": node},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now_precisely()},
    }))
    .expect("the object above is a lease")
}

/// What a renewal changes in a lease.
pub(super) fn lease_renewal() -> Value {
    json!({"spec": {"renewTime": now_precisely()}})
}

/// What changes in a node's status when its devices appear.
pub(super) fn devices(resource: &str, count: u32) -> Value {
    let amount = json!({resource: count.to_string()});
    json!({"status": {"capacity": amount, "allocatable": amount}})
}

//! The files that the node's programs read: containerd, its network and the kubelet. Values in, text out.

use std::path::Path;

use serde_json::json;

/// The name of the node, of which there is one.
pub const NODE_NAME: &str = "real-node";

/// Where containerd listens, in the node's private `/run`.
pub(super) const CONTAINERD_SOCKET: &str = "/run/containerd/containerd.sock";

/// The image of the process that holds a pod's namespaces.
pub const PAUSE_IMAGE: &str = "docker.io/gpu-autoscaler/testbed-pause:1";

/// The addresses of pods.
const POD_RANGE: &str = "10.244.0.0/24";

/// The addresses of Services.
pub(super) const SERVICE_RANGE: &str = "10.96.0.0/16";

/// containerd with all its files below `root`, except the sockets in the node's private `/run`.
pub(super) fn containerd(root: &Path, network: &Path, plugins: &Path) -> String {
    let (root, network, plugins) = (root.display(), network.display(), plugins.display());
    // The machine may lack the right to lower a container's out-of-memory score, so runc must not try.
    format!(
        r#"version = 2
root = "{root}"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{network}"
"#
    )
}

/// A bridge whose addresses the node reaches directly. It does not hide pods behind the node's address, so a server
/// sees who asks.
pub(super) fn network() -> String {
    json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": true,
            "ipMasq": false,
            "hairpinMode": true,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": POD_RANGE}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
    .to_string()
}

/// The kubelet's configuration. Pods live below `group` in every hierarchy of control groups.
pub(super) fn kubelet(group: &str) -> String {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD_SOCKET}"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": group,
        "enforceNodeAllocatable": [],
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        // The machine's name server cannot be reached from the node's network.
        "resolvConf": "",
        // Only the node's own network reaches the kubelet, and only the API server asks it.
        "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
        // Tests wait for changes of the node's status; the default would make them wait ten seconds.
        "nodeStatusUpdateFrequency": "1s",
        "syncFrequency": "5s",
        // A machine with a full disk must not lose its pods in the middle of a test.
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
    })
    .to_string()
}

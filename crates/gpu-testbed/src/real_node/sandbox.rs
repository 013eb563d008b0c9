//! The walls of a real node: namespaces, private directories, addresses and control groups.
//!
//! Everything of it is a thing that the kernel takes away with the last process of the node, or that bears the bed's
//! name and is removed by the warden.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::settings::SERVICE_RANGE;
use crate::warden::BED_VARIABLE;
use crate::{Bed, PartSpec};

/// Starts the warden as the first process of new namespaces. When it ends, the kernel kills every process of the
/// node, containers and their shims included, and drops its mounts and its network.
pub(super) const PREFIX: [&str; 9] = [
    "unshare",
    "--mount",
    "--net",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    "--propagation",
    "private",
];

/// The node's address. It lives on the loopback device of the namespace, so that no other device is needed.
pub(super) const NODE_ADDRESS: &str = "172.31.255.1";

/// Directories of the machine that the node's programs write to by fixed names. The node sees empty ones instead.
const HIDDEN: [&str; 3] = ["/var/lib", "/var/log", "/run"];

/// The kubelet's root directory, whose name is part of the device plugin interface. It is a directory of the bed, so
/// that its sockets can be reached from outside.
pub(super) const KUBELET_ROOT: &str = "/var/lib/kubelet";

/// Half a dozen system calls; a loaded machine takes a little longer.
const SET_UP_WITHIN: Duration = Duration::from_secs(30);

/// Makes the walls. The warden must have been started by [`PREFIX`].
pub(super) async fn set_up(bed: &Bed, kubelet_root: &Path) -> anyhow::Result<()> {
    for hidden in HIDDEN {
        if bed.directory().starts_with(hidden) {
            bail!("the bed lies below `{hidden}`, which a real node hides; set TMPDIR to another place");
        }
    }
    let script = script(kubelet_root);
    bed.run(
        PartSpec::new("sandbox", "/bin/sh").args(["-euc", &script]),
        SET_UP_WITHIN,
    )
    .await
    .context("failed to set up the namespaces of the real node")?;
    Ok(())
}

/// The kubelet, kube-proxy and containerd start iptables, runc and others by name, and the path of a user who became
/// root often lacks the directories of the administrator's programs.
pub(super) fn with_system_path(spec: PartSpec) -> PartSpec {
    let path = std::env::var("PATH").unwrap_or_default();
    spec.env(
        "PATH",
        format!("{path}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"),
    )
}

fn script(kubelet_root: &Path) -> String {
    let mut lines: Vec<String> = HIDDEN
        .iter()
        .map(|directory| format!("mount -t tmpfs -o mode=755 tmpfs {directory}"))
        .collect();
    lines.extend([
        format!("mkdir -p {KUBELET_ROOT} /run/containerd"),
        format!("mount --bind '{}' {KUBELET_ROOT}", kubelet_root.display()),
        // As on a machine with systemd: mounts of the kubelet reach containers that ask for propagation. The
        // namespace was made private before, so nothing reaches the machine.
        "mount --make-rshared /".to_owned(),
        "ip link set lo up".to_owned(),
        format!("ip address add {NODE_ADDRESS}/32 dev lo"),
        // The kernel looks for a route before kube-proxy's rules replace a Service's address by a pod's.
        format!("ip route add {SERVICE_RANGE} dev lo src {NODE_ADDRESS}"),
        "echo 1 > /proc/sys/net/ipv4/ip_forward".to_owned(),
    ]);
    lines.join("\n")
}

/// Makes the control group under which the kubelet puts all pods, in every hierarchy, and lets the warden own them.
/// Answers with the group's name below each root.
pub(super) fn make_control_groups(bed: &Bed) -> anyhow::Result<String> {
    let name = bed.id().directory_name();
    let hierarchies = hierarchies();
    if hierarchies.is_empty() {
        bail!("no control groups are mounted");
    }
    for root in hierarchies {
        let group = root.join(&name);
        // Owned before it is made, so that no moment is left in which a kill would leave it behind.
        bed.own_cgroup(&group)?;
        std::fs::create_dir(&group)
            .with_context(|| format!("failed to make control group `{}`", group.display()))?;
    }
    Ok(format!("/{name}"))
}

/// Where hierarchies of control groups are mounted: one for version 2, one per controller for version 1, or both.
fn hierarchies() -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    table
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (point, kind) = (words.next()?, words.next()?);
            matches!(kind, "cgroup" | "cgroup2").then(|| PathBuf::from(point))
        })
        .collect()
}

/// The process ids, as the machine sees them, of everything in a pod's control groups.
pub(super) fn processes_of_pod(group: &str, pod_uid: &str) -> Vec<i32> {
    let pod = format!("/pod{pod_uid}/");
    let prefix = format!("{group}/");
    let mut found: Vec<i32> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
            groups
                .lines()
                .filter_map(|line| line.splitn(3, ':').nth(2))
                .any(|path| path.starts_with(&prefix) && path.contains(&pod))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Whether a kubelet that belongs to no bed runs here or has left its state: such a machine is a node already.
pub(super) fn kubelet_lives_here() -> bool {
    let has_state = std::fs::read_dir(KUBELET_ROOT).is_ok_and(|mut entries| entries.next().is_some());
    let runs = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .any(|process| {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let of_a_bed = environment
                .split(|byte| *byte == 0)
                .any(|entry| entry.starts_with(BED_VARIABLE.as_bytes()));
            // One that starts or ends has a name and no environment yet or any more: a bed's, since nobody else's comes and
            // goes while tests run.
            name.trim_end() == "kubelet" && !of_a_bed && !environment.is_empty()
        });
    has_state || runs
}

//! Which programs the parts of a bed are, and where they are found.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::cache_layout::{ProgramSet, cache_directory};

/// A program that a part may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant is the program of that name")]
pub enum Program {
    Alertmanager,
    Chromium,
    CniBridge,
    CniHostLocal,
    CniLoopback,
    Conntrack,
    Containerd,
    ContainerdShim,
    Ctr,
    Etcd,
    Helm,
    Initdb,
    Ip,
    Iptables,
    KubeApiserver,
    KubeControllerManager,
    KubeProxy,
    KubeScheduler,
    Kubectl,
    Kubelet,
    MotoServer,
    Nsenter,
    Postgres,
    Prometheus,
    Promtool,
    Runc,
    Unshare,
}

impl Program {
    /// The name of its file.
    pub fn file_name(self) -> &'static str {
        match self {
            // Debian renames it, because the plain name was taken.
            Self::Alertmanager => "prometheus-alertmanager",
            Self::Chromium => "chromium",
            Self::CniBridge => "bridge",
            Self::CniHostLocal => "host-local",
            Self::CniLoopback => "loopback",
            Self::Conntrack => "conntrack",
            Self::Containerd => "containerd",
            Self::ContainerdShim => "containerd-shim-runc-v2",
            Self::Ctr => "ctr",
            Self::Etcd => "etcd",
            Self::Helm => "helm",
            Self::Initdb => "initdb",
            Self::Ip => "ip",
            Self::Iptables => "iptables",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeProxy => "kube-proxy",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kubelet => "kubelet",
            Self::MotoServer => "moto_server",
            Self::Nsenter => "nsenter",
            Self::Postgres => "postgres",
            Self::Prometheus => "prometheus",
            Self::Promtool => "promtool",
            Self::Runc => "runc",
            Self::Unshare => "unshare",
        }
    }

    /// The set of the cache that holds it, for programs that no package brings.
    fn set(self) -> Option<ProgramSet> {
        match self {
            Self::KubeApiserver
            | Self::KubeControllerManager
            | Self::KubeProxy
            | Self::KubeScheduler
            | Self::Kubectl
            | Self::Kubelet => Some(ProgramSet::Kubernetes),
            Self::Helm => Some(ProgramSet::Helm),
            Self::MotoServer => Some(ProgramSet::Moto),
            Self::Alertmanager
            | Self::Chromium
            | Self::CniBridge
            | Self::CniHostLocal
            | Self::CniLoopback
            | Self::Conntrack
            | Self::Containerd
            | Self::ContainerdShim
            | Self::Ctr
            | Self::Etcd
            | Self::Initdb
            | Self::Ip
            | Self::Iptables
            | Self::Nsenter
            | Self::Postgres
            | Self::Prometheus
            | Self::Promtool
            | Self::Runc
            | Self::Unshare => None,
        }
    }

    /// Looks for the program: in `KUBEBUILDER_ASSETS`, the cache, the search path, and where Debian puts programs
    /// that are not on everybody's path.
    pub fn find(self) -> Option<PathBuf> {
        if matches!(self, Self::CniBridge | Self::CniHostLocal | Self::CniLoopback) {
            // Not on the search path: another program of the name `bridge` belongs to every system.
            return CNI_DIRECTORIES
                .iter()
                .map(|directory| Path::new(directory).join(self.file_name()))
                .find(|file| is_program(file));
        }
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        let cached = self
            .set()
            .zip(cache_directory())
            .and_then(|(set, cache)| set.programs_in(&cache));
        let path = std::env::var_os("PATH").unwrap_or_default();
        assets
            .into_iter()
            .chain(cached)
            .chain(std::env::split_paths(&path))
            .chain(debian_directories())
            .map(|directory| directory.join(self.file_name()))
            .find(|file| is_program(file))
    }

    /// As [`Self::find`], with an error that says what to do.
    pub fn path(self) -> Result<PathBuf, ProgramMissing> {
        self.find().ok_or(ProgramMissing { program: self })
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file_name())
    }
}

/// A program is neither installed nor in the cache.
#[derive(Debug, thiserror::Error)]
#[error("failed to find the program `{program}`; `cargo xtask prepare` gets all programs of the test bed")]
pub struct ProgramMissing {
    program: Program,
}

/// Where Debian and where the project itself put network plugins.
const CNI_DIRECTORIES: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];

fn debian_directories() -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        .map(PathBuf::from)
        .into();
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut servers: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    // The newest server first.
    servers.sort();
    servers.reverse();
    directories.extend(servers);
    directories
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

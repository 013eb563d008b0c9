//! What a node's own files tell of its pods: which uid has which name, which container id has which name, and which pods
//! are alive. From names of files and directories alone; nothing of what is in a log is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gpu_model::{ContainerName, Namespace, PodName, PodUid};

use super::ProcessOwner;
use super::cgroup::{ContainerId, PodCgroup};
use super::checkpoint::Checkpoint;

/// A container by its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerNames {
    pub namespace: Namespace,
    pub pod: PodName,
    pub container: ContainerName,
}

/// Whether a pod that the kubelet lists still runs. Kubelets before 1.34 also list pods that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    /// No control group is left of it: it has released its devices.
    Ended,
    /// Nothing tells; it counts as alive.
    Unverified,
}

/// The pods of a node as its files name them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PodNames {
    pods: BTreeMap<PodUid, (Namespace, PodName)>,
    uids: BTreeMap<(Namespace, PodName), Vec<PodUid>>,
    containers: BTreeMap<ContainerId, ContainerNames>,
    checkpoint: Arc<Checkpoint>,
    /// The pods that have a control group, where the tree can be read.
    alive: Option<BTreeSet<PodUid>>,
}

impl PodNames {
    /// Takes a directory of `/var/log/pods` over: `<namespace>_<pod>_<uid>`.
    pub fn add_pod_directory(&mut self, name: &str) {
        let mut parts = name.splitn(3, '_');
        let (Some(namespace), Some(pod), Some(uid)) = (parts.next(), parts.next(), parts.next()) else {
            return;
        };
        let (Ok(namespace), Ok(pod), Ok(uid)) =
            (Namespace::new(namespace), PodName::new(pod), PodUid::new(uid))
        else {
            return;
        };
        let uids = self.uids.entry((namespace.clone(), pod.clone())).or_default();
        if !uids.contains(&uid) {
            uids.push(uid.clone());
        }
        self.pods.insert(uid, (namespace, pod));
    }

    /// Takes a link of `/var/log/containers` over: `<pod>_<namespace>_<container>-<id>.log`.
    pub fn add_container_link(&mut self, name: &str) {
        let found = name.strip_suffix(".log").and_then(|name| {
            let (names, id) = name.rsplit_once('-')?;
            let mut parts = names.splitn(3, '_');
            let pod = PodName::new(parts.next()?).ok()?;
            let namespace = Namespace::new(parts.next()?).ok()?;
            let container = ContainerName::new(parts.next()?).ok()?;
            let names = ContainerNames {
                namespace,
                pod,
                container,
            };
            Some((ContainerId::new(id)?, names))
        });
        self.containers.extend(found);
    }

    pub fn set_checkpoint(&mut self, checkpoint: Arc<Checkpoint>) {
        self.checkpoint = checkpoint;
    }

    /// Takes the pods over that have a control group. A tree without a single pod proves nothing: it may be another's.
    pub fn set_alive(&mut self, alive: BTreeSet<PodUid>) {
        self.alive = Some(alive).filter(|alive| !alive.is_empty());
    }

    /// The uid of a pod that holds a device, and whether it still runs. The device's holders in the checkpoint count first;
    /// what the pod is called in `/var/log/pods` counts where the checkpoint is silent.
    pub fn identify(&self, holder: &HolderKey<'_>) -> (Option<PodUid>, Liveness) {
        let name = (holder.namespace.clone(), holder.pod.clone());
        let recorded = holder.device.map_or(&[][..], |(resource, id)| {
            self.checkpoint.pods(resource, id, holder.container.as_str())
        });
        let mut candidates: Vec<&PodUid> = recorded
            .iter()
            .filter(|uid| self.pods.get(*uid).is_none_or(|known| *known == name))
            .collect();
        if candidates.is_empty() {
            candidates.extend(self.uids.get(&name).into_iter().flatten());
        }
        let liveness = match &self.alive {
            _ if candidates.is_empty() => Liveness::Unverified,
            None => Liveness::Unverified,
            Some(alive) => {
                candidates.retain(|uid| alive.contains(*uid));
                match candidates.is_empty() {
                    true => Liveness::Ended,
                    false => Liveness::Alive,
                }
            }
        };
        let uid = match candidates[..] {
            [only] => Some(only.clone()),
            _ => None,
        };
        (uid, liveness)
    }

    /// Whether the pod is proven to have ended.
    pub fn has_ended(&self, uid: &PodUid) -> bool {
        self.alive.as_ref().is_some_and(|alive| !alive.contains(uid))
    }

    /// Whom a process belongs to, by what its control group says.
    pub fn owner(&self, cgroup: Option<&PodCgroup>) -> ProcessOwner {
        let Some(cgroup) = cgroup else {
            return ProcessOwner::Outside;
        };
        let container = cgroup.container.as_ref().and_then(|id| self.containers.get(id));
        // A container engine beside Kubernetes has container ids too; only those of pods are linked.
        if cgroup.uid.is_none() && container.is_none() {
            return ProcessOwner::Outside;
        }
        let by_uid = cgroup.uid.as_ref().and_then(|uid| self.pods.get(uid)).cloned();
        let pod = by_uid.or_else(|| container.map(|names| (names.namespace.clone(), names.pod.clone())));
        ProcessOwner::Pod {
            uid: cgroup.uid.clone(),
            pod,
            container: container.map(|names| names.container.clone()),
        }
    }
}

/// What the kubelet says of a holder.
#[derive(Debug, Clone, Copy)]
pub struct HolderKey<'a> {
    pub namespace: &'a Namespace,
    pub pod: &'a PodName,
    pub container: &'a ContainerName,
    /// Resource and id of a device plugin's device; a claim has none.
    pub device: Option<(&'a str, &'a str)>,
}

#[cfg(test)]
mod tests;

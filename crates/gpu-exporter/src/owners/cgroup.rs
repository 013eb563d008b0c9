//! From the text of `/proc/<pid>/cgroup` to the pod and the container that the process runs in, for control groups of
//! version 1, 2 and both at once, under both of the kubelet's drivers and the three common runtimes.

use std::fmt;
use std::sync::Arc;

use gpu_model::PodUid;

/// The runtime's id of a container, 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId(Arc<str>);

impl ContainerId {
    /// The id, if the text is one.
    pub fn new(text: &str) -> Option<Self> {
        is_container_id(text).then(|| Self(Arc::from(text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Who started a container, where the control group's name says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    Containerd,
    CriO,
    Docker,
}

/// What the control groups of a process tell. At least one of the two ids is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodCgroup {
    /// Absent where only a container shows: outside of Kubernetes, or beside ourselves in a private view of the tree.
    pub uid: Option<PodUid>,
    /// Absent for a process of the pod's own group, which no container has.
    pub container: Option<ContainerId>,
    /// Absent under the `cgroupfs` driver, where a container's group is the bare id.
    pub runtime: Option<Runtime>,
}

/// The pod and container of a process. `None` is a process of the host.
///
/// Groups below the container's own (systemd or another container engine inside it) belong to the container. Of pods
/// inside of pods the outermost counts: that is the one which this node's kubelet knows.
pub fn parse(text: &str) -> Option<PodCgroup> {
    // Version 1 has a line for each hierarchy, and in hybrid set-ups some of them know nothing of pods.
    let best = text
        .lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .filter_map(Found::in_path)
        .reduce(|best, next| if next.rank() > best.rank() { next } else { best })?;
    best.into_owned()
}

/// What was found in one path, still in the text.
#[derive(Clone, Copy)]
struct Found<'a> {
    uid: Option<&'a str>,
    container: Option<(&'a str, Option<Runtime>)>,
}

impl<'a> Found<'a> {
    fn in_path(path: &'a str) -> Option<Self> {
        // Seen from a private view, the way to others leads up first and may spare the tree's name.
        let mut in_tree = path.starts_with("/..");
        let mut segments = path.split('/');
        while let Some(segment) = segments.next() {
            in_tree |= segment.contains("kubepods");
            let Some((uid, rest)) = pod_of(segment).filter(|_| in_tree) else {
                continue;
            };
            // A runtime that was told the wrong driver writes `<slice>:cri-containerd:<id>` into one segment.
            let container = if rest.is_empty() {
                segments.next().and_then(container_of)
            } else {
                container_of(rest)
            };
            return Some(Self {
                uid: Some(uid),
                container,
            });
        }
        let container = path.split('/').find_map(container_of)?;
        Some(Self {
            uid: None,
            container: Some(container),
        })
    }

    fn rank(&self) -> u8 {
        2 * u8::from(self.uid.is_some()) + u8::from(self.container.is_some())
    }

    fn into_owned(self) -> Option<PodCgroup> {
        let uid = match self.uid {
            Some(text) => Some(pod_uid(text)?),
            None => None,
        };
        let (id, runtime) = self.container.unzip();
        Some(PodCgroup {
            uid,
            container: id.and_then(ContainerId::new),
            runtime: runtime.flatten(),
        })
    }
}

/// The pod uid in the name of a pod's control group, whatever the driver.
pub fn uid_of_group(name: &str) -> Option<PodUid> {
    let (uid, rest) = pod_of(name)?;
    rest.is_empty().then(|| pod_uid(uid)).flatten()
}

/// The uid in a segment and what follows the pod's part of it: `pod<uid>` or `kubepods-burstable-pod<uid>.slice`.
fn pod_of(segment: &str) -> Option<(&str, &str)> {
    if let Some(uid) = segment.strip_prefix("pod") {
        return is_uid(uid).then_some((uid, ""));
    }
    let (slice, rest) = segment.split_once(".slice")?;
    let (before, uid) = slice.rsplit_once("-pod")?;
    let named = before.ends_with("kubepods")
        || before.ends_with("kubepods-burstable")
        || before.ends_with("kubepods-besteffort");
    (named && is_uid(uid)).then_some((uid, rest))
}

/// A container's segment: the bare id, `<runtime>-<id>.scope`, `crio-<id>`, or `:cri-containerd:<id>`.
fn container_of(segment: &str) -> Option<(&str, Option<Runtime>)> {
    let name = segment.strip_suffix(".scope").unwrap_or(segment);
    if is_container_id(name) {
        return Some((name, None));
    }
    let (runtime, id) = name.rsplit_once(['-', ':'])?;
    let runtime = match runtime.trim_start_matches(':') {
        "cri-containerd" => Runtime::Containerd,
        "crio" => Runtime::CriO,
        "docker" => Runtime::Docker,
        // `crio-conmon` watches over the container and is not in it.
        _ => return None,
    };
    is_container_id(id).then_some((id, Some(runtime)))
}

const UUID_LENGTH: usize = 36;

/// A uuid, with underscores where systemd needs the dash, or the hash that names a static pod.
fn is_uid(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    match text.len() {
        UUID_LENGTH => text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-' || byte == b'_',
            _ => is_digit(byte),
        }),
        32 => text.bytes().all(is_digit),
        _ => false,
    }
}

fn is_container_id(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The uid as Kubernetes writes it. The text has passed `is_uid`.
fn pod_uid(text: &str) -> Option<PodUid> {
    let mut dashed = [0; UUID_LENGTH];
    let dashed = dashed.get_mut(..text.len())?;
    for (to, from) in dashed.iter_mut().zip(text.bytes()) {
        *to = if from == b'_' { b'-' } else { from };
    }
    PodUid::new(std::str::from_utf8(dashed).ok()?).ok()
}

#[cfg(test)]
mod tests;

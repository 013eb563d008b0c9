//! Trees of files as nodes have them.

use std::fs;
use std::path::Path;

use gpu_model::{ContainerName, Namespace, PodName};

use super::{HostFiles, HostPaths, READS_BETWEEN_SEARCHES, Unreadable};
use crate::owners::names::{HolderKey, Liveness, PodNames};

const A: &str = "0f4c6a9e-2b1d-4c3e-8f5a-6b7c8d9e0f1a";
const B: &str = "1f4c6a9e-2b1d-4c3e-8f5a-6b7c8d9e0f1b";

fn paths(root: &Path) -> HostPaths {
    HostPaths {
        checkpoint: root.join("checkpoint"),
        pod_logs: root.join("pods"),
        container_logs: root.join("containers"),
        cgroups: root.join("sys/fs/cgroup"),
    }
}

fn directory(root: &Path, path: &str) {
    fs::create_dir_all(root.join(path)).unwrap();
}

fn liveness(names: &PodNames, pod: &str) -> Liveness {
    let (namespace, pod) = (Namespace::new("ml").unwrap(), PodName::new(pod).unwrap());
    let container = ContainerName::new("main").unwrap();
    let key = HolderKey {
        namespace: &namespace,
        pod: &pod,
        container: &container,
        device: None,
    };
    names.identify(&key).1
}

/// In every layout pod `a` lives and pod `b` has ended.
#[track_caller]
fn check_tree(groups: &[&str]) {
    let root = tempfile::tempdir().unwrap();
    directory(root.path(), &format!("pods/ml_a_{A}"));
    directory(root.path(), &format!("pods/ml_b_{B}"));
    for group in groups {
        let group = group.replace("{a}", A).replace("{a_}", &A.replace('-', "_"));
        directory(root.path(), &format!("sys/fs/cgroup/{group}"));
    }
    let (names, unreadable) = HostFiles::new(paths(root.path())).read();
    assert!(!unreadable.contains(&Unreadable::Cgroups), "{groups:?}");
    assert_eq!(
        (liveness(&names, "a"), liveness(&names, "b")),
        (Liveness::Alive, Liveness::Ended)
    );
}

#[test]
fn the_tree_is_found_in_every_layout() {
    check_tree(&["kubepods/pod{a}/x"]);
    check_tree(&["system.slice/x", "kubepods/burstable/pod{a}/x"]);
    check_tree(&["kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{a_}.slice"]);
    check_tree(&[
        "cpu,cpuacct/kubepods/besteffort/pod{a}",
        "memory/kubepods/besteffort/pod{a}",
    ]);
    check_tree(&["kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{a_}.slice"]);
    check_tree(&["memory/test/node/kubepods/pod{a}", "memory/kubepods"]);
}

#[test]
fn a_tree_that_goes_is_searched_for_again() {
    let root = tempfile::tempdir().unwrap();
    directory(root.path(), &format!("pods/ml_a_{A}"));
    directory(root.path(), &format!("sys/fs/cgroup/kubepods/pod{A}"));
    let mut files = HostFiles::new(paths(root.path()));
    assert_eq!(liveness(&files.read().0, "a"), Liveness::Alive);
    fs::remove_dir_all(root.path().join("sys/fs/cgroup/kubepods")).unwrap();
    let slice = format!(
        "sys/fs/cgroup/kubepods.slice/kubepods-pod{}.slice",
        A.replace('-', "_")
    );
    directory(root.path(), &slice);
    let found = (0..=READS_BETWEEN_SEARCHES + 1)
        .map(|_| liveness(&files.read().0, "a"))
        .find(|liveness| *liveness == Liveness::Alive);
    assert_eq!(found, Some(Liveness::Alive));
}

#[test]
fn what_is_not_there_is_said() {
    let root = tempfile::tempdir().unwrap();
    let mut files = HostFiles::new(paths(root.path()));
    let (names, unreadable) = files.read();
    assert_eq!(names, PodNames::default());
    let words: Vec<&str> = unreadable.iter().map(|what| what.as_str()).collect();
    assert_eq!(words, ["checkpoint", "pod_logs", "container_logs", "cgroups"]);
}

#[test]
fn a_checkpoint_that_changes_is_read_again() {
    let root = tempfile::tempdir().unwrap();
    let mut files = HostFiles::new(paths(root.path()));
    for uid in ["u1", "u22"] {
        let entry = format!(
            r#"{{"Data":{{"PodDeviceEntries":[{{"PodUID":"{uid}","ContainerName":"main","ResourceName":"r","DeviceIDs":{{"0":["d"]}}}}]}}}}"#
        );
        fs::write(root.path().join("checkpoint"), entry).unwrap();
        let (names, _) = files.read();
        let (namespace, pod) = (Namespace::new("ml").unwrap(), PodName::new("a").unwrap());
        let container = ContainerName::new("main").unwrap();
        let key = HolderKey {
            namespace: &namespace,
            pod: &pod,
            container: &container,
            device: Some(("r", "d")),
        };
        assert_eq!(names.identify(&key).0.unwrap().as_str(), uid);
    }
    fs::write(root.path().join("checkpoint"), "{").unwrap();
    assert!(files.read().1.contains(&Unreadable::Checkpoint));
}

//! Files' names and what they tell.

use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_model::{ContainerName, Namespace, PodName, PodUid};
use proptest::prelude::*;

use super::{HolderKey, Liveness, PodNames};
use crate::owners::cgroup::parse;
use crate::owners::checkpoint::Checkpoint;

const ID: &str = "3f1e5d7c9b8a7f6e5d4c3b2a190817263f4e5d6c7b8a9f0e1d2c3b4a59687706";
const UID: &str = "0f4c6a9e-2b1d-4c3e-8f5a-6b7c8d9e0f1a";

fn names(directories: &[&str], checkpoint: &[&str], alive: Option<&[&str]>) -> PodNames {
    let mut names = PodNames::default();
    for directory in directories {
        names.add_pod_directory(directory);
    }
    let entries: Vec<String> = checkpoint
        .iter()
        .map(|uid| {
            format!(
                r#"{{"PodUID":"{uid}","ContainerName":"main","ResourceName":"r","DeviceIDs":{{"0":["d"]}}}}"#
            )
        })
        .collect();
    let file = format!(r#"{{"Data":{{"PodDeviceEntries":[{}]}}}}"#, entries.join(","));
    names.set_checkpoint(Arc::new(Checkpoint::parse(file.as_bytes()).unwrap()));
    if let Some(alive) = alive {
        let alive: BTreeSet<PodUid> = alive.iter().map(|uid| PodUid::new(uid).unwrap()).collect();
        names.set_alive(alive);
    }
    names
}

/// Who the container `main` of `ml/a` is, which holds the device `d`.
#[track_caller]
fn check(names: &PodNames, uid: Option<&str>, liveness: Liveness) {
    let (namespace, pod) = (Namespace::new("ml").unwrap(), PodName::new("a").unwrap());
    let container = ContainerName::new("main").unwrap();
    let key = HolderKey {
        namespace: &namespace,
        pod: &pod,
        container: &container,
        device: Some(("r", "d")),
    };
    let found = names.identify(&key);
    assert_eq!(
        (found.0.as_ref().map(|uid| uid.as_str()), found.1),
        (uid, liveness)
    );
}

#[test]
fn the_checkpoint_tells_the_uid() {
    check(&names(&[], &["u1"], None), Some("u1"), Liveness::Unverified);
    check(&names(&[], &["u1"], Some(&["u1"])), Some("u1"), Liveness::Alive);
    // The device had another holder, who has ended.
    check(
        &names(&[], &["u1", "u2"], Some(&["u2", "u3"])),
        Some("u2"),
        Liveness::Alive,
    );
    check(&names(&[], &["u1", "u2"], None), None, Liveness::Unverified);
    // The record is of another pod: a log directory says so.
    check(
        &names(&["ml_b_u1", "ml_a_u2"], &["u1"], None),
        Some("u2"),
        Liveness::Unverified,
    );
}

#[test]
fn log_directories_tell_the_uid_where_the_checkpoint_is_silent() {
    check(&names(&["ml_a_u1"], &[], None), Some("u1"), Liveness::Unverified);
    check(
        &names(&["ml_a_u1", "ml_a_u2"], &[], None),
        None,
        Liveness::Unverified,
    );
    check(
        &names(&["ml_a_u1", "ml_a_u2"], &[], Some(&["u2"])),
        Some("u2"),
        Liveness::Alive,
    );
}

#[test]
fn a_pod_without_a_control_group_has_ended() {
    check(&names(&[], &["u1"], Some(&["u9"])), None, Liveness::Ended);
    check(&names(&["ml_a_u1"], &[], Some(&["u9"])), None, Liveness::Ended);
    // Nothing names the pod, or the tree shows no pod at all: that is no proof.
    check(&names(&[], &[], Some(&["u9"])), None, Liveness::Unverified);
    check(&names(&[], &["u1"], Some(&[])), Some("u1"), Liveness::Unverified);
}

#[test]
fn strange_names_are_passed_over() {
    let mut names = PodNames::default();
    for name in ["", "_", "__", "a_b", "lost+found", "a__c"] {
        names.add_pod_directory(name);
        names.add_container_link(name);
        names.add_container_link(&format!("{name}.log"));
        names.add_container_link(&format!("{name}-{ID}.log"));
    }
    assert_eq!(names, PodNames::default());
}

#[track_caller]
fn check_owner(cgroup: &str, expected: &str) {
    let mut names = PodNames::default();
    names.add_pod_directory(&format!("ml_a_{UID}"));
    names.add_container_link(&format!("a_ml_side-car-{ID}.log"));
    let cgroup = cgroup.replace("{uid}", UID).replace("{id}", ID);
    let owner = names.owner(parse(&cgroup).as_ref());
    assert_eq!(format!("{owner:?}"), expected.replace("{uid}", UID));
}

#[test]
fn processes_get_their_names() {
    let pod = r#"Pod { uid: Some("{uid}"), pod: Some(("ml", "a")), container: "#;
    check_owner(
        "0::/kubepods/pod{uid}/{id}",
        &format!(r#"{pod}Some("side-car") }}"#),
    );
    check_owner("0::/kubepods/pod{uid}", &format!("{pod}None }}"));
    check_owner(
        "0::/../{id}",
        r#"Pod { uid: None, pod: Some(("ml", "a")), container: Some("side-car") }"#,
    );
    check_owner(
        "0::/kubepods/pod00000000-2b1d-4c3e-8f5a-6b7c8d9e0f1a",
        r#"Pod { uid: Some("00000000-2b1d-4c3e-8f5a-6b7c8d9e0f1a"), pod: None, container: None }"#,
    );
    let other = ID.replace('3', "4");
    check_owner(&format!("0::/docker/{other}"), "Outside");
    check_owner("0::/init.scope", "Outside");
}

proptest! {
    #[test]
    fn fuzz_no_name_breaks_the_parser(name in "[a-z_.é-]{0,80}(-[0-9a-f]{64})?(\\.log)?") {
        let mut names = PodNames::default();
        names.add_pod_directory(&name);
        names.add_container_link(&name);
    }
}

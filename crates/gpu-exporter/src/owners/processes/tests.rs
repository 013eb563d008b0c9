//! A `/proc` in a temporary directory, whose processes come, go and change.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::{Processes, start_of};
use crate::owners::Sight;
use crate::owners::names::PodNames;

const UID: &str = "0f4c6a9e-2b1d-4c3e-8f5a-6b7c8d9e0f1a";

fn write(root: &Path, pid: u32, started: u64, cgroup: &str) {
    let directory = root.join(pid.to_string());
    fs::create_dir_all(&directory).unwrap();
    let fields = "S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0";
    fs::write(
        directory.join("stat"),
        format!("{pid} (a) b (c) {fields} {started} 0 0\n"),
    )
    .unwrap();
    fs::write(directory.join("cgroup"), cgroup).unwrap();
}

#[track_caller]
fn check(processes: &mut Processes, names: &PodNames, expected: &str) {
    let resolved = processes.resolve([7], names);
    assert_eq!(
        format!("{:?}", resolved.owners[&7]),
        expected.replace("{uid}", UID)
    );
}

#[test]
fn a_process_is_known_until_it_is_another() {
    let root = tempfile::tempdir().unwrap();
    let mut processes = Processes::new(root.path().to_path_buf(), Sight::Host);
    let mut names = PodNames::default();
    check(&mut processes, &names, "Unreadable");

    write(root.path(), 7, 100, &format!("0::/kubepods/pod{UID}"));
    check(
        &mut processes,
        &names,
        r#"Pod { uid: Some("{uid}"), pod: None, container: None }"#,
    );
    names.add_pod_directory(&format!("ml_a_{UID}"));
    let named = r#"Pod { uid: Some("{uid}"), pod: Some(("ml", "a")), container: None }"#;
    check(&mut processes, &names, named);

    // The same process is not read again, so the new text is not noticed; another process with its id is.
    write(root.path(), 7, 100, "0::/system.slice");
    check(&mut processes, &names, named);
    write(root.path(), 7, 101, "0::/system.slice");
    check(&mut processes, &names, "Outside");

    fs::remove_dir_all(root.path().join("7")).unwrap();
    check(&mut processes, &names, "Unreadable");
}

#[test]
fn a_process_that_moves_is_noticed_within_a_minute() {
    let root = tempfile::tempdir().unwrap();
    let mut processes = Processes::new(root.path().to_path_buf(), Sight::Host);
    let names = PodNames::default();
    write(root.path(), 7, 100, "0::/system.slice");
    check(&mut processes, &names, "Outside");
    write(root.path(), 7, 100, &format!("0::/kubepods/pod{UID}"));
    for _ in 1..super::CYCLES_TO_KEEP {
        check(&mut processes, &names, "Outside");
    }
    check(
        &mut processes,
        &names,
        r#"Pod { uid: Some("{uid}"), pod: None, container: None }"#,
    );
}

#[test]
fn what_is_remembered_is_bounded() {
    let root = tempfile::tempdir().unwrap();
    let mut processes = Processes::new(root.path().to_path_buf(), Sight::Host);
    let names = PodNames::default();
    for pid in 1..=100 {
        write(root.path(), pid, 1, "0::/");
    }
    assert_eq!(processes.resolve(1..=100, &names).unreadable, 0);
    assert_eq!(processes.known.len(), 100);
    assert_eq!(processes.resolve(50..=300, &names).unreadable, 200);
    assert_eq!(processes.known.len(), 51);
    processes.resolve([], &names);
    assert_eq!(processes.known.len(), 0);
}

#[test]
fn without_the_hosts_sight_no_process_is_looked_up() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), 7, 100, "0::/system.slice");
    let mut processes = Processes::new(root.path().to_path_buf(), Sight::Own);
    check(&mut processes, &PodNames::default(), "Unreadable");
    assert_eq!(super::sight(root.path()), Sight::Own);
}

#[test]
fn our_own_start_is_found() {
    let stat = fs::read("/proc/self/stat").unwrap();
    assert!(start_of(&stat).is_some_and(|started| started > 0));
    assert_eq!(start_of(b""), None);
    assert_eq!(start_of(b"7 (a) S 1"), None);
}

proptest! {
    #[test]
    fn fuzz_no_bytes_break_the_reader(stat in prop::collection::vec(any::<u8>(), 0..200)) {
        start_of(&stat);
    }
}

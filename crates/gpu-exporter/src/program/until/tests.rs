//! A `/proc` of our own: who is waited for, who is not, and when the wait is over.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{GONE_LOOKS, Others, UNSEEN};
use crate::settings::UntilProcess;

fn process(procfs: &Path, pid: u32, group: &str, command: &str) {
    let directory = procfs.join(pid.to_string());
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("cgroup"), format!("0::{group}\n")).unwrap();
    std::fs::write(directory.join("cmdline"), command.replace(' ', "\0")).unwrap();
    let base = command
        .split(' ')
        .next()
        .unwrap_or_default()
        .rsplit('/')
        .next()
        .unwrap_or_default();
    std::fs::write(directory.join("comm"), format!("{base}\n")).unwrap();
}

/// A pod whose first process is `pause` and in which the exporter has number 20.
fn pod() -> tempfile::TempDir {
    let procfs = tempfile::tempdir().unwrap();
    process(procfs.path(), 1, "/../pause", "/pause");
    process(procfs.path(), 20, "/", "/gpu-exporter");
    process(procfs.path(), 21, "/", "/gpu-exporter fetch");
    std::fs::create_dir(procfs.path().join("self")).unwrap();
    procfs
}

fn end(procfs: &Path, pid: u32) {
    std::fs::remove_dir_all(procfs.join(pid.to_string())).unwrap();
}

#[test]
fn it_ends_when_what_was_seen_is_gone() {
    let procfs = pod();
    let mut others = Others::new(UntilProcess::Others, procfs.path().to_owned(), 20).unwrap();
    let now = Instant::now();
    assert_eq!(others.look(now), None);
    process(procfs.path(), 30, "/../main", "python train.py");
    assert_eq!(others.look(now), None);
    // One process hands over to another.
    end(procfs.path(), 30);
    assert_eq!(others.look(now), None);
    process(procfs.path(), 31, "/../main", "python eval.py");
    assert_eq!(others.look(now), None);
    // It has ended and nobody has waited for it yet.
    process(procfs.path(), 31, "/../main", "");
    for _ in 1..GONE_LOOKS {
        assert_eq!(others.look(now), None);
    }
    assert_eq!(others.look(now), Some("its processes are gone"));
}

#[test]
fn a_name_is_waited_for_beside_other_containers() {
    let procfs = pod();
    let wanted = UntilProcess::Named("python3".to_owned());
    let mut others = Others::new(wanted, procfs.path().to_owned(), 20).unwrap();
    let now = Instant::now();
    process(procfs.path(), 40, "/../proxy", "/usr/bin/envoy -c x");
    process(procfs.path(), 41, "/../main", "/opt/bin/python3 train.py");
    assert_eq!(others.look(now), None);
    end(procfs.path(), 41);
    assert_eq!(others.look(now), None);
    assert_eq!(others.look(now), Some("its processes are gone"));
}

#[test]
fn a_workload_that_is_never_seen_does_not_hold_the_pod() {
    let procfs = pod();
    let mut others = Others::new(UntilProcess::Others, procfs.path().to_owned(), 20).unwrap();
    let now = Instant::now();
    assert_eq!(others.look(now + UNSEEN / 2), None);
    assert_eq!(
        others.look(now + UNSEEN + Duration::from_secs(60)),
        Some("it was never seen")
    );
    // What cannot be looked at is not gone.
    let mut blind = Others::new(UntilProcess::Others, procfs.path().join("nowhere"), 20).unwrap();
    assert_eq!(blind.look(now + 2 * UNSEEN), None);
}

#[test]
fn alone_in_its_namespace_it_says_what_to_set() {
    let refused = Others::new(UntilProcess::Others, "/proc".into(), 1)
        .err()
        .unwrap();
    assert!(refused.to_string().contains("shareProcessNamespace"));
}

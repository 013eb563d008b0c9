//! Who draws and decodes, each client once.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Client, PROCESSES_A_LOOK, Search};

fn open(procfs: &Path, pid: u32, file: u32, target: &str, fdinfo: &str) {
    let process = procfs.join(pid.to_string());
    std::fs::create_dir_all(process.join("fd")).unwrap();
    std::fs::create_dir_all(process.join("fdinfo")).unwrap();
    symlink(target, process.join(format!("fd/{file}"))).unwrap();
    std::fs::write(process.join(format!("fdinfo/{file}")), fdinfo).unwrap();
}

fn fdinfo(client: u32, gfx: u64, vram_kib: u64) -> String {
    format!(
        "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-pdev:\t0000:03:00.0\n\
         drm-engine-gfx:\t{gfx} ns\ndrm-engine-dec:\t999999999 ns\ndrm-memory-vram:\t{vram_kib} KiB\n"
    )
}

#[test]
fn a_client_is_counted_once_and_its_time_from_the_second_look_on() {
    let root = tempfile::tempdir().unwrap();
    let procfs = root.path();
    open(procfs, 70, 3, "/dev/null", "pos:\t0\n");
    open(procfs, 70, 5, "/dev/dri/renderD128", &fdinfo(9, 1_000, 2_048));
    // The same client through a copied file, in the process and in its child.
    open(procfs, 70, 6, "/dev/dri/renderD128", &fdinfo(9, 1_000, 2_048));
    open(procfs, 71, 5, "/dev/dri/renderD128", &fdinfo(9, 1_000, 2_048));
    // A second client of the process, and a card of another vendor.
    open(procfs, 70, 7, "/dev/dri/renderD128", &fdinfo(10, 0, 1_024));
    open(
        procfs,
        72,
        4,
        "/dev/dri/card0",
        "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n",
    );
    let mut search = Search::new(procfs.to_path_buf());
    let start = Instant::now();
    let client = |utilization| Client {
        address: "0000:03:00.0".to_owned(),
        pid: 70,
        render: Some(128),
        memory: Some(3 << 20),
        utilization,
    };
    assert_eq!(search.look(start), [client(None)]);
    std::fs::write(procfs.join("70/fdinfo/5"), fdinfo(9, 2_500_001_000, 2_048)).unwrap();
    let second = search.look(start + Duration::from_secs(5));
    assert_eq!(second, [client(Some(0.5))]);
    std::fs::remove_dir_all(procfs.join("70")).unwrap();
    std::fs::remove_dir_all(procfs.join("71")).unwrap();
    assert_eq!(search.look(start + Duration::from_secs(10)), []);
}

#[test]
fn a_node_full_of_processes_is_gone_through_bit_by_bit() {
    let root = tempfile::tempdir().unwrap();
    let count = u32::try_from(PROCESSES_A_LOOK).unwrap() + 20;
    for pid in 1..=count {
        std::fs::create_dir_all(root.path().join(format!("{pid}/fd"))).unwrap();
    }
    open(
        root.path(),
        count,
        5,
        "/dev/dri/renderD128",
        &fdinfo(9, 1_000, 2_048),
    );
    let mut search = Search::new(root.path().to_path_buf());
    let now = Instant::now();
    assert_eq!(search.look(now), []);
    assert_eq!(search.look(now).len(), 1);
    assert_eq!(
        search.look(now).len(),
        1,
        "it stays known while others are gone through"
    );
}

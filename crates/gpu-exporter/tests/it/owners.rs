//! The whole way of an owner: a kubelet's socket, a `/proc`, log directories and control groups of a node in a temporary
//! directory become the holders of a snapshot's devices.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_exporter::owners::Sight;
use gpu_exporter::owners::assign::Assigner;
use gpu_exporter::owners::host::HostPaths;
use gpu_exporter::owners::kubelet::{Kubelet, Settings};
use gpu_exporter::readings::{DeviceReadings, Field, ProcessReading};
use gpu_exporter::snapshot::{Board, DeviceSnapshot, DeviceState, Identity, Totals};
use gpu_kubelet::podresources as api;
use gpu_model::{Reading, Vendor};
use gpu_runtime::{Clock as _, Shutdown, SystemClock};

use crate::fake_kubelet::{FakeKubelet, answer, pod};

const A: &str = "GPU-00000000-0000-0000-0000-00000000000a";
const B: &str = "GPU-00000000-0000-0000-0000-00000000000b";
const DEADLINE: Duration = Duration::from_secs(20);

fn uid(pod: u8) -> String {
    format!("0f4c6a9e-2b1d-4c3e-8f5a-6b7c8d9e0f{pod:02}")
}

fn container_id(container: u8) -> String {
    format!("{container:064x}")
}

/// Puts a container of a pod on the node: its log directory, its link and its control group.
fn add_container(root: &Path, pod: (&str, u8), container: (&str, u8)) {
    let ((pod, number), (name, id)) = (pod, container);
    fs::create_dir_all(root.join(format!("pods/ml_{pod}_{}", uid(number)))).unwrap();
    fs::create_dir_all(root.join("containers")).unwrap();
    let link = format!("containers/{pod}_ml_{name}-{}.log", container_id(id));
    fs::write(root.join(link), "").unwrap();
    let group = format!(
        "sys/fs/cgroup/kubepods/burstable/pod{}/{}",
        uid(number),
        container_id(id)
    );
    fs::create_dir_all(root.join(group)).unwrap();
}

fn add_process(root: &Path, pid: u32, cgroup: &str) {
    let directory = root.join(format!("proc/{pid}"));
    fs::create_dir_all(&directory).unwrap();
    let stat = format!("{pid} (python) S {} 4711", "0 ".repeat(18));
    fs::write(directory.join("stat"), stat).unwrap();
    fs::write(directory.join("cgroup"), format!("0::{cgroup}\n")).unwrap();
}

fn group(pod: u8, container: u8) -> String {
    format!("/kubepods/burstable/pod{}/{}", uid(pod), container_id(container))
}

fn device(index: u32, uuid: &str, processes: &[(u32, f64, f64)]) -> DeviceSnapshot {
    let mut readings = DeviceReadings::default();
    readings.set(Field::MemoryUsed, Reading::Known(1000.0));
    readings.set(Field::Utilization, Reading::Known(0.8));
    let process = |&(pid, memory, utilization): &(u32, f64, f64)| ProcessReading {
        pid,
        slice: None,
        memory_bytes: Reading::Known(memory),
        utilization: Reading::Known(utilization),
    };
    readings.processes = Reading::Known(processes.iter().map(process).collect());
    DeviceSnapshot {
        identity: Arc::new(Identity {
            vendor: Vendor::Nvidia,
            index,
            minor: Some(index),
            uuid: uuid.to_owned(),
            model: "NVIDIA A100".to_owned(),
            pci_bus_id: format!("00000000:{index:02x}:00.0"),
            serial: None,
            vbios: None,
            driver_version: "580.95.05".to_owned(),
            architecture: None,
            board: Board::default(),
        }),
        state: DeviceState::Up,
        age: None,
        slow_age: None,
        readings: Arc::new(readings),
        totals: Totals::default(),
        faults: Vec::new(),
        restricted: None,
        holders: Vec::new(),
        jobs: Arc::default(),
        unattributed: Vec::new(),
        errors: BTreeMap::new(),
        rejected_total: 0,
    }
}

fn owners_text(devices: &[DeviceSnapshot]) -> Vec<String> {
    let mut lines = Vec::new();
    for device in devices {
        for holder in &device.holders {
            let (memory, utilization) = (holder.memory_bytes.known(), holder.utilization.known());
            lines.push(format!(
                "gpu{} {}/{} {} {memory:?} {utilization:?}",
                device.identity.index,
                holder.pod,
                holder.container,
                holder.uid.as_ref().map_or("-", |uid| &uid.as_str()[34..]),
            ));
        }
        for entry in &device.unattributed {
            let (memory, utilization) = (entry.memory_bytes.known(), entry.utilization.known());
            lines.push(format!(
                "gpu{} {} {memory:?} {utilization:?}",
                device.identity.index,
                entry.reason.as_str()
            ));
        }
    }
    lines
}

/// Two pods share the first GPU, one of them with two containers; a third pod has the second GPU alone.
fn pods() -> Vec<api::PodResources> {
    let replica = |n: u32| format!("{A}::{n}");
    let mut both = pod("ml", "both", "nvidia.com/gpu", &[&replica(0)]);
    let mut second = both.containers[0].clone();
    second.name = "side".to_owned();
    second.devices[0].device_ids = vec![replica(1)];
    both.containers.push(second);
    vec![
        both,
        pod("ml", "other", "nvidia.com/gpu", &[&replica(2)]),
        pod("ml", "alone", "nvidia.com/gpu", &[B]),
        pod("ml", "web", "", &[]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_are_found_from_socket_files_and_processes() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    add_container(root, ("both", 1), ("main", 1));
    add_container(root, ("both", 1), ("side", 2));
    add_container(root, ("other", 2), ("main", 3));
    add_container(root, ("alone", 3), ("main", 4));
    add_process(root, 101, &group(1, 1));
    add_process(root, 102, &group(1, 2));
    add_process(root, 103, &group(2, 3));
    add_process(root, 104, &group(3, 4));
    add_process(root, 105, "/system.slice/dcgm.service");

    let host = HostPaths {
        checkpoint: root.join("checkpoint"),
        pod_logs: root.join("pods"),
        container_logs: root.join("containers"),
        cgroups: root.join("sys/fs/cgroup"),
    };
    let settings = Settings::new(root.join("kubelet.sock"), host);
    let _fake = FakeKubelet::start(&settings.socket, answer(pods()));
    let kubelet = Arc::new(Kubelet::new(settings, Arc::new(SystemClock)));
    let shutdown = Shutdown::new();
    let asking = {
        let (kubelet, shutdown) = (Arc::clone(&kubelet), shutdown.clone());
        tokio::spawn(async move { kubelet.run(&shutdown).await })
    };
    let started = Instant::now();
    while !kubelet.latest().is_up() {
        assert!(started.elapsed() < DEADLINE, "the kubelet never answered");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let mut assigner = Assigner::new(Some(kubelet), root.join("proc"), Sight::Host);
    let mut devices = vec![
        device(0, A, &[(101, 100.0, 0.1), (102, 200.0, 0.2), (103, 300.0, 0.3)]),
        device(1, B, &[(104, 500.0, 0.5), (105, 50.0, 0.0)]),
    ];
    assigner.assign(&mut devices, SystemClock.monotonic());
    assert_eq!(
        owners_text(&devices),
        [
            "gpu0 both/main 01 Some(100.0) Some(0.1)",
            "gpu0 both/side 01 Some(200.0) Some(0.2)",
            "gpu0 other/main 02 Some(300.0) Some(0.3)",
            "gpu0 not_measured None Some(0.2)",
            "gpu0 driver Some(400.0) None",
            "gpu1 alone/main 03 Some(950.0) Some(0.8)",
            "gpu1 outside_kubernetes Some(50.0) Some(0.0)",
        ]
    );
    shutdown.trigger();
    asking.await.unwrap();
}

#[test]
fn without_a_kubelet_nothing_has_an_owner() {
    let directory = tempfile::tempdir().unwrap();
    add_process(directory.path(), 7, "/user.slice/session-1.scope");
    let mut assigner = Assigner::new(None, directory.path().join("proc"), Sight::Host);
    let mut devices = vec![device(0, A, &[(7, 600.0, 0.8)])];
    assigner.assign(&mut devices, SystemClock.monotonic());
    assert_eq!(
        owners_text(&devices),
        [
            "gpu0 not_measured None Some(0.0)",
            "gpu0 outside_kubernetes Some(600.0) Some(0.8)",
            "gpu0 driver Some(400.0) None",
        ]
    );
}

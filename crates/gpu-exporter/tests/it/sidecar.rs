//! The exporter beside one workload in its pod: whose the GPUs are, that a node's exporter means the same GPUs, and that it
//! ends with the workload.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gpu_exposition::{Format, Page, ParserOptions};
use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::{Model, Scenario};
use nix::sys::signal::Signal;

use crate::exporter::{Exporter, command, run};
use crate::fake_kubelet::{FakeKubelet, answer, pod};

const POD: [&str; 8] = [
    "--mode=sidecar",
    "--pod-name=fit-0",
    "--pod-namespace=ml",
    "--pod-uid=6b1f0c7e-0000-4000-8000-000000000001",
    "--node-name=gpu-node-1",
    "--sample-interval=100ms",
    "--address=127.0.0.1:0",
    "--kernel-log=/dev/null",
];

/// A pod's directory: the driver, the downward API, and an emptyDir.
struct Scene {
    directory: tempfile::TempDir,
    driver: Installed,
}

impl Scene {
    fn new(scenario: &Scenario) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let driver = Installed::into(directory.path(), scenario).unwrap();
        for name in ["podinfo", "shared"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        let scene = Self { directory, driver };
        scene.write(
            "podinfo/labels",
            "app.kubernetes.io/name=\"fit\"\nteam=\"vision\"\nworkflows.argoproj.io/workflow=\"fit-x7\"\n",
        );
        scene.write(
            "podinfo/annotations",
            "note=\"a \\\"b\\\"\\n\"\nworkflows.argoproj.io/node-name=\"fit-x7[0].train\"\n",
        );
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn start(&self, further: &[&str]) -> Exporter {
        let mut command = command(&POD);
        command
            .arg(format!("--nvml-library={}", self.driver.library().display()))
            .arg(format!("--pod-info-dir={}", self.path("podinfo").display()))
            .args(further);
        Exporter::spawn(command)
    }
}

fn read(text: &str) -> Page {
    Page::parse(text.as_bytes(), ParserOptions::new(Format::Text)).unwrap()
}

/// The values of some labels on every series of a family.
fn labels(page: &Page, family: &str, names: &[&str]) -> Vec<String> {
    let Some(family) = page.families.iter().find(|one| one.name == family) else {
        return Vec::new();
    };
    let values = |labels: &[(String, String)]| {
        let value = |name: &&str| {
            labels
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, value)| value.clone())
        };
        names
            .iter()
            .map(|name| value(name).unwrap_or("-".to_owned()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    family
        .samples
        .iter()
        .map(|sample| values(&sample.labels))
        .collect()
}

fn page_with(exporter: &Exporter, words: &str) -> Page {
    let answer = exporter.wait_for_page("/metrics", |answer| answer.text().contains(words));
    read(&answer.text())
}

#[test]
fn the_pod_owns_what_it_sees_and_its_workflow_is_named() {
    let scene = Scene::new(&Scenario::of(Model::H100, 2));
    let exporter = scene.start(&["--pod-label-allow=team", "--workflow-retry=1"]);
    let page = page_with(&exporter, "gpu_utilization_ratio{");
    let owner = ["gpu", "node", "namespace", "pod", "container", "label_team"];
    let expected = [
        "0 gpu-node-1 ml fit-0 main vision",
        "1 gpu-node-1 ml fit-0 main vision",
    ];
    assert_eq!(labels(&page, "gpu_utilization_ratio", &owner), expected);
    assert_eq!(labels(&page, "gpu_container_memory_bytes", &owner), expected);
    let dcgm = labels(&page, "DCGM_FI_DEV_FB_USED", &["namespace", "pod", "container"]);
    assert_eq!(dcgm, ["ml fit-0 main", "ml fit-0 main"]);
    let workflow = [
        "node",
        "namespace",
        "pod",
        "workflow",
        "step",
        "retry",
        "label_team",
        "label_note",
    ];
    assert_eq!(
        labels(&page, "gpu_pod_workflow_info", &workflow),
        ["gpu-node-1 ml fit-0 fit-x7 fit-x7[0].train 1 vision -"]
    );
    assert!(labels(&page, "gpu_exporter_source_up", &["source"]).contains(&"pod_info".to_owned()));
    assert!(!exporter.log().contains("kubelet"), "{}", exporter.log());
    // The label is changed, and the file with it.
    scene.write("podinfo/labels", "team=\"speech\"\n");
    page_with(&exporter, "label_team=\"speech\"");
}

#[test]
fn the_same_gpu_is_one_for_the_node_and_for_the_pod() {
    // The node has eight GPUs; in the pod two of them are seen, and numbered anew.
    let whole = Scenario::h100_x8();
    let mut seen = whole.clone();
    seen.gpus = vec![whole.gpus[5].clone(), whole.gpus[2].clone()];
    let uuids: Vec<String> = seen.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
    let of_node = Scene::new(&whole);
    let socket = of_node.path("kubelet.sock");
    let ids: Vec<&str> = uuids.iter().map(String::as_str).collect();
    let _kubelet = FakeKubelet::start(&socket, answer(vec![pod("ml", "fit-0", "nvidia.com/gpu", &ids)]));
    let mut command = command(&[
        "--sample-interval=100ms",
        "--address=127.0.0.1:0",
        "--node-name=gpu-node-1",
    ]);
    command
        .arg(format!("--nvml-library={}", of_node.driver.library().display()))
        .arg(format!("--pod-resources-kubelet-socket={}", socket.display()));
    let node = Exporter::spawn(command);
    let of_pod = Scene::new(&seen);
    let sidecar = of_pod.start(&[]);

    let node = page_with(&node, "pod=\"fit-0\"");
    let sidecar = page_with(&sidecar, "pod=\"fit-0\"");
    let identity = ["node", "uuid"];
    let owner = ["node", "uuid", "namespace", "pod"];
    for family in [
        "gpu_utilization_ratio",
        "gpu_memory_used_bytes",
        "gpu_up",
        "gpu_info",
    ] {
        let of_node: BTreeSet<String> = labels(&node, family, &identity).into_iter().collect();
        let of_pod: BTreeSet<String> = labels(&sidecar, family, &identity).into_iter().collect();
        assert_eq!((of_node.len(), of_pod.len()), (8, 2), "{family}");
        // Together they are the GPUs of the node: counted by these two labels, none is there twice.
        assert_eq!(of_node.union(&of_pod).count(), 8, "{family}");
    }
    let owned = |page: &Page| -> BTreeSet<String> {
        let all = labels(page, "gpu_utilization_ratio", &owner).into_iter();
        all.filter(|labels| labels.ends_with("ml fit-0")).collect()
    };
    assert_eq!(owned(&node), owned(&sidecar));
    assert_eq!(
        labels(&sidecar, "gpu_info", &["gpu", "uuid"])[0],
        format!("0 {}", uuids[0])
    );
}

#[test]
fn only_the_gpus_of_the_pod_are_shown_once_they_are_known() {
    let scenario = Scenario::of(Model::H100, 4);
    let scene = Scene::new(&scenario);
    let file = scene.path("shared/gpus");
    let exporter = scene.start(&[&format!("--own-gpus={}", file.display())]);
    let page = page_with(&exporter, "gpu_exporter_source_up{source=\"nvml\"} 1");
    assert_eq!(labels(&page, "gpu_info", &["uuid"]), [""; 0]);
    exporter.wait_for_log("which GPUs are its own");
    scene.write("shared/gpus", &format!("{}\n", scenario.gpus[2].uuid));
    let page = page_with(&exporter, "gpu_utilization_ratio{");
    let expected = format!("{} fit-0", scenario.gpus[2].uuid);
    assert_eq!(
        labels(&page, "gpu_utilization_ratio", &["uuid", "pod"]),
        [expected]
    );
}

#[test]
fn a_shared_gpu_names_the_pod_and_gives_it_no_figure() {
    let scene = Scene::new(&Scenario::of(Model::T4, 1));
    let exporter = scene.start(&["--shared-gpus"]);
    let page = page_with(&exporter, "gpu_utilization_ratio{");
    assert_eq!(
        labels(&page, "gpu_container_utilization_ratio", &["pod"]),
        [""; 0]
    );
    assert_eq!(
        labels(&page, "gpu_unattributed_utilization_ratio", &["reason"]),
        ["not_measured", "unreadable_process"]
    );
}

/// The report of a run, as what a workflow would read of it.
fn report(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn it_ends_with_its_file_and_leaves_a_report() {
    let scenario = Scenario::of(Model::H100, 2).running();
    let scene = Scene::new(&scenario);
    let (done, kept) = (scene.path("shared/done"), scene.path("shared/gpu-report.json"));
    let mut exporter = scene.start(&[
        &format!("--until-file={}", done.display()),
        &format!("--final-report={}", kept.display()),
    ]);
    page_with(&exporter, "gpu_utilization_ratio{");
    assert!(exporter.is_running());
    scene.write("shared/done", "0");
    assert_eq!(exporter.wait().code(), Some(0), "{}", exporter.log());
    exporter.wait_for_log("wrote the final report");
    let report = report(&kept);
    assert_eq!(report["pod"], "fit-0");
    assert_eq!(report["workflow"]["workflow"], "fit-x7");
    let gpus = report["gpus"].as_array().unwrap();
    assert_eq!(gpus.len(), 2, "{report}");
    for (gpu, double) in gpus.iter().zip(&scenario.gpus) {
        assert_eq!(gpu["uuid"], double.uuid.as_str());
        let number = |name: &str| gpu[name].as_f64().unwrap_or_else(|| panic!("{name} in {report}"));
        assert!(number("seconds") > 0.0);
        assert!(number("memory_peak_bytes") > 0.0 && number("energy_joules") >= 0.0);
        let utilization = &gpu["utilization"];
        assert!(
            utilization["mean"].as_f64() <= utilization["max"].as_f64(),
            "{report}"
        );
        assert!(gpu.get("faults").is_none());
    }
}

#[test]
fn a_native_sidecar_is_told_by_a_signal_and_leaves_a_report_too() {
    let scene = Scene::new(&Scenario::of(Model::H100, 1));
    let kept = scene.path("shared/gpu-report.json");
    let mut exporter = scene.start(&[&format!("--final-report={}", kept.display())]);
    page_with(&exporter, "gpu_utilization_ratio{");
    exporter.signal(Signal::SIGTERM);
    assert_eq!(exporter.wait().code(), Some(0), "{}", exporter.log());
    assert_eq!(report(&kept)["gpus"].as_array().unwrap().len(), 1);
}

#[test]
fn it_ends_when_the_processes_of_the_workload_are_gone() {
    let scene = Scene::new(&Scenario::of(Model::H100, 1));
    let procfs = scene.path("proc");
    std::fs::create_dir(&procfs).unwrap();
    let mut exporter = scene.start(&[
        &format!("--path.procfs={}", procfs.display()),
        "--until-process=auto",
    ]);
    let process = |pid: u32, group: &str, command: &str| {
        let directory = procfs.join(pid.to_string());
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("cgroup"), group).unwrap();
        std::fs::write(directory.join("cmdline"), command).unwrap();
    };
    process(exporter.pid(), "0::/\n", "gpu-exporter\0");
    process(4_000_000, "0::/../main\n", "python\0train.py\0");
    page_with(&exporter, "gpu_utilization_ratio{");
    // Long enough for a look in which the workload is there: the look says so in no other way.
    std::thread::sleep(Duration::from_millis(2500));
    assert!(exporter.is_running(), "{}", exporter.log());
    std::fs::remove_dir_all(procfs.join("4000000")).unwrap();
    assert_eq!(exporter.wait().code(), Some(0), "{}", exporter.log());
    exporter.wait_for_log("its processes are gone");
}

#[test]
fn a_sidecar_that_is_not_told_its_pod_says_what_to_set() {
    let ended = run(&["--mode=sidecar", "--pod-name=fit-0", "--node-name=a"]);
    assert_eq!(ended.status.code(), Some(1));
    let words = String::from_utf8(ended.stderr).unwrap();
    assert!(
        words.contains("POD_NAMESPACE") && words.contains("metadata.namespace"),
        "{words}"
    );
}

#[test]
fn the_doctor_knows_a_pod() {
    let scene = Scene::new(&Scenario::of(Model::H100, 1));
    let examine = |further: &[&str]| {
        let mut command = command(&POD);
        let ended = command
            .arg(format!("--nvml-library={}", scene.driver.library().display()))
            .arg(format!("--pod-info-dir={}", scene.path("podinfo").display()))
            .args(further)
            .arg("doctor")
            .output()
            .unwrap();
        (ended.status.code(), String::from_utf8(ended.stdout).unwrap())
    };
    let (code, told) = examine(&[]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("ok    pod: GPUs are those of ml/fit-0") && !told.contains("kubelet"),
        "{told}"
    );
    let (code, told) = examine(&["--slurm-job-dir=/nowhere/jobs"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("fail  jobs: cannot list `/nowhere/jobs`"), "{told}");
}

/// Ticks of processor time, a hundred a second, and kilobytes of memory of a process.
fn cost(pid: u32) -> (u64, u64) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    (ticks, line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// What the examples limit it to, with eight GPUs, in whatever build this is; `SIDECAR_SECONDS` looks for longer.
#[test]
fn a_sidecar_stays_within_its_limits() {
    let seconds = std::env::var("SIDECAR_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let span = Duration::from_secs(seconds.unwrap_or(5));
    let scene = Scene::new(&Scenario::h100_x8().running());
    let report = format!("--final-report={}", scene.path("shared/report.json").display());
    let plain: Vec<&str> = POD
        .into_iter()
        .filter(|word| !word.contains("interval"))
        .collect();
    let mut command = command(&plain);
    command
        .arg(format!("--nvml-library={}", scene.driver.library().display()))
        .arg(format!("--pod-info-dir={}", scene.path("podinfo").display()))
        .args(["--pod-label-allow=team", &report]);
    let exporter = Exporter::spawn(command);
    page_with(&exporter, "gpu_utilization_ratio{");
    let (before, _) = cost(exporter.pid());
    let started = Instant::now();
    while started.elapsed() < span {
        exporter.get("/metrics");
        std::thread::sleep(span.min(Duration::from_secs(15)));
    }
    let (after, kilobytes) = cost(exporter.pid());
    let millicores = (after - before) as f64 * 10.0 / started.elapsed().as_secs_f64();
    println!("{millicores:.1} millicores, {kilobytes} kB");
    assert!(kilobytes < 64 * 1024, "{kilobytes} kB");
    assert!(millicores < 50.0, "{millicores} millicores");
}

//! A machine in a directory of its own: driver, kubelet, processes, control groups, logs, and the program that reads them.

use std::fs;
use std::path::{Path, PathBuf};

use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::Scenario;

use crate::amd_tree::{Gpu, Tree};
use crate::exporter::{Exporter, command, replace};
use crate::fake_kubelet::{Behaviour, FakeKubelet, answer, pod};

/// How the machine's control groups are laid out and named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Version 2 under systemd, containers of containerd.
    UnifiedSystemd,
    /// Version 2 under the kubelet's own driver, where a container's group is its bare id.
    UnifiedPlain,
    /// Version 2 under systemd, containers of CRI-O with its group inside of the scope.
    UnifiedCriO,
    /// Version 1, a line for each hierarchy.
    Legacy,
}

impl Shape {
    /// The pod's group below the root of its hierarchy.
    fn pod_group(self, uid: &str) -> String {
        match self {
            Self::UnifiedSystemd | Self::UnifiedCriO => format!(
                "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice",
                uid.replace('-', "_")
            ),
            Self::UnifiedPlain | Self::Legacy => format!("kubepods/burstable/pod{uid}"),
        }
    }

    fn process_text(self, pod: &Pod) -> String {
        let (group, id) = (self.pod_group(&pod.uid), &pod.container_id);
        match self {
            Self::UnifiedSystemd => format!("0::/{group}/cri-containerd-{id}.scope\n"),
            Self::UnifiedPlain => format!("0::/{group}/{id}\n"),
            Self::UnifiedCriO => format!("0::/{group}/crio-{id}.scope/container\n"),
            Self::Legacy => ["12:pids", "7:cpu,cpuacct", "4:memory", "1:name=systemd"]
                .iter()
                .map(|hierarchy| format!("{hierarchy}:/{group}/{id}\n"))
                .collect::<String>(),
        }
    }

    /// Where the pod's group is in the tree.
    fn pod_directory(self, root: &Path, uid: &str) -> PathBuf {
        let tree = root.join("sys/fs/cgroup");
        match self {
            Self::Legacy => tree.join("memory").join(self.pod_group(uid)),
            Self::UnifiedSystemd | Self::UnifiedPlain | Self::UnifiedCriO => tree.join(self.pod_group(uid)),
        }
    }
}

/// A pod with one container, its devices and its processes.
#[derive(Debug, Clone)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) resource: &'static str,
    pub(super) ids: Vec<String>,
    pub(super) pids: Vec<u32>,
    uid: String,
    container_id: String,
}

impl Pod {
    /// The `number`-th pod of a machine.
    pub(super) fn new(
        number: u32,
        name: &str,
        resource: &'static str,
        ids: &[impl ToString],
        pids: &[u32],
    ) -> Self {
        Self {
            name: name.to_owned(),
            resource,
            ids: ids.iter().map(ToString::to_string).collect(),
            pids: pids.to_vec(),
            uid: format!("0f4c6a9e-2b1d-4c3e-8f5a-{number:012x}"),
            container_id: format!("{number:064x}"),
        }
    }
}

/// What a machine is to be like before it is switched on.
pub(super) struct Plan {
    pub(super) scenario: Scenario,
    /// `None` without Kubernetes.
    pub(super) pods: Option<Vec<Pod>>,
    pub(super) shape: Shape,
    /// Processes of the host that are on the GPUs, and their control groups.
    pub(super) host: Vec<(u32, &'static str)>,
    /// AMD's GPUs, in the tree of the machine.
    pub(super) amd: Vec<Gpu>,
    pub(super) arguments: Vec<String>,
    /// Whether the program is told of the directory for textfiles.
    with_textfiles: bool,
}

impl Plan {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            pods: None,
            shape: Shape::UnifiedSystemd,
            host: Vec::new(),
            amd: Vec::new(),
            arguments: Vec::new(),
            with_textfiles: false,
        }
    }

    pub(super) fn argument(mut self, argument: String) -> Self {
        self.arguments.push(argument);
        self
    }

    pub(super) fn amd(mut self, gpus: Vec<Gpu>) -> Self {
        self.amd = gpus;
        self
    }

    pub(super) fn with_textfiles(mut self) -> Self {
        self.with_textfiles = true;
        self
    }

    pub(super) fn pods(mut self, shape: Shape, pods: Vec<Pod>) -> Self {
        self.shape = shape;
        self.pods = Some(pods);
        self
    }

    pub(super) fn host(mut self, processes: &[(u32, &'static str)]) -> Self {
        self.host = processes.to_vec();
        self
    }

    pub(super) fn arguments(mut self, arguments: &[&'static str]) -> Self {
        let arguments = arguments.iter().map(|own| (*own).to_owned());
        self.arguments.extend(arguments);
        self
    }

    pub(super) fn start(self) -> Machine {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        let directories = [
            "driver",
            "proc",
            "sys/devices",
            "sys/fs/cgroup",
            "logs/pods",
            "logs/containers",
            "textfiles",
        ];
        for directory in directories {
            fs::create_dir_all(path.join(directory)).unwrap();
        }
        let driver = Installed::into(&path.join("driver"), &self.scenario).unwrap();
        for (pid, group) in &self.host {
            write_process(path, *pid, group);
        }
        if !self.amd.is_empty() {
            Tree::below(path).plant(&self.amd);
        }
        let pods = self.pods.clone().unwrap_or_default();
        pods.iter().for_each(|pod| write_pod(path, self.shape, pod));
        // Before the program starts, so that no page counts a question that nobody answered.
        let kubelet = self
            .pods
            .is_some()
            .then(|| FakeKubelet::start(&socket(path), listing(&pods)));
        Machine {
            exporter: Exporter::spawn(self.command(path, &driver)),
            driver,
            scenario: self.scenario,
            kubelet,
            pods,
            shape: self.shape,
            root,
        }
    }

    fn command(&self, root: &Path, driver: &Installed) -> std::process::Command {
        let below = |name: &str| root.join(name).display().to_string();
        let usual = [
            ("--address", "127.0.0.1:0".to_owned()),
            ("--node-name", "node-a".to_owned()),
            ("--sample-interval", "200ms".to_owned()),
            ("--kernel-log", "/dev/null".to_owned()),
            ("--host-processes", "true".to_owned()),
            ("--kubernetes", self.pods.is_some().to_string()),
            ("--path.procfs", below("proc")),
            ("--path.sysfs", below("sys")),
            ("--path.kubelet", below("kubelet")),
            ("--path.logs", below("logs")),
            ("--nvml-library", driver.library().display().to_string()),
            (
                "--pod-resources-kubelet-socket",
                socket(root).display().to_string(),
            ),
        ];
        let is_given = |flag: &str| self.arguments.iter().any(|own| own.starts_with(flag));
        let usual = usual.iter().filter(|(flag, _)| !is_given(flag));
        let mut command = command(&[]);
        command
            .args(usual.map(|(flag, value)| format!("{flag}={value}")))
            .args(&self.arguments);
        if self.with_textfiles {
            command.arg(format!("--textfile-dir={}", below("textfiles")));
        }
        command
    }
}

/// A machine that runs. It is gone, with everything on it, when the value is.
pub(super) struct Machine {
    pub(super) exporter: Exporter,
    pub(super) driver: Installed,
    pub(super) scenario: Scenario,
    pub(super) kubelet: Option<FakeKubelet>,
    pub(super) pods: Vec<Pod>,
    shape: Shape,
    root: tempfile::TempDir,
}

impl Machine {
    pub(super) fn page(&self) -> String {
        let answer = self.exporter.get("/metrics");
        assert_eq!(answer.status, 200, "{}", self.exporter.log());
        answer.text()
    }

    /// The first page that fits.
    #[track_caller]
    pub(super) fn wait(&self, fits: impl Fn(&str) -> bool) -> String {
        self.exporter
            .wait_for_page("/metrics", |answer| fits(&answer.text()))
            .text()
    }

    /// A path in the directory for textfiles, whose own directory is there.
    pub(super) fn textfile(&self, name: &str) -> PathBuf {
        let path = self.root.path().join("textfiles").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Writes a textfile as documents ask to: beside its place, then renamed.
    pub(super) fn write_textfile(&self, name: &str, text: &str) {
        replace(&self.textfile(name), text);
    }

    /// How many threads the program has.
    pub(super) fn threads(&self) -> usize {
        self.entries("task")
    }

    /// How many files it has open.
    pub(super) fn open_files(&self) -> usize {
        self.entries("fd")
    }

    fn entries(&self, directory: &str) -> usize {
        let path = format!("/proc/{}/{directory}", self.exporter.pid());
        fs::read_dir(path).unwrap().count()
    }

    /// The files of AMD's GPUs.
    pub(super) fn tree(&self) -> Tree {
        Tree::below(self.root.path())
    }

    /// Changes what the driver says.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Scenario)) {
        change(&mut self.scenario);
        self.driver.change(&self.scenario).unwrap();
    }

    /// Serves the socket, replacing the one of the kubelet before.
    pub(super) fn start_kubelet(&mut self) {
        self.kubelet = Some(FakeKubelet::start(&socket(self.root.path()), listing(&self.pods)));
    }

    /// Lets the kubelet say what it should of the pods that are on the machine now.
    pub(super) fn tell_kubelet(&self) {
        self.kubelet.as_ref().unwrap().behave(listing(&self.pods));
    }

    /// Puts a pod on the machine; the kubelet has not heard of it yet.
    pub(super) fn run_pod(&mut self, pod: Pod) {
        write_pod(self.root.path(), self.shape, &pod);
        self.pods.push(pod);
    }

    /// Ends a pod: its processes and its control group are gone; the kubelet goes on listing it, as those before 1.34 do.
    pub(super) fn end_pod(&mut self, name: &str) {
        let at = self.pods.iter().position(|pod| pod.name == name).unwrap();
        let pod = self.pods.remove(at);
        let root = self.root.path();
        for pid in &pod.pids {
            fs::remove_dir_all(root.join(format!("proc/{pid}"))).unwrap();
        }
        fs::remove_dir_all(self.shape.pod_directory(root, &pod.uid)).unwrap();
        let pids = pod.pids;
        self.change(|scenario| {
            for gpu in &mut scenario.gpus {
                gpu.processes.retain(|process| !pids.contains(&process.pid));
            }
        });
    }
}

fn socket(root: &Path) -> PathBuf {
    root.join("kubelet.sock")
}

/// What a kubelet says of these pods.
pub(super) fn listing(pods: &[Pod]) -> Behaviour {
    let listed = |held: &Pod| {
        let ids: Vec<&str> = held.ids.iter().map(String::as_str).collect();
        pod("ml", &held.name, held.resource, &ids)
    };
    answer(pods.iter().map(listed).collect())
}

/// What a running pod leaves in the node's files.
fn write_pod(root: &Path, shape: Shape, pod: &Pod) {
    for pid in &pod.pids {
        write_process(root, *pid, &shape.process_text(pod));
    }
    fs::create_dir_all(shape.pod_directory(root, &pod.uid)).unwrap();
    fs::create_dir_all(root.join(format!("logs/pods/ml_{}_{}", pod.name, pod.uid))).unwrap();
    let link = format!("logs/containers/{}_ml_main-{}.log", pod.name, pod.container_id);
    fs::write(root.join(link), "").unwrap();
}

/// A process as `/proc` shows it, as far as the program reads it.
fn write_process(root: &Path, pid: u32, group: &str) {
    let directory = root.join(format!("proc/{pid}"));
    fs::create_dir_all(&directory).unwrap();
    let stat = format!(
        "{pid} (python (v3)) S 1 {pid} {pid} 0 -1 4194560 9 0 0 0 7 1 0 0 20 0 4 0 {} 0 0\n",
        1_000 + pid
    );
    fs::write(directory.join("stat"), stat).unwrap();
    fs::write(directory.join("cgroup"), group).unwrap();
}

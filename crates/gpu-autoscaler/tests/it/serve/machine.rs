//! A GPU node as the control plane meets it: the real exporter over the double of NVIDIA's library and a kubelet's socket.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use gpu_kubelet::listen;
use gpu_kubelet::podresources::{self as api, pod_resources_lister_server as server};
use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::{Model, Process, Scenario, Utilization};
use gpu_testbed::real_node::workspace_program;
use tokio::runtime::Runtime;
use tonic::{Request, Response, Status, transport::Server};

/// A GPU and what happens on it.
pub(crate) struct Board {
    pub(crate) pod: &'static str,
    pub(crate) busy_percent: u32,
}

/// A running node. It is gone, with everything on it, when the value is.
pub(crate) struct Machine {
    exporter: Child,
    pub(crate) address: SocketAddr,
    driver: Installed,
    scenario: Scenario,
    kubelet: Option<Runtime>,
    _root: tempfile::TempDir,
}

impl Machine {
    /// An exporter that answers for `node`, whose boards are held by pods of `namespace`.
    pub(crate) fn start(node: &str, namespace: &str, boards: &[Board]) -> anyhow::Result<Self> {
        let program = workspace_program("gpu-exporter", "gpu-exporter")?;
        let root = tempfile::tempdir()?;
        let below = |name: &str| root.path().join(name).display().to_string();
        for directory in ["driver", "proc", "sys", "logs"] {
            std::fs::create_dir_all(root.path().join(directory))?;
        }
        // Each machine has boards of its own: two of the same uuid would be one GPU that two exporters tell of.
        let mut scenario = Scenario::of(Model::T4, boards.len()).without_latency().running();
        for (index, gpu) in scenario.gpus.iter_mut().enumerate() {
            gpu.uuid = uuid(node, index);
            set_busy(gpu, boards[index].busy_percent);
        }
        let driver = Installed::into(&root.path().join("driver"), &scenario)?;
        let socket = root.path().join("kubelet.sock");
        let kubelet = kubelet(&socket, namespace, boards, &scenario)?;
        let mut command = Command::new(program);
        command.env_clear().args([
            "--address=127.0.0.1:0".to_owned(),
            format!("--node-name={node}"),
            "--sample-interval=200ms".to_owned(),
            "--collection-interval=1s".to_owned(),
            "--kernel-log=/dev/null".to_owned(),
            "--kubernetes=true".to_owned(),
            format!("--path.procfs={}", below("proc")),
            format!("--path.sysfs={}", below("sys")),
            format!("--path.logs={}", below("logs")),
            format!("--nvml-library={}", driver.library().display()),
            format!("--pod-resources-kubelet-socket={}", socket.display()),
        ]);
        let mut exporter = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(exporter.stderr.take().expect("it is piped")).lines();
        let address = loop {
            let line = lines
                .next()
                .ok_or_else(|| anyhow::anyhow!("the exporter ended"))??;
            if let Some((_, rest)) = line.split_once("serving address=") {
                break rest.split_whitespace().next().unwrap_or_default().parse()?;
            }
        };
        // The rest of its log is read and dropped, or it would block once the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self {
            exporter,
            address,
            driver,
            scenario,
            kubelet: Some(kubelet),
            _root: root,
        })
    }

    /// Changes how busy a board is.
    pub(crate) fn make_busy(&mut self, board: usize, percent: u32) -> anyhow::Result<()> {
        set_busy(&mut self.scenario.gpus[board], percent);
        Ok(self.driver.change(&self.scenario)?)
    }

    /// The exporter dies.
    pub(crate) fn kill(&mut self) {
        let _ = self.exporter.kill();
        let _ = self.exporter.wait();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
        if let Some(runtime) = self.kubelet.take() {
            runtime.shutdown_background();
        }
    }
}

/// One that no other machine of a test has.
fn uuid(node: &str, index: usize) -> String {
    let sum = node.bytes().fold(0u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    format!("GPU-{sum:08x}-1c2d-4e5f-8a9b-{index:012x}")
}

fn set_busy(gpu: &mut gpu_nvml_double::scenario::Gpu, percent: u32) {
    gpu.utilization = Some(Utilization {
        gpu: percent,
        memory: percent / 2,
    });
    gpu.memory.used = if percent == 0 { 3 << 30 } else { 13 << 30 };
    if let Some(power) = &mut gpu.power {
        // A T4 draws 10 W at rest and 70 W at most.
        power.usage = 10_000 + percent * 500;
        power.instant = Some(power.usage);
    }
    gpu.processes = vec![Process::compute(4_000 + gpu.minor, 3 << 30, percent)];
}

fn kubelet(socket: &Path, namespace: &str, boards: &[Board], scenario: &Scenario) -> anyhow::Result<Runtime> {
    let pods = boards
        .iter()
        .zip(&scenario.gpus)
        .map(|(board, gpu)| api::PodResources {
            name: board.pod.to_owned(),
            namespace: namespace.to_owned(),
            containers: vec![api::ContainerResources {
                name: "main".to_owned(),
                devices: vec![api::ContainerDevices {
                    resource_name: "nvidia.com/gpu".to_owned(),
                    device_ids: vec![gpu.uuid.clone()],
                    topology: None,
                }],
                ..Default::default()
            }],
            ..Default::default()
        });
    let lister = Lister(Arc::new(api::ListPodResourcesResponse {
        pod_resources: pods.collect(),
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let incoming = {
        let _inside = runtime.enter();
        listen(socket)?
    };
    runtime.spawn(
        Server::builder().serve_with_incoming(server::PodResourcesListerServer::new(lister), incoming),
    );
    Ok(runtime)
}

struct Lister(Arc<api::ListPodResourcesResponse>);

#[tonic::async_trait]
impl server::PodResourcesLister for Lister {
    async fn list(
        &self,
        _: Request<api::ListPodResourcesRequest>,
    ) -> Result<Response<api::ListPodResourcesResponse>, Status> {
        Ok(Response::new(api::ListPodResourcesResponse::clone(&self.0)))
    }

    async fn get_allocatable_resources(
        &self,
        _: Request<api::AllocatableResourcesRequest>,
    ) -> Result<Response<api::AllocatableResourcesResponse>, Status> {
        Err(Status::unimplemented("not asked for"))
    }

    async fn get(
        &self,
        _: Request<api::GetPodResourcesRequest>,
    ) -> Result<Response<api::GetPodResourcesResponse>, Status> {
        Err(Status::unimplemented("not asked for"))
    }
}

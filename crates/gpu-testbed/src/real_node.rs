//! One real node: the whole of Kubernetes on this machine, with real containers.
//!
//! etcd, API server, scheduler, controller-manager, containerd, kubelet, kube-proxy and a bridge network run in
//! namespaces of their own (see [`sandbox`]), so that nothing of the machine is touched and the kernel itself cleans
//! up. A device plugin of ours offers GPUs that are not there. The test process stays outside; [`RealNode`] is its
//! hand inside.

pub mod device_plugin;
mod devices;
mod doorway;
mod lock;
mod parts;
mod programs_of_ours;
mod sandbox;
mod settings;
mod waiting;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use gpu_image::{ImageSpec, build_image};
use gpu_kubelet::podresources;
use http_body_util::Full;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use crate::http::{Answer, send_by};
use crate::{Bed, Need, Part, PartSpec, Program};
use doorway::{Doorway, Relay};
use lock::NodeLock;
use parts::Parts;

pub use devices::{Health, Offers};
pub use programs_of_ours::workspace_program;
pub use settings::{NODE_NAME, PAUSE_IMAGE};
pub use waiting::until;

/// A process that starts real nodes while its parent has one needs this variable in its environment.
pub const REAL_NODE_ALLOWED: &str = lock::INHERITED_VARIABLE;

/// From nothing to a node that runs pods; it takes about ten seconds on two processors that have nothing else to do.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Copying an image of some dozen megabytes between two directories.
const IMPORT_WITHIN: Duration = Duration::from_secs(60);

/// For commands that ask the cluster and print; those that wait have bounds of their own.
const COMMAND_WITHIN: Duration = Duration::from_secs(120);

/// A cluster of one real node, which ends when it is dropped.
#[derive(Debug)]
pub struct RealNode {
    offers: Mutex<Offers>,
    commands: AtomicU64,
    parts: Parts,
    control_group: String,
    relay: Relay,
    doorway: Doorway,
    ready_after: Duration,
    bed: Bed,
    // The last field is dropped last: the next node starts when nothing of this one is left.
    _lock: NodeLock,
}

impl RealNode {
    /// What a real node needs of the machine; a test hands these to [`crate::require!`].
    pub fn needs() -> Need {
        let programs = Need::programs(&[
            Program::CniBridge,
            Program::CniHostLocal,
            Program::CniLoopback,
            Program::Conntrack,
            Program::Containerd,
            Program::ContainerdShim,
            Program::Ctr,
            Program::Etcd,
            Program::Ip,
            Program::Iptables,
            Program::KubeApiserver,
            Program::KubeControllerManager,
            Program::KubeProxy,
            Program::KubeScheduler,
            Program::Kubectl,
            Program::Kubelet,
            Program::Runc,
            Program::Unshare,
        ]);
        programs
            .and(Need::root())
            .and(Need::that("a machine without a kubelet of its own", || {
                !sandbox::kubelet_lives_here()
            }))
    }

    /// Starts a node that offers [`Offers::of_every_kind`], and waits until it can run pods.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(Offers::of_every_kind()).await
    }

    /// Starts a node that offers the given devices.
    pub async fn start_with(offers: Offers) -> anyhow::Result<Self> {
        let lock = NodeLock::acquire().await?;
        let started = Instant::now();
        let bed = Bed::with_warden_prefix(&sandbox::PREFIX)?;
        let kubelet_root = bed.make_directory(parts::KUBELET_DIRECTORY)?;
        sandbox::set_up(&bed, &kubelet_root).await?;
        let control_group = sandbox::make_control_groups(&bed)?;
        let doorway =
            Doorway::of_process(bed.process_id()).context("failed to open the node's network namespace")?;
        write_offers(&bed, &offers)?;
        let parts = Parts::lay_out(&bed, &control_group)?;
        parts.start_foundation(&bed)?;
        let relay = doorway
            .relay(parts.api_server_address()?)
            .context("failed to open the relay")?;
        let mut node = Self {
            offers: Mutex::new(offers),
            commands: AtomicU64::new(0),
            parts,
            control_group,
            relay,
            doorway,
            ready_after: Duration::ZERO,
            bed,
            _lock: lock,
        };
        node.bed
            .guard(READY_WITHIN, node.come_up())
            .await
            .context("the real node did not come up")?;
        node.ready_after = started.elapsed();
        Ok(node)
    }

    /// How long it took from nothing to a node that can run pods.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The node that all tests of this process share. It offers [`Offers::of_every_kind`] and ends with the process.
    pub async fn shared() -> anyhow::Result<&'static Self> {
        static SHARED: OnceCell<RealNode> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    async fn come_up(&self) -> anyhow::Result<()> {
        self.import_pause_image().await?;
        let client = self.client().await?;
        until("the API server is ready", READY_WITHIN, async || {
            let request = http::Request::get("/readyz").body(Vec::new())?;
            Ok(client.request_text(request).await?)
        })
        .await?;
        self.parts.start_rest(&self.bed)?;
        self.wait_for_node(&client).await
    }

    /// The bed of the node's programs, each a part named like its program.
    pub fn bed(&self) -> &Bed {
        &self.bed
    }

    /// A running part of the node, by the name of its program.
    pub fn part(&self, name: &str) -> anyhow::Result<Part> {
        self.parts
            .get(name)
            .with_context(|| format!("the real node has no part `{name}`"))
    }

    /// An administrator's client, for the runtime of the caller.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        let file = Kubeconfig::read_from(self.kubeconfig()).context("failed to read the kubeconfig")?;
        let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        config.cluster_url = format!("https://{}", self.relay.address).parse()?;
        Ok(kube::Client::try_from(config)?)
    }

    /// The administrator's kubeconfig, for programs that run inside.
    pub fn kubeconfig(&self) -> &Path {
        self.parts.kubeconfig()
    }

    /// Writes a kubeconfig for programs that run outside.
    pub fn kubeconfig_outside(&self) -> anyhow::Result<PathBuf> {
        let inside = std::fs::read(self.kubeconfig()).context("failed to read the kubeconfig")?;
        let mut config: serde_json::Value =
            serde_json::from_slice(&inside).context("the kubeconfig is not JSON")?;
        config["clusters"][0]["cluster"]["server"] = format!("https://{}", self.relay.address).into();
        Ok(self.bed.write_file("outside.kubeconfig", config.to_string())?)
    }

    /// The kubelet's own pod-resources service.
    pub async fn pod_resources(&self) -> anyhow::Result<podresources::Client> {
        Ok(podresources::client(&self.pod_resources_socket()).await?)
    }

    /// The socket of that service, as seen from outside.
    pub fn pod_resources_socket(&self) -> PathBuf {
        self.bed
            .path(parts::KUBELET_DIRECTORY)
            .join("pod-resources/kubelet.sock")
    }

    /// The processes of a pod's containers, as the machine sees them.
    pub fn processes_of_pod(&self, uid: &str) -> Vec<i32> {
        sandbox::processes_of_pod(&self.control_group, uid)
    }

    /// Kills the kubelet, starts it again, and waits until its devices are back. Containers run on.
    pub async fn restart_kubelet(&self) -> anyhow::Result<()> {
        self.parts.restart_kubelet(&self.bed).await?;
        let client = self.client().await?;
        self.wait_for_node(&client).await
    }

    /// Makes a device unhealthy or healthy again, and waits until the node says so.
    pub async fn set_health(&self, device: &str, health: Health) -> anyhow::Result<()> {
        {
            let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
            ensure!(
                offers.set_health(device, health),
                "the node offers no device `{device}`"
            );
            write_offers(&self.bed, &offers)?;
        }
        let client = self.client().await?;
        self.wait_for_node(&client).await
    }

    /// Adds the images of an archive to the node; pods use them with `imagePullPolicy: Never`.
    pub async fn import_image(&self, archive: &Path) -> anyhow::Result<()> {
        let archive = archive.display().to_string();
        let words = [
            "--address",
            settings::CONTAINERD_SOCKET,
            "--namespace=k8s.io",
            "images",
            "import",
            &archive,
        ];
        let ctr = Program::Ctr.path()?;
        // The socket is there a moment after the start.
        until("the image is imported", IMPORT_WITHIN, async || {
            let spec = PartSpec::new(self.command_name("ctr"), &ctr).args(words);
            Ok(self.bed.run(spec, IMPORT_WITHIN).await?)
        })
        .await?;
        Ok(())
    }

    async fn import_pause_image(&self) -> anyhow::Result<()> {
        let program = workspace_program("gpu-testbed", "testbed-pause")?;
        let built = build_image(&ImageSpec::new(PAUSE_IMAGE, program, self.bed.path("pause.tar")))?;
        self.import_image(&built.path).await
    }

    /// Runs kubectl as the administrator and answers with what it printed.
    pub async fn kubectl(&self, words: &[&str]) -> anyhow::Result<String> {
        self.run(Program::Kubectl, words).await
    }

    /// Runs helm as the administrator and answers with what it printed.
    pub async fn helm(&self, words: &[&str]) -> anyhow::Result<String> {
        self.run(Program::Helm, words).await
    }

    async fn run(&self, program: Program, words: &[&str]) -> anyhow::Result<String> {
        let home = self.bed.make_directory("home")?.display().to_string();
        let spec = PartSpec::new(self.command_name(program.file_name()), program.path()?)
            .args(words.iter().copied())
            .env("KUBECONFIG", self.kubeconfig().display().to_string())
            .env("HOME", home);
        Ok(self.bed.run(spec, COMMAND_WITHIN).await?)
    }

    /// Runs a program in the first container of a pod.
    pub async fn exec(&self, namespace: &str, pod: &str, words: &[&str]) -> anyhow::Result<String> {
        let mut all = vec!["exec", "--namespace", namespace, pod, "--"];
        all.extend(words);
        self.kubectl(&all).await
    }

    /// What a pod has printed.
    pub async fn logs(&self, namespace: &str, pod: &str) -> anyhow::Result<String> {
        self.kubectl(&["logs", "--namespace", namespace, pod]).await
    }

    /// Connects to an address inside: of a pod, a Service or the node.
    pub async fn connect(&self, address: std::net::SocketAddr) -> std::io::Result<TcpStream> {
        self.doorway.connect(address).await
    }

    /// Asks for a page inside, as a program on the node would.
    pub async fn get(&self, uri: &str) -> anyhow::Result<Answer> {
        let request = http::Request::get(uri).body(Full::<Bytes>::default())?;
        let answer = send_by(request, async |authority: String| {
            let address = authority.parse().map_err(std::io::Error::other)?;
            self.connect(address).await
        });
        Ok(answer.await?)
    }

    /// Waits until the node is ready, pods may be made, and the node's devices are those on offer.
    async fn wait_for_node(&self, client: &kube::Client) -> anyhow::Result<()> {
        use k8s_openapi::api::core::v1::{Node, ServiceAccount};
        let nodes: kube::Api<Node> = kube::Api::all(client.clone());
        until(
            "the node is ready and has its devices",
            READY_WITHIN,
            async || {
                let node = nodes.get(NODE_NAME).await?;
                let status = node.status.context("no status yet")?;
                let conditions = status.conditions.unwrap_or_default();
                let ready = conditions
                    .iter()
                    .any(|found| found.type_ == "Ready" && found.status == "True");
                ensure!(ready, "the node is not ready: {conditions:?}");
                let allocatable = status.allocatable.unwrap_or_default();
                let offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner).clone();
                for resource in offers.resources() {
                    let (seen, wanted) = (
                        allocatable.get(resource).map(|found| &found.0),
                        offers.healthy(resource).to_string(),
                    );
                    ensure!(
                        seen == Some(&wanted),
                        "the node has {seen:?} of {resource}, not {wanted}"
                    );
                }
                Ok(())
            },
        )
        .await?;
        until("the kubelet answers for its pods", READY_WITHIN, async || {
            let mut kubelet = self.pod_resources().await?;
            Ok(kubelet.list(podresources::ListPodResourcesRequest {}).await?)
        })
        .await?;
        let accounts: kube::Api<ServiceAccount> = kube::Api::default_namespaced(client.clone());
        until("pods may be made", READY_WITHIN, async || {
            Ok(accounts.get("default").await?)
        })
        .await?;
        Ok(())
    }

    /// Commands may run at the same time, and each has its own name and log.
    fn command_name(&self, program: &str) -> String {
        format!("{program}-{}", self.commands.fetch_add(1, Ordering::Relaxed))
    }
}

/// Replaces the file at once, so that the plugin never reads half of it.
fn write_offers(bed: &Bed, offers: &Offers) -> anyhow::Result<()> {
    let new = bed.write_file("offers.new", serde_json::to_vec(offers)?)?;
    std::fs::rename(new, bed.path(parts::OFFERS_FILE)).context("failed to replace the offers")
}

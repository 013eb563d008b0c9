//! A cluster with the real control plane and fake nodes: wide and fast.
//!
//! API server, scheduler, controller-manager and etcd are the real programs. The nodes exist only as objects that our
//! own code keeps alive (see [`nodes`]), so hundreds of them cost next to nothing, and no container ever runs.

mod namespace;
pub mod nodes;

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

pub use namespace::TestNamespace;
use nodes::NodeEngine;

use crate::control_plane::{Component, ControlPlane, ControlPlaneOptions, LayoutError};
use crate::{Bed, BedError, Need, Part, PartSpec, Program};

/// A cold start on two busy cores took a quarter of this.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// kubectl answers in well under a second, and in this time on a machine that is compiling.
const KUBECTL_WITHIN: Duration = Duration::from_secs(60);

/// Longer than three renewals of a node's lease, so that a busy machine loses no node by accident.
const NODE_GRACE: Duration = Duration::from_secs(16);

/// Why a fleet could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The control plane could not be laid out.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A part could not be started or died.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// A kubeconfig of ours could not be used.
    #[error("failed to use the kubeconfig of the fleet")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// The API server refused or did not answer.
    #[error("failed to {act}")]
    Api {
        /// What was tried.
        act: String,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// The task that plays the nodes ended.
    #[error("the fake nodes of the fleet died: {why}")]
    NodesDied {
        /// Why.
        why: String,
    },
}

/// A running cluster. It ends when it is dropped.
#[derive(Debug)]
pub struct Fleet {
    // Before the bed, so that no lease is renewed against a server that is being stopped.
    engine: NodeEngine,
    bed: Bed,
    control_plane: ControlPlane,
    ready_after: Duration,
    commands: AtomicUsize,
}

static SHARED: OnceLock<Result<Fleet, String>> = OnceLock::new();

impl Fleet {
    /// The programs without which no fleet starts.
    pub fn need() -> Need {
        Need::programs(&Component::ALL.map(Component::program))
    }

    /// Starts a fleet without nodes.
    pub async fn start() -> Result<Self, FleetError> {
        let began = Instant::now();
        let bed = Bed::new()?;
        let options = ControlPlaneOptions {
            bind_address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            service_range: "10.96.0.0/16".to_owned(),
            node_grace: NODE_GRACE,
            api_server_args: vec![
                // An endpoint on loopback is not valid, and nobody here asks for the service of the API server.
                "--endpoint-reconciler-type=none".to_owned(),
                // Ties the pods of a test's namespace to the nodes of that test.
                "--enable-admission-plugins=PodNodeSelector".to_owned(),
            ],
            controller_manager_args: Vec::new(),
        };
        let control_plane = ControlPlane::lay_out(&bed, options)?;
        // The API server waits for its store by itself; the other two end when they find no API server.
        bed.spawn(control_plane.spec(Component::Etcd).map_err(LayoutError::from)?)?;
        start_component(&bed, &control_plane, Component::ApiServer).await?;
        tokio::try_join!(
            start_component(&bed, &control_plane, Component::Scheduler),
            start_component(&bed, &control_plane, Component::ControllerManager),
        )?;
        let engine = NodeEngine::start(control_plane.admin_kubeconfig.clone(), NODE_GRACE);
        let ready_after = began.elapsed();
        println!(
            "fleet {} ready after {:.1} s",
            bed.id(),
            ready_after.as_secs_f64()
        );
        Ok(Self {
            engine,
            bed,
            control_plane,
            ready_after,
            commands: AtomicUsize::new(0),
        })
    }

    /// The one fleet that the tests of a process share; each test takes a namespace of its own.
    ///
    /// # Panics
    /// When the fleet cannot be started.
    pub fn shared() -> &'static Self {
        let started = SHARED.get_or_init(|| {
            // A thread of its own, because the caller may be in a runtime already and may not block in it.
            let starter = std::thread::spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| error.to_string())?;
                runtime
                    .block_on(Self::start())
                    .map_err(|error| format!("{:#}", anyhow::Error::new(error)))
            });
            starter
                .join()
                .unwrap_or_else(|_| Err("the start of the shared fleet panicked".to_owned()))
        });
        started
            .as_ref()
            .unwrap_or_else(|error| panic!("failed to start the shared fleet: {error}"))
    }

    /// How long it took from nothing to a working control plane.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The bed with the parts of the control plane.
    pub fn bed(&self) -> &Bed {
        &self.bed
    }

    /// The control plane's files and certificates.
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.control_plane.admin_kubeconfig
    }

    /// A client with the rights of the administrator. It belongs to the runtime of the caller.
    pub async fn client(&self) -> Result<Client, FleetError> {
        client_of(self.kubeconfig()).await
    }

    /// Makes a namespace with nodes of its own: its pods run on them only.
    pub async fn namespace(&self, prefix: &str) -> Result<TestNamespace, FleetError> {
        TestNamespace::create(self.client().await?, prefix, self.bed.id(), &self.engine).await
    }

    /// Runs a test's work until it is done, a part or the fake nodes die, or the time is over.
    pub async fn guard<T>(
        &self,
        within: Duration,
        work: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        self.bed
            .guard(within, async {
                tokio::select! {
                    outcome = work => outcome,
                    why = self.engine.death() => Err(FleetError::NodesDied { why }.into()),
                }
            })
            .await
    }

    /// Runs kubectl as the administrator and answers with what it printed.
    pub async fn kubectl(&self, args: &[&str]) -> Result<String, FleetError> {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let program = Program::Kubectl.path().map_err(LayoutError::from)?;
        let spec = PartSpec::new(format!("kubectl-{number}"), program)
            .arg(format!("--kubeconfig={}", self.kubeconfig().display()))
            .args(args.iter().copied());
        Ok(self.bed.run(spec, KUBECTL_WITHIN).await?)
    }

    /// Starts a component again after its death, as a cluster's own supervisor would.
    pub async fn revive(&self, component: Component) -> Result<Part, FleetError> {
        start_component(&self.bed, &self.control_plane, component).await
    }

    /// Kills a component. Every guarded test on this fleet fails from then on, until it is revived.
    pub fn kill(&self, component: Component) -> Result<(), FleetError> {
        let name = component.program().file_name();
        Ok(self.bed.signal(name, nix::sys::signal::Signal::SIGKILL)?)
    }
}

async fn start_component(bed: &Bed, plane: &ControlPlane, component: Component) -> Result<Part, FleetError> {
    let part = bed.spawn(plane.spec(component).map_err(LayoutError::from)?)?;
    let url = plane.readiness_url(component);
    if component == Component::Etcd {
        part.ready(READY_WITHIN, || crate::http::probe(&url)).await?;
        return Ok(part);
    }
    // The client of Kubernetes is also a client for anything else that speaks TLS under the cluster's authority; it
    // puts the paths of requests behind its own address.
    let (server, path) = url.rsplit_once('/').expect("the address of a page has a slash");
    let mut config = Config::new(server.parse().expect("an address made of our own host and port"));
    config.root_cert = Some(vec![plane.authority.certificate_der()]);
    let client = Client::try_from(config).map_err(api("make a client for the readiness page"))?;
    part.ready(READY_WITHIN, || async {
        let page = http::Request::get(format!("/{path}"))
            .body(Vec::new())
            .map_err(|error| error.to_string())?;
        let body = client
            .request_text(page)
            .await
            .map_err(|error| error.to_string())?;
        match component {
            // It answers before its controllers exist; each of them adds a line when all are built.
            Component::ControllerManager if !body.contains("namespace-controller") => {
                Err("no controller has been built yet".to_owned())
            }
            _ => Ok(()),
        }
    })
    .await?;
    Ok(part)
}

pub(crate) async fn client_of(kubeconfig: &Path) -> Result<Client, FleetError> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // Tests want the server's first answer: the client would otherwise repeat a refused eviction for minutes.
    config.default_retry = false;
    Client::try_from(config).map_err(api("make a client"))
}

/// Names the act that a call of the API server failed in.
pub(crate) fn api(act: impl Into<String>) -> impl FnOnce(kube::Error) -> FleetError {
    let act = act.into();
    move |source| FleetError::Api {
        act,
        source: Box::new(source),
    }
}

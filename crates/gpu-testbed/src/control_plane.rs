//! The control plane of Kubernetes as parts of a bed: which files it needs and how each program is started.
//!
//! It starts nothing: a cluster (see [`crate::fleet`]) decides where, when and in which order.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::pki::{Authority, IdentityFiles, PkiError, signing_key};
use crate::programs::ProgramMissing;
use crate::{Bed, BedError, PartSpec, Program, StopBy, free_port};

/// Why a control plane could not be laid out.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A program is missing.
    #[error(transparent)]
    Program(#[from] ProgramMissing),
    /// A certificate could not be made or written.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A file could not be written.
    #[error(transparent)]
    Bed(#[from] BedError),
}

/// The programs of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The scheduler.
    Scheduler,
    /// The controllers.
    ControllerManager,
}

impl Component {
    /// All of them, in the order in which they can be started.
    pub const ALL: [Self; 4] = [
        Self::Etcd,
        Self::ApiServer,
        Self::Scheduler,
        Self::ControllerManager,
    ];

    /// The program; its name is also the name of the part.
    pub fn program(self) -> Program {
        match self {
            Self::Etcd => Program::Etcd,
            Self::ApiServer => Program::KubeApiserver,
            Self::Scheduler => Program::KubeScheduler,
            Self::ControllerManager => Program::KubeControllerManager,
        }
    }
}

/// What differs between clusters.
#[derive(Debug, Clone)]
pub struct ControlPlaneOptions {
    /// Where the API server listens.
    pub bind_address: IpAddr,
    /// The address by which clients reach the API server.
    pub address: IpAddr,
    /// The cluster addresses of services, as a prefix.
    pub service_range: String,
    /// How long a node may be silent before the controller-manager calls it lost.
    pub node_grace: Duration,
    /// Added to the API server's arguments.
    pub api_server_args: Vec<String>,
    /// Added to the controller-manager's arguments.
    pub controller_manager_args: Vec<String>,
}

/// The files, ports and secrets of one control plane.
#[derive(Debug)]
pub struct ControlPlane {
    /// Signs the serving and client certificates of the cluster.
    pub authority: Authority,
    /// Signs the certificate by which the API server introduces itself to aggregated API servers.
    pub front_proxy: Authority,
    /// The kubeconfig of the cluster's administrator.
    pub admin_kubeconfig: PathBuf,
    options: ControlPlaneOptions,
    directory: PathBuf,
    ports: Ports,
    serving: IdentityFiles,
    proxy: IdentityFiles,
}

#[derive(Debug)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    api_server: u16,
    scheduler: u16,
    controller_manager: u16,
}

/// The directory of the control plane below the bed's own.
const DIRECTORY: &str = "control-plane";

/// The users of the static token file: name of the kubeconfig, user, group.
const USERS: [(&str, &str, &str); 3] = [
    ("admin", "testbed-admin", "system:masters"),
    ("scheduler", "system:kube-scheduler", ""),
    ("controller-manager", "system:kube-controller-manager", ""),
];

impl ControlPlane {
    /// Makes keys, certificates, tokens and kubeconfigs in the bed's directory.
    pub fn lay_out(bed: &Bed, options: ControlPlaneOptions) -> Result<Self, LayoutError> {
        let directory = bed.make_directory(DIRECTORY)?;
        let authority = Authority::new("testbed")?;
        let front_proxy = Authority::new("testbed-front-proxy")?;
        let address = options.address.to_string();
        let mut names = vec![
            address.as_str(),
            "localhost",
            "kubernetes",
            "kubernetes.default.svc",
        ];
        if address != "127.0.0.1" {
            names.push("127.0.0.1");
        }
        let first_service = first_service_address(&options.service_range);
        names.extend(first_service.as_deref());
        let file = |name: &str| format!("{DIRECTORY}/{name}");
        let serving = authority.server(&names)?.write(bed, &file("serving"))?;
        let proxy = front_proxy
            .client("front-proxy-client", None)?
            .write(bed, &file("proxy"))?;
        authority.identity().write(bed, &file("ca"))?;
        bed.write_file(file("front-proxy-ca.crt"), front_proxy.certificate())?;
        let (private, public) = signing_key()?;
        bed.write_file(file("service-accounts.key"), private)?;
        bed.write_file(file("service-accounts.pub"), public)?;

        let ports = Ports {
            etcd: free_port(),
            etcd_peer: free_port(),
            api_server: free_port(),
            scheduler: free_port(),
            controller_manager: free_port(),
        };
        let server = format!("https://{address}:{}", ports.api_server);
        let mut tokens = String::new();
        for (name, user, group) in USERS {
            // The bed's id is random, and the server listens on this machine only.
            let token = format!("{name}-{}", bed.id());
            tokens.push_str(&format!("{token},{user},{name},\"{group}\"\n"));
            let text = kubeconfig(&server, &directory.join("ca.crt"), &token);
            bed.write_file(file(&format!("{name}.kubeconfig")), text)?;
        }
        bed.write_file(file("tokens.csv"), tokens)?;
        let admin_kubeconfig = directory.join("admin.kubeconfig");
        Ok(Self {
            authority,
            front_proxy,
            admin_kubeconfig,
            options,
            directory,
            ports,
            serving,
            proxy,
        })
    }

    /// Where clients reach the API server.
    pub fn server_url(&self) -> String {
        format!("https://{}:{}", self.options.address, self.ports.api_server)
    }

    /// The page that says whether a component is ready.
    pub fn readiness_url(&self, component: Component) -> String {
        match component {
            Component::Etcd => format!("http://127.0.0.1:{}/health", self.ports.etcd),
            Component::ApiServer => format!("{}/readyz", self.server_url()),
            Component::Scheduler => format!("https://127.0.0.1:{}/readyz", self.ports.scheduler),
            Component::ControllerManager => {
                format!(
                    "https://127.0.0.1:{}/healthz?verbose",
                    self.ports.controller_manager
                )
            }
        }
    }

    /// How a component is started.
    pub fn spec(&self, component: Component) -> Result<PartSpec, ProgramMissing> {
        let program = component.program();
        let args = match component {
            Component::Etcd => self.etcd_args(),
            Component::ApiServer => self.api_server_args(),
            Component::Scheduler => self.scheduler_args(),
            Component::ControllerManager => self.controller_manager_args(),
        };
        // Nothing of their state is worth a graceful end, and the API server would take a minute for one.
        Ok(PartSpec::new(program.file_name(), program.path()?)
            .args(args)
            .stop_by(StopBy::Kill))
    }

    fn file(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    fn etcd_args(&self) -> Vec<String> {
        let (client, peer) = (self.ports.etcd, self.ports.etcd_peer);
        vec![
            format!("--data-dir={}", self.file("etcd")),
            format!("--listen-client-urls=http://127.0.0.1:{client}"),
            format!("--advertise-client-urls=http://127.0.0.1:{client}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
            "--logger=zap".to_owned(),
            "--log-level=warn".to_owned(),
        ]
    }

    fn api_server_args(&self) -> Vec<String> {
        let mut args = vec![
            format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd),
            format!("--bind-address={}", self.options.bind_address),
            format!("--secure-port={}", self.ports.api_server),
            format!("--tls-cert-file={}", self.serving.certificate.display()),
            format!("--tls-private-key-file={}", self.serving.key.display()),
            format!("--client-ca-file={}", self.file("ca.crt")),
            format!("--token-auth-file={}", self.file("tokens.csv")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", self.file("service-accounts.pub")),
            format!(
                "--service-account-signing-key-file={}",
                self.file("service-accounts.key")
            ),
            format!("--service-cluster-ip-range={}", self.options.service_range),
            format!(
                "--requestheader-client-ca-file={}",
                self.file("front-proxy-ca.crt")
            ),
            "--requestheader-allowed-names=front-proxy-client".to_owned(),
            "--requestheader-username-headers=X-Remote-User".to_owned(),
            "--requestheader-group-headers=X-Remote-Group".to_owned(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
            format!("--proxy-client-cert-file={}", self.proxy.certificate.display()),
            format!("--proxy-client-key-file={}", self.proxy.key.display()),
            "--allow-privileged=true".to_owned(),
        ];
        args.extend(self.options.api_server_args.iter().cloned());
        args
    }

    fn scheduler_args(&self) -> Vec<String> {
        self.client_args("scheduler.kubeconfig", self.ports.scheduler)
    }

    fn controller_manager_args(&self) -> Vec<String> {
        let mut args = self.client_args("controller-manager.kubeconfig", self.ports.controller_manager);
        args.extend([
            format!(
                "--service-account-private-key-file={}",
                self.file("service-accounts.key")
            ),
            format!("--root-ca-file={}", self.file("ca.crt")),
            format!("--cluster-signing-cert-file={}", self.file("ca.crt")),
            format!("--cluster-signing-key-file={}", self.file("ca.key")),
            "--use-service-account-credentials=true".to_owned(),
            "--node-monitor-period=1s".to_owned(),
            format!(
                "--node-monitor-grace-period={}s",
                self.options.node_grace.as_secs()
            ),
        ]);
        args.extend(self.options.controller_manager_args.iter().cloned());
        args
    }

    /// What scheduler and controller-manager have in common.
    fn client_args(&self, kubeconfig: &str, port: u16) -> Vec<String> {
        let kubeconfig = self.file(kubeconfig);
        vec![
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            // There is one of each, and an election would only delay its start.
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={}", self.serving.certificate.display()),
            format!("--tls-private-key-file={}", self.serving.key.display()),
            // The default of twenty requests a second is made for clusters with other clients; here it only waits.
            "--kube-api-qps=200".to_owned(),
            "--kube-api-burst=400".to_owned(),
        ]
    }
}

/// A kubeconfig with one cluster and one user. JSON is YAML, too.
pub fn kubeconfig(server: &str, authority: &Path, token: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": {"server": server, "certificate-authority": authority}}],
        "users": [{"name": "testbed", "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "testbed"}}],
        "current-context": "testbed",
    })
    .to_string()
}

/// The address that Kubernetes gives to its own service: the first of the range.
fn first_service_address(range: &str) -> Option<String> {
    let (base, _) = range.split_once('/')?;
    let base: std::net::Ipv4Addr = base.parse().ok()?;
    Some(std::net::Ipv4Addr::from_bits(base.to_bits() + 1).to_string())
}

//! The programs of a real node, how each is started, and in which order.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;

use super::programs_of_ours::workspace_program;
use super::sandbox::{KUBELET_ROOT, NODE_ADDRESS, with_system_path};
use super::settings::{self, NODE_NAME, SERVICE_RANGE};
use crate::control_plane::{Component, ControlPlane, ControlPlaneOptions};
use crate::{Bed, Part, PartSpec, Program, StopBy};

/// The kubelet's root directory as a directory of the bed.
pub(super) const KUBELET_DIRECTORY: &str = "kubelet";

/// Where the offers of the device plugin lie in the bed.
pub(super) const OFFERS_FILE: &str = "offers.json";

/// The one node is never lost on purpose, and a restart of its kubelet must not look like it.
const NODE_GRACE: Duration = Duration::from_secs(120);

/// A killed process is gone at once.
const KILL_WITHIN: Duration = Duration::from_secs(10);

/// What runs, and how to start it again.
#[derive(Debug)]
pub(super) struct Parts {
    plane: ControlPlane,
    kubelet: PartSpec,
    containerd: PartSpec,
    others: Vec<PartSpec>,
    running: Mutex<BTreeMap<String, Part>>,
}

impl Parts {
    /// Writes every file that the programs read.
    pub(super) fn lay_out(bed: &Bed, control_group: &str) -> anyhow::Result<Self> {
        let address: IpAddr = NODE_ADDRESS.parse().expect("a constant address");
        let plane = ControlPlane::lay_out(
            bed,
            ControlPlaneOptions {
                bind_address: Ipv4Addr::UNSPECIFIED.into(),
                address,
                service_range: SERVICE_RANGE.to_owned(),
                node_grace: NODE_GRACE,
                api_server_args: vec![
                    format!("--advertise-address={NODE_ADDRESS}"),
                    "--enable-aggregator-routing=true".to_owned(),
                    // Nobody in the namespace resolves the node's name.
                    "--kubelet-preferred-address-types=InternalIP".to_owned(),
                ],
                controller_manager_args: Vec::new(),
            },
        )?;
        let kubeconfig = plane.admin_kubeconfig.display().to_string();
        Ok(Self {
            kubelet: kubelet(bed, control_group, &kubeconfig)?,
            containerd: containerd(bed)?,
            others: vec![kube_proxy(&kubeconfig)?, device_plugin(bed)?],
            plane,
            running: Mutex::default(),
        })
    }

    /// The administrator's kubeconfig.
    pub(super) fn kubeconfig(&self) -> &Path {
        &self.plane.admin_kubeconfig
    }

    /// Where the API server is reached inside.
    pub(super) fn api_server_address(&self) -> anyhow::Result<SocketAddr> {
        let url = self.plane.server_url();
        url.trim_start_matches("https://")
            .parse()
            .with_context(|| format!("`{url}` names no address and port"))
    }

    /// What the others cannot start without.
    pub(super) fn start_foundation(&self, bed: &Bed) -> anyhow::Result<()> {
        self.start(bed, self.plane.spec(Component::Etcd)?)?;
        self.start(bed, self.plane.spec(Component::ApiServer)?)?;
        self.start(bed, self.containerd.clone())
    }

    /// Everything else, once the API server answers.
    pub(super) fn start_rest(&self, bed: &Bed) -> anyhow::Result<()> {
        self.start(bed, self.plane.spec(Component::Scheduler)?)?;
        self.start(bed, self.plane.spec(Component::ControllerManager)?)?;
        self.start(bed, self.kubelet.clone())?;
        self.others
            .iter()
            .try_for_each(|spec| self.start(bed, spec.clone()))
    }

    pub(super) async fn restart_kubelet(&self, bed: &Bed) -> anyhow::Result<()> {
        if let Some(part) = self.get(&self.kubelet.name) {
            part.stop(KILL_WITHIN).await?;
        }
        self.start(bed, self.kubelet.clone())
    }

    pub(super) fn get(&self, name: &str) -> Option<Part> {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    fn start(&self, bed: &Bed, spec: PartSpec) -> anyhow::Result<()> {
        let part = bed.spawn(with_system_path(spec))?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(part.name().to_owned(), part);
        Ok(())
    }
}

/// A part that is killed at its end: nothing of its state is kept, and the next node begins with nothing.
fn killed(program: Program) -> anyhow::Result<PartSpec> {
    Ok(PartSpec::new(program.file_name(), program.path()?).stop_by(StopBy::Kill))
}

fn containerd(bed: &Bed) -> anyhow::Result<PartSpec> {
    let root = bed.make_directory("containerd")?;
    let network = bed.make_directory("network")?;
    let bridge = Program::CniBridge.path()?;
    let plugins = bridge
        .parent()
        .context("the bridge plugin lies in no directory")?;
    bed.write_file("network/10-pods.conflist", settings::network())?;
    let config = bed.write_file("containerd.toml", settings::containerd(&root, &network, plugins))?;
    Ok(killed(Program::Containerd)?.args(["--config".to_owned(), config.display().to_string()]))
}

fn kubelet(bed: &Bed, control_group: &str, kubeconfig: &str) -> anyhow::Result<PartSpec> {
    let config = bed.write_file("kubelet.json", settings::kubelet(control_group))?;
    Ok(killed(Program::Kubelet)?.args([
        format!("--config={}", config.display()),
        format!("--kubeconfig={kubeconfig}"),
        format!("--node-ip={NODE_ADDRESS}"),
        format!("--hostname-override={NODE_NAME}"),
    ]))
}

fn kube_proxy(kubeconfig: &str) -> anyhow::Result<PartSpec> {
    Ok(killed(Program::KubeProxy)?.args([
        format!("--kubeconfig={kubeconfig}"),
        format!("--hostname-override={NODE_NAME}"),
        "--proxy-mode=iptables".to_owned(),
        // The limits of connection tracking belong to the machine, not to the namespace.
        "--conntrack-max-per-core=0".to_owned(),
    ]))
}

fn device_plugin(bed: &Bed) -> anyhow::Result<PartSpec> {
    let program = workspace_program("gpu-testbed", "testbed-device-plugin")?;
    Ok(PartSpec::new("testbed-device-plugin", program)
        .args([
            format!("{KUBELET_ROOT}/device-plugins"),
            bed.path(OFFERS_FILE).display().to_string(),
        ])
        .stop_by(StopBy::Kill))
}

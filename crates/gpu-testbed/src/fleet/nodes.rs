//! Fake nodes: objects that behave as a kubelet would make them behave.
//!
//! A node of a [`NodeGroup`] renews its lease, runs the pods that the scheduler binds to it, ends them and buries
//! them. It can offer its GPUs late, fall silent or vanish. Times that a test must control (when GPUs appear, how
//! long a pod runs) are counted on the group's own [`FleetClock`], which moves only when the test says so.

mod clock;
mod engine;
mod objects;
mod pod;
mod registry;
mod spec;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

pub use clock::FleetClock;
pub use engine::NodeEngine;
pub use pod::{EXIT_CODE_ANNOTATION, RUN_SECONDS_ANNOTATION, TERMINATE_SECONDS_ANNOTATION};
pub use spec::{NodeSpec, SpotNotice};

use super::{FleetError, api};
use registry::{FakeNode, Registry};

/// Names the group that a node belongs to.
pub const GROUP_LABEL: &str = "testbed.gpu-autoscaler.io/group";

/// Where kubelets keep the leases of their nodes.
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// The controller-manager changes a young node two or three times; each change may cost one attempt.
const TAINT_ATTEMPTS: u32 = 10;

/// The nodes of one test. They are deleted when it is dropped.
pub struct NodeGroup {
    name: String,
    client: Client,
    clock: FleetClock,
    registry: Arc<Registry>,
}

impl NodeGroup {
    pub(super) fn new(name: &str, client: Client, engine: &NodeEngine) -> Self {
        let registry = engine.registry();
        let clock = FleetClock::new(registry.waker());
        Self {
            name: name.to_owned(),
            client,
            clock,
            registry,
        }
    }

    /// The clock on which late GPUs and the run times of pods are counted.
    pub fn clock(&self) -> &FleetClock {
        &self.clock
    }

    /// Adds a node and answers with its name, which is the group's and the given one.
    pub async fn add(&self, spec: NodeSpec) -> Result<String, FleetError> {
        let name = format!("{}-{}", self.name, spec.name);
        let address = self.registry.next_node_address();
        let node = objects::node(&name, &self.name, &address, &spec);
        let nodes: Api<Node> = self.nodes();
        nodes
            .create(&PostParams::default(), &node)
            .await
            .map_err(api(format!("create the node `{name}`")))?;
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), LEASE_NAMESPACE);
        leases
            .create(&PostParams::default(), &objects::lease(&name))
            .await
            .map_err(api(format!("create the lease of `{name}`")))?;
        let late = spec.late_devices(self.clock.elapsed());
        self.registry.insert(
            name.clone(),
            FakeNode::new(&self.name, self.clock.clone(), address, late),
        );
        Ok(name)
    }

    /// Lets a node fall silent: no lease, no news of its pods. The controller-manager calls it lost after a while.
    pub fn lose(&self, node: &str) {
        self.registry.set_silent(node, registry::Voice::Silent);
    }

    /// Lets a silent node speak again.
    pub async fn recover(&self, node: &str) -> Result<(), FleetError> {
        let status = json!({"status": {"conditions": objects::ready_conditions()}});
        self.patch_status(node, &status).await?;
        self.registry.set_silent(node, registry::Voice::Speaking);
        Ok(())
    }

    /// Deletes a node, as a cloud does with a machine that is gone.
    pub async fn remove(&self, node: &str) -> Result<(), FleetError> {
        self.registry.remove(node);
        let act = || api(format!("delete the node `{node}`"));
        self.nodes()
            .delete(node, &DeleteParams::default())
            .await
            .map_err(act())?;
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), LEASE_NAMESPACE);
        match leases.delete(node, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            // The lease belongs to the node, and the garbage collector may have been quicker.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(act()(error)),
        }
    }

    /// Marks a node as about to be taken back, as the named cloud's agent does.
    pub async fn spot_notice(&self, node: &str, notice: SpotNotice) -> Result<(), FleetError> {
        let Some(taint) = notice.taint() else {
            let status = json!({"status": {"conditions": [notice.condition()]}});
            return self.patch_status(node, &status).await;
        };
        let mut attempt = 1;
        loop {
            let mut object = self
                .nodes()
                .get(node)
                .await
                .map_err(api(format!("read the node `{node}`")))?;
            object
                .spec
                .get_or_insert_default()
                .taints
                .get_or_insert_default()
                .push(taint.clone());
            // With the version that was read, so that a change of the controller-manager in between is not lost.
            match self.nodes().replace(node, &PostParams::default(), &object).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 && attempt < TAINT_ATTEMPTS => {
                    attempt += 1
                }
                Err(error) => return Err(api(format!("taint the node `{node}`"))(error)),
            }
        }
    }

    async fn patch_status(&self, node: &str, patch: &serde_json::Value) -> Result<(), FleetError> {
        self.nodes()
            .patch_status(node, &PatchParams::default(), &Patch::Strategic(patch))
            .await
            .map(drop)
            .map_err(api(format!("change the status of the node `{node}`")))
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }
}

impl Drop for NodeGroup {
    fn drop(&mut self) {
        self.registry.retire_group(&self.name);
    }
}

/// Devices that a node offers only when its clock has come this far.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LateDevices {
    at: Duration,
    resource: String,
    count: u32,
}

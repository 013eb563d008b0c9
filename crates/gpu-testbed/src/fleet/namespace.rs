//! A namespace for one test, with nodes that only its pods may use.

use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use super::nodes::{GROUP_LABEL, NodeEngine, NodeGroup};
use super::{FleetError, api};
use crate::BedId;

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A namespace and its nodes. Its objects vanish with the fleet, its nodes with this value.
pub struct TestNamespace {
    name: String,
    client: Client,
    nodes: NodeGroup,
}

impl TestNamespace {
    pub(super) async fn create(
        client: Client,
        prefix: &str,
        bed: &BedId,
        engine: &NodeEngine,
    ) -> Result<Self, FleetError> {
        let name = format!("{prefix}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let object: Namespace = serde_json::from_value(json!({
            "metadata": {
                "name": name,
                "labels": {"testbed.gpu-autoscaler.io/bed": bed.to_string()},
                "annotations": {"scheduler.alpha.kubernetes.io/node-selector": format!("{GROUP_LABEL}={name}")},
            }
        }))
        .expect("the object above is a namespace");
        Api::<Namespace>::all(client.clone())
            .create(&PostParams::default(), &object)
            .await
            .map_err(api(format!("create the namespace `{name}`")))?;
        let nodes = NodeGroup::new(&name, client.clone(), engine);
        let namespace = Self { name, client, nodes };
        namespace.wait_for_service_account().await?;
        Ok(namespace)
    }

    /// The API server refuses pods until the controller-manager has made the namespace's service account. The guard
    /// around the test bounds the wait.
    async fn wait_for_service_account(&self) -> Result<(), FleetError> {
        let accounts: Api<ServiceAccount> = self.api();
        while accounts
            .get_opt("default")
            .await
            .map_err(api("look for the service account"))?
            .is_none()
        {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// The namespace's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The client that made it, with the rights of the administrator.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The nodes of this namespace.
    pub fn nodes(&self) -> &NodeGroup {
        &self.nodes
    }

    /// The objects of one kind in this namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }
}

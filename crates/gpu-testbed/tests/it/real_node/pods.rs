//! Pods of the test bed's own image, and what the tests ask of them.

use std::time::Duration;

use anyhow::{Context, ensure};
use gpu_kubelet::podresources::{ListPodResourcesRequest, PodResources};
use gpu_testbed::real_node::{PAUSE_IMAGE, RealNode, until};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A pod of a local image runs in two seconds; a machine that starts a second node at the same time takes longer.
pub(super) const RUNS_WITHIN: Duration = Duration::from_secs(60);

/// A bound for one test with a real node, its start included.
pub(super) const TEST_WITHIN: Duration = Duration::from_secs(240);

/// Tests that change the shared node itself hold this alone: a pod that arrives while the kubelet has no devices is
/// refused for good.
static CALM: RwLock<()> = RwLock::const_new(());

/// The shared node, for a test that only adds pods to it.
pub(super) async fn shared_node() -> anyhow::Result<(&'static RealNode, RwLockReadGuard<'static, ()>)> {
    let calm = CALM.read().await;
    Ok((RealNode::shared().await?, calm))
}

/// The shared node, for a test that changes it and puts it back.
pub(super) async fn shared_node_alone() -> anyhow::Result<(&'static RealNode, RwLockWriteGuard<'static, ()>)>
{
    let alone = CALM.write().await;
    Ok((RealNode::shared().await?, alone))
}

/// A running pod of one container; it is deleted by [`RunningPod::delete`] or vanishes with the node.
pub(super) struct RunningPod {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) address: String,
    api: Api<Pod>,
}

/// Starts a pod that holds `count` devices of `resource` and answers on port 8080 with its own name.
pub(super) async fn run_pod(
    node: &RealNode,
    name: &str,
    resource: Option<(&str, u32)>,
) -> anyhow::Result<RunningPod> {
    let limits = match resource {
        Some((resource, count)) => json!({resource: count}),
        None => json!({}),
    };
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "worker",
                "image": PAUSE_IMAGE,
                "imagePullPolicy": "Never",
                "args": ["answer", "8080", name],
                "resources": {"limits": limits},
            }],
        },
    }))?;
    let api: Api<Pod> = Api::default_namespaced(node.client().await?);
    api.create(&PostParams::default(), &pod).await?;
    until(&format!("pod `{name}` is ready"), RUNS_WITHIN, async || {
        let pod = api.get(name).await?;
        let status = pod.status.unwrap_or_default();
        let ready = status
            .conditions
            .iter()
            .flatten()
            .any(|found| found.type_ == "Ready" && found.status == "True");
        ensure!(ready, "{:?} {:?}", status.conditions, status.container_statuses);
        Ok(RunningPod {
            name: name.to_owned(),
            uid: pod.metadata.uid.context("a stored pod has a uid")?,
            address: status.pod_ip.context("a ready pod has an address")?,
            api: api.clone(),
        })
    })
    .await
}

impl RunningPod {
    /// Deletes the pod and waits until the node has let its devices go.
    pub(super) async fn delete(self, node: &RealNode) -> anyhow::Result<()> {
        self.api.delete(&self.name, &DeleteParams::default()).await?;
        until(&format!("pod `{}` is gone", self.name), RUNS_WITHIN, async || {
            let left = self.api.get_opt(&self.name).await?;
            ensure!(left.is_none(), "the API server still has it");
            ensure!(
                node.processes_of_pod(&self.uid).is_empty(),
                "its processes still run"
            );
            Ok(())
        })
        .await
    }

    /// The devices of the pod's one container as the kubelet tells them, sorted.
    pub(super) async fn devices(&self, node: &RealNode, resource: &str) -> anyhow::Result<Vec<String>> {
        let answer = self.resources(node).await?;
        let devices = answer.containers.iter().flat_map(|container| &container.devices);
        let mut ids: Vec<String> = devices
            .filter(|devices| devices.resource_name == resource)
            .flat_map(|devices| devices.device_ids.clone())
            .collect();
        ids.sort();
        Ok(ids)
    }

    async fn resources(&self, node: &RealNode) -> anyhow::Result<PodResources> {
        let mut kubelet = node.pod_resources().await?;
        let answer = kubelet.list(ListPodResourcesRequest {}).await?.into_inner();
        answer
            .pod_resources
            .into_iter()
            .find(|pod| pod.name == self.name && pod.namespace == "default")
            .with_context(|| format!("the kubelet does not list pod `{}`", self.name))
    }
}

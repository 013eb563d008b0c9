//! The real API server: the rights that the documentation names are enough, and less is told.

use std::sync::Arc;

use gpu_testbed::fleet::TestNamespace;
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::{Fleet, eventually, require};
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use crate::SOON;
use crate::pages::{Watching, holder, lines, wanted};

const WHOLE: std::time::Duration = std::time::Duration::from_secs(180);

#[tokio::test]
async fn labels_of_the_real_server_reach_the_page() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("labels").await?;
            let node = namespace
                .nodes()
                .add(NodeSpec::new("gpu").label("pool", "h100"))
                .await?;
            let uid = run_pod(&namespace, &node).await?;
            let client = as_account(fleet, &namespace).await?;
            let allowed = wanted(&node, &["app.kubernetes.io/*", "team"], &["pool"]);
            let watching = Watching::start(allowed, client);
            eventually("a missing right is told", SOON, || async {
                Ok(watching.status().problem)
            })
            .await?;
            grant(&namespace).await?;
            let pod = [(namespace.name(), "trainer")];
            watching
                .see(
                    "trainer:app.kubernetes.io/name=llm trainer:team=red node:pool=h100",
                    &pod,
                )
                .await?;
            eventually("the source is well", SOON, || async {
                Ok(watching.status().up.then_some(()))
            })
            .await?;
            check_page(&watching, namespace.name(), &uid);
            let pods: Api<Pod> = namespace.api();
            let change = json!({"metadata": {"labels": {"team": "blue"}}});
            pods.patch("trainer", &PatchParams::default(), &Patch::Merge(&change))
                .await?;
            watching
                .see(
                    "trainer:app.kubernetes.io/name=llm trainer:team=blue node:pool=h100",
                    &pod,
                )
                .await?;
            let nodes: Api<Node> = Api::all(namespace.client());
            let change = json!({"metadata": {"labels": {"pool": null}}});
            nodes
                .patch(&node, &PatchParams::default(), &Patch::Merge(&change))
                .await?;
            pods.delete("trainer", &DeleteParams::default().grace_period(0))
                .await?;
            watching.see("", &pod).await?;
            watching.end().await;
            Ok(())
        })
        .await
}

/// Two GPUs: the pod's, known by its uid, and that of a predecessor of the same name, whose labels these are not.
fn check_page(watching: &Watching, namespace: &str, uid: &str) {
    let holders = [
        holder(namespace, "trainer", Some(uid)),
        holder(namespace, "trainer", Some("an-earlier-one")),
    ];
    let names = [
        "gpu_node_labels",
        "gpu_exporter_labels_left_out",
        "gpu_utilization_ratio",
        "gpu_temperature_celsius",
        "DCGM_FI_DEV_GPU_UTIL",
    ];
    let expected = "\
gpu_node_labels{label_pool=\"h100\",team=\"ops\"} 1
gpu_exporter_labels_left_out{team=\"ops\"} 1
gpu_utilization_ratio{gpu=\"0\",pod=\"trainer\",label_app_kubernetes_io_name=\"llm\",label_team=\"red\",team=\"ops\"} 0.5
gpu_utilization_ratio{gpu=\"1\",pod=\"trainer\",team=\"ops\"} 0.5
gpu_temperature_celsius{gpu=\"0\",team=\"ops\"} 40
gpu_temperature_celsius{gpu=\"1\",team=\"ops\"} 40
DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",pod=\"trainer\",app_kubernetes_io_name=\"llm\",team=\"ops\"} 50
DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",pod=\"trainer\",team=\"ops\"} 50
";
    assert_eq!(lines(&Arc::clone(&watching.labels), &holders, &names), expected);
}

async fn run_pod(namespace: &TestNamespace, node: &str) -> anyhow::Result<String> {
    let pod = json!({
        "metadata": {"name": "trainer", "labels": {"app.kubernetes.io/name": "llm", "team": "red", "other": "no"}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "trainer:1"}]},
    });
    let pods: Api<Pod> = namespace.api();
    let made = pods
        .create(&PostParams::default(), &serde_json::from_value(pod)?)
        .await?;
    made.metadata
        .uid
        .ok_or_else(|| anyhow::anyhow!("a pod has a uid"))
}

/// A client with the rights of the namespace's account `exporter` and no others.
async fn as_account(fleet: &Fleet, namespace: &TestNamespace) -> anyhow::Result<Client> {
    let account = serde_json::from_value(json!({"metadata": {"name": "exporter"}}))?;
    let accounts: Api<ServiceAccount> = namespace.api();
    accounts.create(&PostParams::default(), &account).await?;
    let file = Kubeconfig::read_from(fleet.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{}:exporter", namespace.name()));
    Ok(Client::try_from(config)?)
}

/// The rights that the documentation names.
async fn grant(namespace: &TestNamespace) -> anyhow::Result<()> {
    let name = format!("{}-exporter", namespace.name());
    let role = json!({
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list", "watch"]}],
    });
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace.name(), "name": "exporter"}],
    });
    create::<ClusterRole>(namespace.client(), role).await?;
    create::<ClusterRoleBinding>(namespace.client(), binding).await
}

async fn create<K>(client: Client, object: Value) -> anyhow::Result<()>
where
    K: kube::Resource<DynamicType = ()>
        + serde::Serialize
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object)?;
    Api::<K>::all(client)
        .create(&PostParams::default(), &object)
        .await?;
    Ok(())
}

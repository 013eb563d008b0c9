//! Objects that several tests create.

use gpu_testbed::Fleet;
use serde_json::{Value, json};

pub(super) fn container(resources: &Value) -> Value {
    json!({"name": "main", "image": "trainer:1", "resources": resources})
}

pub(super) fn pod_spec(resources: &Value) -> Value {
    json!({"containers": [container(resources)]})
}

pub(super) fn one_gpu() -> Value {
    json!({"limits": {"nvidia.com/gpu": "1"}})
}

pub(super) fn pod(namespace: &str, name: &str, resources: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": pod_spec(resources)})
}

/// Applies objects in one call.
pub(super) async fn apply(fleet: &Fleet, name: &str, objects: &[Value]) -> anyhow::Result<()> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let path = fleet.bed().write_file(format!("{name}.json"), list.to_string())?;
    fleet
        .kubectl(&["create", "-f", &path.display().to_string()])
        .await?;
    Ok(())
}

/// Our own kinds as the chart installs them.
pub(super) async fn install_our_kinds(fleet: &Fleet) -> anyhow::Result<()> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/gpu-autoscaler/crds");
    let directory = directory.display().to_string();
    fleet
        .kubectl(&["apply", "--server-side", "-f", &directory])
        .await?;
    let wait = [
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "-f",
        &directory,
    ];
    fleet.kubectl(&wait).await?;
    Ok(())
}

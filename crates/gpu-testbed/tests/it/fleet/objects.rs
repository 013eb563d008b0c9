//! Objects that several tests of the fleet create, and questions that they ask.

use gpu_testbed::eventually;
use gpu_testbed::fleet::TestNamespace;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};

use super::SOON;

/// A pod that asks for so many GPUs.
pub(super) fn gpu_pod(name: &str, gpus: u32) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "containers": [{
                "name": "trainer",
                "image": "trainer:1",
                "resources": {"limits": {"nvidia.com/gpu": gpus.to_string()}},
            }],
        },
    })
}

pub(super) async fn create(namespace: &TestNamespace, pod: Value) -> anyhow::Result<Pod> {
    let pod: Pod = serde_json::from_value(pod)?;
    Ok(namespace
        .api::<Pod>()
        .create(&PostParams::default(), &pod)
        .await?)
}

/// Waits until a pod is in a phase.
pub(super) async fn in_phase(namespace: &TestNamespace, name: &str, phase: &str) -> anyhow::Result<Pod> {
    let pods = namespace.api::<Pod>();
    eventually(&format!("pod {name} is {phase}"), SOON, || async {
        let pod = pods.get(name).await?;
        Ok((phase_of(&pod) == phase).then_some(pod))
    })
    .await
}

pub(super) fn phase_of(pod: &Pod) -> &str {
    pod.status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

pub(super) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Waits for an event about a pod.
pub(super) async fn event(namespace: &TestNamespace, pod: &str, reason: &str) -> anyhow::Result<Event> {
    let events = namespace.api::<Event>();
    let about = ListParams::default().fields(&format!("involvedObject.name={pod},reason={reason}"));
    eventually(&format!("event {reason} about {pod}"), SOON, || async {
        Ok(events.list(&about).await?.items.pop())
    })
    .await
}

//! Nodes that fall silent, vanish or are about to be taken back.

use gpu_testbed::fleet::TestNamespace;
use gpu_testbed::fleet::nodes::{NodeSpec, SpotNotice};
use gpu_testbed::{Fleet, eventually, require};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;

use super::objects::{create, gpu_pod, in_phase, node_of};
use super::{SOON, WHOLE};

fn ready_status(node: &Node) -> Option<&str> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
        .map(|condition| condition.status.as_str())
}

fn has_taint(node: &Node, key: &str) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.is_some_and(|taints| taints.iter().any(|taint| taint.key == key))
}

#[tokio::test]
async fn a_silent_node_is_called_lost_by_the_real_controller_manager() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("lost").await?;
            let lost = namespace.nodes().add(NodeSpec::new("lost").gpus(8)).await?;
            let kept = namespace.nodes().add(NodeSpec::new("kept")).await?;
            create(&namespace, gpu_pod("trainer", 8)).await?;
            in_phase(&namespace, "trainer", "Running").await?;
            let nodes: Api<Node> = Api::all(namespace.client());
            namespace.nodes().lose(&lost);
            eventually("the silent node's state is unknown", SOON, || async {
                let node = nodes.get(&lost).await?;
                let told = ready_status(&node) == Some("Unknown")
                    && has_taint(&node, "node.kubernetes.io/unreachable");
                Ok(told.then_some(()))
            })
            .await?;
            assert_eq!(
                ready_status(&nodes.get(&kept).await?),
                Some("True"),
                "the speaking node is ready"
            );

            namespace.nodes().recover(&lost).await?;
            eventually("the recovered node is ready", SOON, || async {
                let node = nodes.get(&lost).await?;
                let well = ready_status(&node) == Some("True")
                    && !has_taint(&node, "node.kubernetes.io/unreachable");
                Ok(well.then_some(()))
            })
            .await?;
            namespace.nodes().remove(&lost).await?;
            assert!(nodes.get_opt(&lost).await?.is_none(), "a removed node is gone");
            Ok(())
        })
        .await
}

#[tokio::test]
async fn a_spot_notice_keeps_the_scheduler_away() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("spot").await?;
            let nodes: Api<Node> = Api::all(namespace.client());
            let doomed = namespace.nodes().add(NodeSpec::new("doomed").gpus(8)).await?;
            create(&namespace, gpu_pod("first", 1)).await?;
            in_phase(&namespace, "first", "Running").await?;
            namespace.nodes().spot_notice(&doomed, SpotNotice::Gcp).await?;
            namespace.nodes().spot_notice(&doomed, SpotNotice::Azure).await?;
            let node = nodes.get(&doomed).await?;
            assert!(
                has_taint(&node, "cloud.google.com/impending-node-termination"),
                "{:?}",
                node.spec
            );
            let conditions = node
                .status
                .and_then(|status| status.conditions)
                .unwrap_or_default();
            assert!(
                conditions
                    .iter()
                    .any(|found| found.type_ == "PreemptScheduled" && found.status == "True")
            );

            // The scheduler hears of the taint a moment later, so the first of these pods may still be bound.
            let mut number = 0;
            let message = eventually("the scheduler refuses a pod", SOON, || {
                number += 1;
                refusal(&namespace, format!("later-{number}"))
            })
            .await?;
            assert!(message.contains("untolerated taint"), "{message}");
            Ok(())
        })
        .await
}

/// Creates a pod and waits until the scheduler has bound it, or refused it with a message.
async fn refusal(namespace: &TestNamespace, name: String) -> anyhow::Result<Option<String>> {
    create(namespace, gpu_pod(&name, 1)).await?;
    let pods = namespace.api::<Pod>();
    eventually("the scheduler has seen the pod", SOON, || async {
        let pod = pods.get(&name).await?;
        if node_of(&pod).is_some() {
            return Ok(Some(None));
        }
        let conditions = pod
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        let refused = conditions
            .into_iter()
            .find(|found| found.reason.as_deref() == Some("Unschedulable"));
        Ok(refused.map(|condition| condition.message))
    })
    .await
}

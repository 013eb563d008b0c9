//! The network of a real node: Services lead to pods, and kubectl's ways into a pod work.

use std::time::Duration;

use anyhow::{Context, ensure};
use gpu_testbed::real_node::{RealNode, until};
use gpu_testbed::require;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use super::pods::{RUNS_WITHIN, TEST_WITHIN, run_pod, shared_node};

#[tokio::test]
async fn a_service_address_leads_to_its_pod() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let (node, _calm) = shared_node().await?;
    let work = async {
        let pod = run_pod(node, "served", None).await?;
        let direct = node.get(&format!("http://{}:8080/", pod.address)).await?;
        assert_eq!(direct.body, "served");

        let services: Api<Service> = Api::default_namespaced(node.client().await?);
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": "served"},
            "spec": {"selector": {"app": "served"}, "ports": [{"port": 80, "targetPort": 8080}]},
        }))?;
        let service = services.create(&PostParams::default(), &service).await?;
        let address = service
            .spec
            .and_then(|spec| spec.cluster_ip)
            .context("a Service has an address")?;
        until("the Service answers", RUNS_WITHIN, async || {
            let answer = node.get(&format!("http://{address}:80/")).await?;
            ensure!(answer.body == "served", "{answer:?}");
            Ok(())
        })
        .await?;
        // From a pod, its own Service and the API server's are reached like any other.
        let inside = node
            .exec(
                "default",
                "served",
                &["testbed-pause", "ask", &format!("{address}:80")],
            )
            .await?;
        ensure!(inside.ends_with("served\n"), "{inside}");
        let plain = node
            .exec("default", "served", &["testbed-pause", "ask", "10.96.0.1:443"])
            .await?;
        ensure!(plain.contains("HTTP request to an HTTPS server"), "{plain}");
        services.delete("served", &DeleteParams::default()).await?;
        pod.delete(node).await
    };
    node.bed().guard(TEST_WITHIN, work).await
}

#[tokio::test]
async fn logs_and_commands_come_from_the_container() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let (node, _calm) = shared_node().await?;
    let work = async {
        let pod = run_pod(node, "talkative", None).await?;
        let logs = node.logs("default", "talkative").await?;
        ensure!(logs.contains("answering on port 8080"), "{logs}");
        // The image has no shell; its one program, called wrongly, must be the one that complains.
        let error = node
            .exec("default", "talkative", &["testbed-pause", "dance"])
            .await
            .unwrap_err();
        let text = format!("{error:#}");
        ensure!(text.contains("usage: testbed-pause"), "{text}");
        pod.delete(node).await
    };
    node.bed().guard(TEST_WITHIN, work).await
}

/// From cached programs; a machine that compiles beside the tests takes longer than an idle one and must still keep it.
const PROMISED_START: Duration = Duration::from_secs(45);

#[tokio::test]
async fn the_node_is_ready_in_the_promised_time() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let took = RealNode::shared().await?.ready_after();
    assert!(took < PROMISED_START, "the node was ready only after {took:?}");
    Ok(())
}

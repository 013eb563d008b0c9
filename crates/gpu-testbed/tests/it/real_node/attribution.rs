//! Who holds which device, as the kubelet itself tells it, and which processes that is.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use gpu_kubelet::podresources::{AllocatableResourcesRequest, ContainerDevices, GetPodResourcesRequest};
use gpu_testbed::real_node::{Health, NODE_NAME, Offers, RealNode, until};
use gpu_testbed::require;
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;

use super::pods::{RUNS_WITHIN, TEST_WITHIN, run_pod, shared_node, shared_node_alone};

fn offered(resource: &str) -> BTreeSet<String> {
    Offers::of_every_kind()
        .devices(resource)
        .map(|(id, _)| id.to_owned())
        .collect()
}

/// All ids of some devices, sorted.
fn device_ids<'a>(devices: impl Iterator<Item = &'a ContainerDevices>) -> Vec<String> {
    let mut ids: Vec<String> = devices.flat_map(|devices| devices.device_ids.clone()).collect();
    ids.sort();
    ids
}

/// The program of a process and the variable by which a container knows its GPUs.
fn program_and_gpus(pid: i32) -> anyhow::Result<(String, Option<String>)> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline"))?;
    let environment = std::fs::read(format!("/proc/{pid}/environ"))?;
    let gpus = environment.split(|byte| *byte == 0).find_map(|entry| {
        std::str::from_utf8(entry)
            .ok()?
            .strip_prefix("NVIDIA_VISIBLE_DEVICES=")
            .map(str::to_owned)
    });
    Ok((String::from_utf8_lossy(&words).replace('\0', " "), gpus))
}

#[tokio::test]
async fn a_pod_with_a_gpu_is_a_real_container_that_the_kubelet_knows() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let (node, _calm) = shared_node().await?;
    let work = async {
        let pod = run_pod(node, "one-gpu", Some(("nvidia.com/gpu", 1))).await?;
        let devices = pod.devices(node, "nvidia.com/gpu").await?;
        ensure!(
            devices.len() == 1 && offered("nvidia.com/gpu").contains(&devices[0]),
            "{devices:?}"
        );

        // Asked for alone, or as a part of all that there is, the answer is the same.
        let mut kubelet = node.pod_resources().await?;
        let question = GetPodResourcesRequest {
            pod_name: "one-gpu".into(),
            pod_namespace: "default".into(),
        };
        let alone = kubelet
            .get(question)
            .await?
            .into_inner()
            .pod_resources
            .context("the pod has resources")?;
        assert_eq!(
            device_ids(alone.containers.iter().flat_map(|container| &container.devices)),
            devices
        );
        let all = kubelet
            .get_allocatable_resources(AllocatableResourcesRequest {})
            .await?
            .into_inner();
        let gpus = all
            .devices
            .iter()
            .filter(|devices| devices.resource_name == "nvidia.com/gpu");
        assert_eq!(device_ids(gpus), Vec::from_iter(offered("nvidia.com/gpu")));

        // The pod's own process and the one that holds its namespaces run on this machine, in groups named by the uid.
        let processes = node.processes_of_pod(&pod.uid);
        ensure!(processes.len() == 2, "{processes:?}");
        let mut workers = Vec::new();
        for pid in processes {
            let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
            ensure!(
                groups.contains(&format!("/kubepods/besteffort/pod{}/", pod.uid)),
                "{groups}"
            );
            let (program, gpus) = program_and_gpus(pid)?;
            if program.contains("answer 8080 one-gpu") {
                workers.push(gpus);
            }
        }
        ensure!(
            workers == [Some(devices[0].clone())],
            "{workers:?} is not the device {devices:?}"
        );
        pod.delete(node).await
    };
    node.bed().guard(TEST_WITHIN, work).await
}

#[tokio::test]
async fn two_pods_share_one_gpu() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let (node, _calm) = shared_node().await?;
    let work = async {
        let one = run_pod(node, "share-one", Some(("nvidia.com/gpu.shared", 1))).await?;
        let two = run_pod(node, "share-two", Some(("nvidia.com/gpu.shared", 1))).await?;
        let mut held = one.devices(node, "nvidia.com/gpu.shared").await?;
        held.extend(two.devices(node, "nvidia.com/gpu.shared").await?);
        let held: BTreeSet<String> = held.into_iter().collect();
        ensure!(held == offered("nvidia.com/gpu.shared"), "{held:?}");
        let gpus: BTreeSet<&str> = held.iter().filter_map(|id| id.split("::").next()).collect();
        ensure!(gpus.len() == 1, "{gpus:?} is more than one GPU");
        one.delete(node).await?;
        two.delete(node).await
    };
    node.bed().guard(TEST_WITHIN, work).await
}

#[tokio::test]
async fn a_restart_of_the_kubelet_changes_no_answer() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let (node, _alone) = shared_node_alone().await?;
    let work = async {
        let pod = run_pod(node, "restarted", Some(("nvidia.com/mig-1g.10gb", 1))).await?;
        let before = pod.devices(node, "nvidia.com/mig-1g.10gb").await?;
        let processes = node.processes_of_pod(&pod.uid);
        ensure!(
            before.len() == 1 && offered("nvidia.com/mig-1g.10gb").contains(&before[0]),
            "{before:?}"
        );
        node.restart_kubelet().await?;
        until("the kubelet lists the same device", RUNS_WITHIN, async || {
            let after = pod.devices(node, "nvidia.com/mig-1g.10gb").await?;
            ensure!(after == before, "{after:?} is not {before:?}");
            Ok(())
        })
        .await?;
        ensure!(
            node.processes_of_pod(&pod.uid) == processes,
            "the container was started anew"
        );
        pod.delete(node).await
    };
    node.bed().guard(TEST_WITHIN, work).await
}

#[tokio::test]
async fn an_unhealthy_device_is_not_on_offer() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let (node, _alone) = shared_node_alone().await?;
    let work = async {
        let sick = "0000:0c:00.0";
        node.set_health(sick, Health::Unhealthy).await?;
        let nodes: Api<Node> = Api::all(node.client().await?);
        let status = nodes
            .get(NODE_NAME)
            .await?
            .status
            .context("a ready node has a status")?;
        let count = |amounts: Option<std::collections::BTreeMap<_, _>>| -> Option<String> {
            let found: k8s_openapi::apimachinery::pkg::api::resource::Quantity =
                amounts?.remove("amd.com/gpu")?;
            Some(found.0)
        };
        // A broken device is still a part of the node.
        assert_eq!(count(status.capacity).as_deref(), Some("2"));
        assert_eq!(count(status.allocatable).as_deref(), Some("1"));

        let pod = run_pod(node, "on-the-healthy-one", Some(("amd.com/gpu", 1))).await?;
        assert_eq!(pod.devices(node, "amd.com/gpu").await?, ["0000:22:00.0"]);
        pod.delete(node).await?;
        node.set_health(sick, Health::Healthy).await
    };
    node.bed().guard(TEST_WITHIN, work).await
}

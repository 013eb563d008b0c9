//! Owners of every sort, every way to ask for GPUs, and what pods hang together with.

use gpu_model::{GpuPod, RequestKind};
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::foreign::Foreign;
use gpu_testbed::{Fleet, eventually, require};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::objects::{apply, one_gpu, pod, pod_spec};
use super::{SOON, WHOLE, Watched, owners, watch};

/// Controllers make pods of these, and name them as they like.
fn workloads(namespace: &str) -> Vec<Value> {
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(&one_gpu())});
    let selector = json!({"matchLabels": {"app": "web"}});
    let meta = |name: &str| json!({"name": name, "namespace": namespace});
    let mut job = pod_spec(&one_gpu());
    job["restartPolicy"] = json!("Never");
    vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("web"),
            "spec": {"replicas": 2, "selector": selector, "template": template}}),
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta("set"),
            "spec": {"serviceName": "set", "replicas": 1, "selector": {"matchLabels": {"app": "set"}},
                "template": {"metadata": {"labels": {"app": "set"}}, "spec": pod_spec(&one_gpu())}}}),
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta("once"), "spec": {"template": {"spec": job}}}),
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta("nightly"),
            "spec": {"schedule": "0 3 * * *", "suspend": true, "jobTemplate": {"spec": {"template": {"spec": job}}}}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": meta("web"),
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta("web"),
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}),
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta("gpus"),
            "spec": {"hard": {"requests.nvidia.com/gpu": "100"}}}),
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": meta("train"), "spec": {"entrypoint": "a"}}),
        pod(namespace, "bare", &one_gpu()),
        pod(
            namespace,
            "slice",
            &json!({"limits": {"nvidia.com/mig-1g.10gb": "1"}}),
        ),
        pod(
            namespace,
            "hami",
            &json!({"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4000", "nvidia.com/gpucores": "30"}}),
        ),
        pod(
            namespace,
            "plain",
            &json!({"requests": {"cpu": "250m", "memory": "1Gi"}}),
        ),
    ]
}

/// A claim by template, whose class is known to be of GPUs by its selector alone.
fn claims(namespace: &str) -> Vec<Value> {
    let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "our-gpus"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == \"gpu.nvidia.com\""}}]}});
    let template = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": "two-gpus", "namespace": namespace},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "our-gpus", "count": 2}}]}}}});
    let mut claimer = pod(namespace, "claimer", &json!({"claims": [{"name": "gpus"}]}));
    claimer["spec"]["resourceClaims"] = json!([{"name": "gpus", "resourceClaimTemplateName": "two-gpus"}]);
    vec![class, template, claimer]
}

/// A pod of an owner that was made by hand: its uid must be the owner's.
async fn owned_pod(
    fleet: &Fleet,
    namespace: &str,
    name: &str,
    owner: (&str, &str, &str),
) -> anyhow::Result<Value> {
    let (group, kind, owner_name) = owner;
    let (group, version) = group.split_once('/').unwrap_or(("", group));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = Api::namespaced_with(fleet.client().await?, namespace, &resource);
    let uid = api.get(owner_name).await?.metadata.uid;
    let mut pod = pod(namespace, name, &one_gpu());
    pod["metadata"]["ownerReferences"] = json!([
        {"apiVersion": format!("{group}/{version}"), "kind": kind, "name": owner_name, "uid": uid, "controller": true},
    ]);
    Ok(pod)
}

/// The only pod whose owners are these.
async fn pod_of(watched: &Watched, namespace: &str, chain: &str) -> anyhow::Result<std::sync::Arc<GpuPod>> {
    watched
        .until(&format!("a pod of {chain}"), |picture| {
            let pods = picture.gpu_pods.values();
            let mut ours = pods.filter(|pod| pod.pod.reference.namespace.as_str() == namespace);
            ours.find(|pod| owners(pod).contains(chain)).cloned()
        })
        .await
}

/// Slices, HAMi and claims.
async fn check_requests(watched: &Watched, name: &str) -> anyhow::Result<()> {
    let slice = watched.pod(name, "slice", |pod| pod.is_ready).await?;
    assert_eq!(slice.requests[0].kind, RequestKind::MigSlice("1g.10gb".parse()?));
    assert_eq!(watched.pod(name, "hami", |_| true).await?.requests.len(), 3);
    // The controller has made the claim, and the pod names it.
    let is_made =
        |kind: &RequestKind| matches!(kind, RequestKind::Claim(claim) if claim.starts_with("claimer-"));
    let claimer = watched
        .pod(name, "claimer", |pod| is_made(&pod.requests[0].kind))
        .await?;
    assert_eq!(
        (claimer.requests[0].count, claimer.pod.resource.as_str()),
        (2, "our-gpus")
    );
    Ok(())
}

/// The node, the other pods on it, the budget and the quota.
async fn check_surroundings(watched: &Watched, name: &str, node: &str, web: &GpuPod) -> anyhow::Result<()> {
    let picture = watched.picture().expect("it was there before");
    let seen = &picture.nodes[node];
    assert_eq!(
        (seen.machine.as_str(), seen.node.capacity_type),
        ("i-0123", gpu_model::CapacityType::Spot)
    );
    let plain = watched.until("the sum of other pods", |picture| {
        picture.other_pods.get(node).copied().filter(|sum| sum.pods == 1)
    });
    assert_eq!(plain.await?.cpu_millicores, 250);
    watched
        .until("the budget was counted", |picture| {
            let budget = picture.disruption_budgets.get(name)?.first()?;
            (budget.disruptions_allowed == Some(1) && budget.covers(&web.pod.labels)).then_some(())
        })
        .await?;
    watched
        .until("the quota", |picture| picture.quotas.get(name).map(drop))
        .await?;
    Ok(())
}

#[tokio::test]
async fn the_picture_of_a_real_cluster_is_whole() -> anyhow::Result<()> {
    require!(Fleet::need(), Foreign::ArgoWorkflows.need());
    let fleet = Fleet::shared();
    let work = async {
        let namespace = fleet.namespace("whole").await?;
        let name = namespace.name();
        Foreign::ArgoWorkflows.install(fleet).await?;
        let spec = NodeSpec::new("a")
            .gpus(16)
            .resource("nvidia.com/mig-1g.10gb", "7")
            .resource("nvidia.com/gpumem", "100000")
            .resource("nvidia.com/gpucores", "800")
            .provider_id("aws:///us-east-1a/i-0123")
            .instance_type("p5.48xlarge")
            .label("karpenter.sh/capacity-type", "spot");
        let node = namespace.nodes().add(spec).await?;
        let watched = watch(fleet.client().await?);
        apply(fleet, "whole", &workloads(name)).await?;
        apply(fleet, "claims", &claims(name)).await?;
        let from = ["-n", name, "create", "job", "nightly-1", "--from=cronjob/nightly"];
        fleet.kubectl(&from).await?;
        apply(
            fleet,
            "step",
            &[owned_pod(fleet, name, "step", ("argoproj.io/v1alpha1", "Workflow", "train")).await?],
        )
        .await?;

        let web = pod_of(&watched, name, "Deployment/web").await?;
        assert!(owners(&web).starts_with("ReplicaSet/web-"), "{}", owners(&web));
        for chain in [
            "StatefulSet/set",
            "Job/once",
            "Job/nightly-1 < CronJob/nightly",
            "Workflow/train",
        ] {
            pod_of(&watched, name, chain).await?;
        }
        let bare = watched.pod(name, "bare", |pod| pod.is_ready).await?;
        assert_eq!((bare.pod.owners.len(), bare.workload.as_ref()), (0, None));
        let served = watched
            .pod(name, web.pod.reference.name.as_str(), |pod| {
                pod.workload
                    .as_ref()
                    .is_some_and(|top| top.is_served == Some(true) && top.replicas == Some(2))
            })
            .await?;
        assert_eq!(served.node.as_ref().map(AsRef::as_ref), Some(node.as_str()));

        check_requests(&watched, name).await?;
        check_surroundings(&watched, name, &node, &web).await?;

        fleet
            .kubectl(&["-n", name, "delete", "deployment", "web"])
            .await?;
        eventually("its pods are gone", SOON, || async {
            let picture = watched.picture().expect("it was there before");
            let mut left = picture
                .gpu_pods
                .values()
                .filter(|pod| owners(pod).contains("Deployment/web"));
            Ok(left.next().is_none().then_some(()))
        })
        .await
    };
    fleet.guard(WHOLE, work).await
}

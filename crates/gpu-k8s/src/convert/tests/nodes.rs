//! Nodes: machines, clouds and how they are paid for.

use gpu_model::{CapacityType, Cloud, ClusterNode, Readiness};
use serde_json::{Value, json};

use super::super::node;

fn read(provider_id: &str, labels: &Value, annotations: &Value) -> ClusterNode {
    let text = json!({
        "metadata": {"name": "n1", "uid": "node-uid", "labels": labels, "annotations": annotations,
            "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"providerID": provider_id, "unschedulable": true, "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "64", "nvidia.com/gpu": "8"},
            "allocatable": {"cpu": "63500m", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "7", "hugepages-1Gi": "0"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    node(&text.to_string()).expect("a node")
}

#[track_caller]
fn check_machine(provider_id: &str, annotations: &Value, cloud: Cloud, machine: &str) {
    let found = read(provider_id, &json!({}), annotations);
    assert_eq!((found.node.cloud, found.machine.as_str()), (cloud, machine));
}

#[test]
fn the_machine_is_told_from_its_name() {
    check_machine("aws:///us-east-1a/i-0abc", &json!({}), Cloud::Aws, "i-0abc");
    let id = json!({"container.googleapis.com/instance_id": "123456"});
    check_machine("gce://project/us-central1-a/pool-1", &id, Cloud::Gcp, "123456");
    // The name of a machine in a group comes back with its successor; the node's uid does not.
    check_machine(
        "gce://project/us-central1-a/pool-1",
        &json!({}),
        Cloud::Gcp,
        "node-uid",
    );
    check_machine(
        "azure:///subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachineScaleSets/V/virtualMachines/3",
        &json!({}),
        Cloud::Azure,
        "subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachinescalesets/v/virtualmachines/3",
    );
    check_machine(
        "kind://docker/kind/worker",
        &json!({}),
        Cloud::OnPremises,
        "node-uid",
    );
}

#[track_caller]
fn check_capacity(provider_id: &str, labels: &Value, expected: CapacityType) {
    let found = read(provider_id, labels, &json!({}));
    assert_eq!(found.node.capacity_type, expected, "{labels}");
}

#[test]
fn every_tools_label_says_how_a_node_is_paid_for() {
    let aws = "aws:///z/i-1";
    check_capacity(
        aws,
        &json!({"karpenter.sh/capacity-type": "spot"}),
        CapacityType::Spot,
    );
    check_capacity(
        aws,
        &json!({"karpenter.sh/capacity-type": "reserved"}),
        CapacityType::Reserved,
    );
    check_capacity(
        aws,
        &json!({"eks.amazonaws.com/capacityType": "SPOT"}),
        CapacityType::Spot,
    );
    check_capacity(
        aws,
        &json!({"eks.amazonaws.com/capacityType": "ON_DEMAND"}),
        CapacityType::OnDemand,
    );
    check_capacity(
        aws,
        &json!({"eks.amazonaws.com/capacityType": "CAPACITY_BLOCK"}),
        CapacityType::Reserved,
    );
    check_capacity(
        "gce://p/z/n",
        &json!({"cloud.google.com/gke-spot": "true"}),
        CapacityType::Spot,
    );
    check_capacity(
        "gce://p/z/n",
        &json!({"cloud.google.com/gke-preemptible": "true"}),
        CapacityType::Spot,
    );
    check_capacity(
        "gce://p/z/n",
        &json!({"cloud.google.com/gke-provisioning": "spot"}),
        CapacityType::Spot,
    );
    check_capacity(
        "azure:///s",
        &json!({"kubernetes.azure.com/scalesetpriority": "spot"}),
        CapacityType::Spot,
    );
    check_capacity("azure:///s", &json!({}), CapacityType::OnDemand);
    check_capacity("", &json!({}), CapacityType::Owned);
    // Ours wins: it is set by people who know better.
    let both = json!({"karpenter.sh/capacity-type": "spot", "gpu-autoscaler.io/capacity-type": "reserved"});
    check_capacity(aws, &both, CapacityType::Reserved);
}

#[test]
fn what_it_has_to_give_is_read() {
    let labels =
        json!({"node.kubernetes.io/instance-type": "p5.48xlarge", "topology.kubernetes.io/zone": "z"});
    let found = read("aws:///z/i-1", &labels, &json!({}));
    assert_eq!(found.gpus.values().copied().collect::<Vec<_>>(), [7]);
    assert_eq!(found.gpu_capacity.values().copied().collect::<Vec<_>>(), [8]);
    assert_eq!((found.host.cpu_millicores, found.host.pods), (63_500, 110));
    assert_eq!(found.readiness, Readiness::Ready);
    assert!(found.is_cordoned);
    assert_eq!(found.node.instance_type.as_deref(), Some("p5.48xlarge"));
    assert_eq!(found.node.zone.as_deref(), Some("z"));
    assert_eq!(found.taints.len(), 1);
}

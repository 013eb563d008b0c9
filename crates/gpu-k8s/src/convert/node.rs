//! A node: which machine it is, how it is paid for, and what it has to give.

use std::sync::Arc;

use gpu_model::{
    Bytes, CapacityType, Cloud, ClusterNode, HostRequest, MachineId, Node, NodeName, Readiness, Taint,
};
use jiff::Timestamp;

use super::requests::{amount, gpus_in};
use super::wire::{Condition, Metadata, NodeSpec, NodeStatus, Object};
use super::{Labels, Unreadable};
use crate::names::{GKE_INSTANCE_ID, label};
use crate::quantity;

/// Reads a node.
pub fn node(text: &str) -> Result<ClusterNode, Unreadable> {
    let object: Object<NodeSpec, NodeStatus> = serde_json::from_str(text)?;
    let (metadata, spec, status) = (object.metadata, object.spec, object.status);
    let cloud = cloud_of(spec.provider_id.as_deref());
    let machine = machine_of(cloud, spec.provider_id.as_deref(), &metadata);
    let allocatable = &status.allocatable;
    let number = |name: &str, read: fn(&str) -> Result<u64, quantity::QuantityError>| {
        amount(allocatable, name, "allocatable", read).map(|found| found.unwrap_or(0))
    };
    let host = HostRequest {
        cpu_millicores: number("cpu", quantity::thousandths)?,
        memory: Bytes(number("memory", quantity::units)?),
        pods: u32::try_from(number("pods", quantity::units)?).unwrap_or(u32::MAX),
    };
    let first = |names: &[&str]| names.iter().find_map(|name| metadata.labels.get(*name)).cloned();
    let taints = spec.taints.into_iter().map(|taint| Taint {
        key: taint.key,
        value: taint.value.unwrap_or_default(),
        effect: taint.effect,
    });
    Ok(ClusterNode {
        uid: metadata.uid.clone(),
        machine: MachineId::new(machine).or_else(|_| MachineId::new(&metadata.uid))?,
        created_at: metadata.creation_timestamp.unwrap_or(Timestamp::UNIX_EPOCH),
        readiness: readiness(&status.conditions),
        is_cordoned: spec.unschedulable.unwrap_or(false),
        taints: taints.collect(),
        host,
        gpus: gpus_in(allocatable, "allocatable")?,
        gpu_capacity: gpus_in(&status.capacity, "capacity")?,
        node: Arc::new(Node {
            name: NodeName::new(&metadata.name)?,
            cloud,
            instance_type: first(&label::INSTANCE_TYPE),
            region: first(&label::REGION),
            zone: first(&label::ZONE),
            capacity_type: capacity_type(cloud, &metadata.labels),
            labels: metadata.labels,
        }),
    })
}

fn cloud_of(provider_id: Option<&str>) -> Cloud {
    let provider = provider_id
        .and_then(|id| id.split_once("://"))
        .map(|(name, _)| name);
    match provider {
        Some("aws") => Cloud::Aws,
        Some("gce") => Cloud::Gcp,
        Some("azure") => Cloud::Azure,
        _ => Cloud::OnPremises,
    }
}

/// The id that belongs to the machine alone. A GCE address holds a name, which the group gives to the machine's successor too:
/// there the annotation is asked, and else the node object's own uid, which ends with the machine.
fn machine_of(cloud: Cloud, provider_id: Option<&str>, metadata: &Metadata) -> String {
    let path = provider_id
        .and_then(|id| id.split_once("://"))
        .map(|(_, path)| path.trim_start_matches('/'));
    let id = match cloud {
        Cloud::Aws => path.and_then(|path| path.rsplit('/').next()).map(str::to_owned),
        Cloud::Gcp => metadata.annotations.get(GKE_INSTANCE_ID).cloned(),
        Cloud::Azure => path.map(str::to_ascii_lowercase),
        Cloud::OnPremises => None,
    };
    id.filter(|id| !id.is_empty())
        .unwrap_or_else(|| metadata.uid.clone())
}

fn readiness(conditions: &[Condition]) -> Readiness {
    let ready = conditions.iter().find(|condition| condition.kind == "Ready");
    match ready.map(|condition| condition.status.as_str()) {
        Some("True") => Readiness::Ready,
        Some("False") => Readiness::NotReady,
        _ => Readiness::Unknown,
    }
}

/// Our own label first, then those of the tools that make nodes. A cloud's machine without a mark is paid for on demand, which
/// is the dearer reading; one outside the clouds we know is owned.
fn capacity_type(cloud: Cloud, labels: &Labels) -> CapacityType {
    let value = |name: &str| labels.get(name).map(|text| text.to_ascii_lowercase());
    let is_set = |name: &str| value(name).as_deref() == Some("true");
    for name in [
        label::CAPACITY_TYPE,
        label::KARPENTER_CAPACITY_TYPE,
        label::EKS_CAPACITY_TYPE,
        label::AKS_PRIORITY,
        label::LIFECYCLE,
        label::GKE_PROVISIONING,
    ] {
        match value(name).as_deref() {
            Some("spot" | "preemptible") => return CapacityType::Spot,
            Some("reserved" | "capacity_block" | "reservation") => return CapacityType::Reserved,
            Some("on-demand" | "on_demand" | "ondemand" | "regular" | "normal") => {
                return CapacityType::OnDemand;
            }
            Some("owned") => return CapacityType::Owned,
            _ => {}
        }
    }
    if is_set(label::GKE_SPOT) || is_set(label::GKE_PREEMPTIBLE) {
        return CapacityType::Spot;
    }
    if labels.contains_key(label::GKE_RESERVATION) {
        return CapacityType::Reserved;
    }
    match cloud {
        Cloud::Aws | Cloud::Gcp | Cloud::Azure => CapacityType::OnDemand,
        Cloud::OnPremises => CapacityType::Owned,
    }
}

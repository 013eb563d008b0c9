//! The whole fleet at one instant: nodes, their GPUs, the parts of each GPU and who holds them.
//!
//! A view is a value. What does not change from one second to the next is shared behind an `Arc`, so that taking a view
//! of thousands of GPUs copies numbers and not names. It has no wire format of its own: the API's types are made from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Bytes, ClusterId, ContainerName, DeviceId, GpuIndex, GpuSample, GpuUuid, NodeName, Partition, PciAddress,
    Permille, Pod, Reading, ResourceName, Vendor,
};

/// Where the figures come from. Simulated figures say so wherever they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Measured,
    Simulated,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetView {
    pub cluster: ClusterId,
    pub at: Timestamp,
    pub source: Source,
    /// Ordered by name.
    pub nodes: Vec<NodeView>,
    /// Pods that ask for GPUs and have no node yet, the oldest first.
    pub pending: Vec<Arc<Pod>>,
}

impl FleetView {
    pub fn gpus(&self) -> impl Iterator<Item = &GpuView> {
        self.nodes.iter().flat_map(|node| &node.gpus)
    }

    pub fn gpu_count(&self) -> usize {
        self.nodes.iter().map(|node| node.gpus.len()).sum()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    pub node: Arc<Node>,
    /// Ordered by index.
    pub gpus: Vec<GpuView>,
}

/// What a node is, apart from what happens on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: NodeName,
    pub cloud: Cloud,
    pub instance_type: Option<String>,
    pub region: Option<String>,
    pub zone: Option<String>,
    pub capacity_type: CapacityType,
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cloud {
    Aws,
    Gcp,
    Azure,
    OnPremises,
}

impl Cloud {
    pub fn as_str(self) -> &'static str {
        match self {
            Cloud::Aws => "aws",
            Cloud::Gcp => "gcp",
            Cloud::Azure => "azure",
            Cloud::OnPremises => "on-premises",
        }
    }
}

/// How a node is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityType {
    Spot,
    OnDemand,
    Reserved,
    /// Bought, not rented.
    Owned,
}

impl CapacityType {
    pub fn as_str(self) -> &'static str {
        match self {
            CapacityType::Spot => "spot",
            CapacityType::OnDemand => "on-demand",
            CapacityType::Reserved => "reserved",
            CapacityType::Owned => "owned",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuView {
    pub device: Arc<Device>,
    pub sample: GpuSample,
    /// The parts a container can be given; a GPU that is not divided has one, the whole.
    pub parts: Vec<PartView>,
}

impl GpuView {
    pub fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.parts.iter().filter_map(|part| part.owner.as_ref())
    }
}

/// What a GPU is, apart from what happens on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub uuid: GpuUuid,
    pub index: GpuIndex,
    pub vendor: Vendor,
    /// The driver's product name. `GpuModel::find` knows more about the usual ones.
    pub model: String,
    /// Its version, where the source tells it.
    pub driver: Option<String>,
    pub pci_address: Option<PciAddress>,
}

/// One schedulable part of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartView {
    pub partition: Partition,
    /// The id by which the device plugin hands the part out, such as `MIG-<uuid>` or `GPU-<uuid>::2`.
    pub device_id: DeviceId,
    pub resource: ResourceName,
    pub memory_total: Reading<Bytes>,
    pub usage: PartUsage,
    pub owner: Option<Owner>,
}

/// What happens on one part alone; the sum over the parts is never more than the GPU's own figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartUsage {
    /// Share of the GPU's time, for parts that share time; of the slice's own time on a slice.
    pub utilization: Reading<Permille>,
    pub sm_active: Reading<Permille>,
    pub memory_used: Reading<Bytes>,
    pub processes: Reading<u32>,
}

/// The container that holds a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub pod: Arc<Pod>,
    pub container: ContainerName,
}

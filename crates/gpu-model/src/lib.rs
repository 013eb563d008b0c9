//! The values every other crate speaks in: ids, quantities, money, devices and the fleet at one instant.
//!
//! Nothing here reads a clock, a file or the environment, and nothing decides anything: rules, plans and prices live in
//! the crates that stand on this one.

mod catalogue;
mod cluster;
mod fleet;
mod harvest;
mod ids;
mod mig;
mod money;
mod partition;
mod quantity;
mod reading;
mod sample;
mod selector;
mod vendor;
mod workload;

pub use catalogue::{Architecture, ClockRange, GpuModel, MODELS};
pub use cluster::{
    ClusterNode, ClusterPicture, DisruptionBudget, GpuPod, GpuQuota, GpuRequest, HostRequest, PodKey,
    PodSettings, QuotaUse, Readiness, RequestKind, SharingMode, Taint, Workload,
};
pub use fleet::{
    CapacityType, Cloud, Device, FleetView, GpuView, Node, NodeView, Owner, PartUsage, PartView, Source,
};
pub use harvest::{Attribution, GpuReport, Harvest, HolderHint, PartReport, TargetFailure, TargetReport};
pub use ids::{
    ClusterId, ContainerName, DeviceId, GpuIndex, GpuUuid, IdError, MachineId, MigProfileName, Namespace,
    NodeName, PciAddress, PodName, PodRef, PodUid, ResourceName,
};
pub use mig::{MIG_TABLES, MigProfile, MigTable};
pub use money::{NanoUsd, SplitError};
pub use partition::{AmdComputeMode, Partition};
pub use quantity::{Bytes, Celsius, Megahertz, Millijoules, Milliwatts, OutOfRange, Permille};
pub use reading::Reading;
pub use sample::{FaultCount, GpuSample, ThrottleReason, ThrottleTime};
pub use selector::{Operator, Requirement, Selector};
pub use vendor::Vendor;
pub use workload::{OwnerRef, Pod, PodPhase};

//! The product of one cycle: all devices of the node with their owners, immutable, behind an `ArcSwap`. Pages and answers
//! are made from it alone; nothing that serves a request touches a driver, the kubelet or the API server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpu_model::{ContainerName, Namespace, PodName, PodUid, Reading, Vendor};
use jiff::Timestamp;

use crate::readings::{DeviceReadings, SliceId, ThrottleReason};

/// Whether figures were measured or come from the simulated source, which every page must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Measured,
    Simulated,
}

/// Labels from the API server, by name: few, short, and shared from one snapshot to the next.
pub type LabelSet = Arc<[(String, String)]>;

/// The node at one instant.
#[derive(Debug, Clone)]
pub struct NodeSnapshot {
    /// Grows by one with every snapshot; a page made from this one carries it.
    pub sequence: u64,
    pub at: Timestamp,
    pub node: String,
    pub origin: Origin,
    /// The node's own labels; `None` where the API server is not asked.
    pub node_labels: Option<LabelSet>,
    /// The one pod beside which the exporter runs; `None` where it speaks for a node.
    pub workload: Option<Arc<Workload>>,
    /// By name of the source.
    pub sources: Vec<SourceStatus>,
    /// By vendor and index.
    pub devices: Vec<DeviceSnapshot>,
}

/// The pod whose GPUs a sidecar shows, and the workflow that the pod is a step of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    pub namespace: Namespace,
    pub pod: PodName,
    /// The labels of the workflow under the names of the page, as far as they are known.
    pub workflow: Vec<(&'static str, String)>,
    /// The pod's labels that may be shown.
    pub labels: LabelSet,
}

/// How one source (a driver, the kubelet, the kernel log) is doing.
#[derive(Debug, Clone)]
pub struct SourceStatus {
    pub name: &'static str,
    /// The last attempt succeeded.
    pub up: bool,
    /// What failed and what to do, for people; never a label.
    pub problem: Option<Arc<str>>,
    pub last_success_age: Option<Duration>,
    pub last_duration: Option<Duration>,
    /// By class, a closed set of words of the source.
    pub errors: BTreeMap<&'static str, u64>,
}

/// What a device is, apart from what happens on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub vendor: Vendor,
    pub index: u32,
    /// The number in the device file's name (`nvidia0`, `renderD128`); not always the index.
    pub minor: Option<u32>,
    pub uuid: String,
    pub model: String,
    /// Lower case, with the eight-digit domain of NVML, `00000000:1b:00.0`, or the kernel's four digits, `0000:1b:00.0`.
    pub pci_bus_id: String,
    pub serial: Option<String>,
    pub vbios: Option<String>,
    pub driver_version: String,
    pub architecture: Option<&'static str>,
    pub board: Board,
}

/// What only some vendors tell of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Board {
    /// The number in the name of the graphics device file (`card1`), which AMD's resource driver goes by.
    pub card: Option<u32>,
    /// The same of the render device file (`renderD128`).
    pub render: Option<u32>,
    /// The product line, such as `AMD Instinct MI300X OAM`.
    pub series: Option<String>,
    /// The maker's number of the product, such as `102-G30211-00`.
    pub number: Option<String>,
    /// Who made the board.
    pub maker: Option<String>,
    /// How the compute dies are divided among partitions, as the driver writes it: `SPX`, `CPX`.
    pub compute_partition: Option<String>,
    /// How the memory is divided: `NPS1`, `NPS4`.
    pub memory_partition: Option<String>,
    /// Whether the device is a machine's own or a part that was handed to a virtual one, in AMD's words: `baremetal`, `vm_vf`.
    pub deployment: Option<&'static str>,
}

/// Whether the device answered when it was last asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    Up,
    /// Calls fail; the class of the last error.
    Failing(&'static str),
    /// A call has not returned; what is shown is older than the cycle.
    Stuck,
    /// The driver says the device is gone.
    Lost,
}

/// A device, its readings, its running totals and its owners.
#[derive(Debug, Clone)]
pub struct DeviceSnapshot {
    pub identity: Arc<Identity>,
    pub state: DeviceState,
    /// Since the last complete sample; `None` before the first.
    pub age: Option<Duration>,
    /// The same for what is read slowly.
    pub slow_age: Option<Duration>,
    pub readings: Arc<DeviceReadings>,
    pub totals: Totals,
    /// Driver faults (XIDs) by code since the exporter started.
    pub faults: Vec<(u32, u64)>,
    /// Why a value is withheld although the driver gave one.
    pub restricted: Option<Restriction>,
    pub holders: Vec<Holder>,
    /// The jobs of a batch system that were given the device or slices of it, by slice and id; each once.
    pub jobs: Arc<[Job]>,
    pub unattributed: Vec<Unattributed>,
    pub errors: BTreeMap<&'static str, u64>,
    pub rejected_total: u64,
}

/// Sums that the exporter keeps itself, so that nothing between two scrapes is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Utilisation integrated over time, in seconds.
    pub busy_seconds: Reading<f64>,
    /// The driver's counter, or power integrated over time where it has none, in joules.
    pub energy_joules: Reading<f64>,
    pub pcie_sent_bytes: Reading<f64>,
    pub pcie_received_bytes: Reading<f64>,
    /// In the order of [`ThrottleReason::ALL`].
    pub throttle_seconds: [Reading<f64>; ThrottleReason::ALL.len()],
}

/// Contradicting signals: what they say and which value is withheld for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restriction {
    /// Utilisation reads 0 while processes hold memory and the power is far above idle.
    UtilizationPinnedAtZero,
}

impl Restriction {
    /// The value of the `reason` label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UtilizationPinnedAtZero => "utilization_pinned_at_zero",
        }
    }
}

/// A container that holds the device or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
    pub namespace: Namespace,
    pub pod: PodName,
    pub container: ContainerName,
    pub uid: Option<PodUid>,
    /// The pod's labels that may be shown, as far as they are known.
    pub labels: LabelSet,
    /// The slice it holds, or holds a share of, where the device is sliced and the slice is known.
    pub slice: Option<SliceId>,
    pub part: HeldPart,
    /// Only what the driver measured for this holder alone.
    pub memory_bytes: Reading<f64>,
    pub utilization: Reading<f64>,
}

/// Which part of the device a holder was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldPart {
    Whole,
    Slice(SliceId),
    /// One of several names of the same device, as the device plugin numbers them.
    Replica(String),
    /// A dynamic resource claim, with its share where the device is shared.
    Claim {
        claim: String,
        share: Option<String>,
    },
}

/// A job of a batch system, as the files of its prolog name it. Nothing is measured for it alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// The number of the GPU instance that it was given; `None` is the device with all of its slices.
    pub instance: Option<u32>,
    pub id: String,
    pub user: Option<String>,
    /// The batch system's partition (a queue), not that of a GPU.
    pub partition: Option<String>,
    pub cluster: Option<String>,
}

impl Job {
    /// Whether it was given the slice, or the device itself where none is named.
    pub fn holds(&self, slice: Option<SliceId>) -> bool {
        match (self.instance, slice) {
            (None, _) => true,
            (Some(instance), Some(slice)) => slice.gi == instance,
            (Some(_), None) => false,
        }
    }
}

/// What a device did for nobody we can name. With the holders' shares it sums to the device's own figure, and on a slice
/// to the slice's.
#[derive(Debug, Clone, PartialEq)]
pub struct Unattributed {
    /// The slice on which it happened; `None` is the device itself.
    pub slice: Option<SliceId>,
    pub reason: UnattributedReason,
    pub memory_bytes: Reading<f64>,
    pub utilization: Reading<f64>,
}

/// Why something has no owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnattributedReason {
    /// The driver does not measure it per process on this device.
    NotMeasured,
    /// A process that belongs to no pod.
    OutsideKubernetes,
    /// A process of a pod that the kubelet does not list with a device.
    UnknownPod,
    /// A process of a pod that holds the device with several containers, where nothing tells which of them it is.
    UnknownContainer,
    /// A process whose control group could not be read: it has ended since, or the exporter may not see it.
    UnreadableProcess,
    /// The driver's own use, such as reserved memory.
    Driver,
}

impl UnattributedReason {
    /// The value of the `reason` label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotMeasured => "not_measured",
            Self::OutsideKubernetes => "outside_kubernetes",
            Self::UnknownPod => "unknown_pod",
            Self::UnknownContainer => "unknown_container",
            Self::UnreadableProcess => "unreadable_process",
            Self::Driver => "driver",
        }
    }
}

//! One GPU and all its values. `None` is a value this GPU does not support.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Model;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    pub model: Model,
    pub name: String,
    pub uuid: String,
    pub minor: u32,
    pub pci_domain: u32,
    pub pci_bus: u32,
    pub pci_device: u32,
    /// Device id in the upper half, vendor id in the lower, as NVML packs them.
    pub pci_device_id: u32,
    pub serial: Option<String>,
    pub vbios: Option<String>,
    pub board_part: Option<String>,
    pub architecture: u32,
    pub compute_capability: (i32, i32),
    pub brand: u32,
    pub numa_node: Option<u32>,
    pub utilization: Option<Utilization>,
    pub encoder: Option<u32>,
    pub decoder: Option<u32>,
    pub jpeg: Option<u32>,
    pub ofa: Option<u32>,
    pub memory: Memory,
    pub bar1: Option<Bar1>,
    pub power: Option<Power>,
    pub energy_millijoules: Option<u64>,
    pub temperatures: Temperatures,
    pub clocks: Clocks,
    pub max_clocks: Clocks,
    pub application_clocks: Option<Clocks>,
    pub performance_state: u32,
    pub clock_reasons: u64,
    pub throttled: Option<Throttled>,
    pub pcie: Pcie,
    pub nvlink: Option<NvLink>,
    pub ecc: Option<Ecc>,
    pub remapped: Option<Remapped>,
    pub retired: Option<Retired>,
    pub fabric: Option<Fabric>,
    /// `None` for a model that cannot be sliced.
    pub mig: Option<Mig>,
    pub processes: Vec<Process>,
    pub licence: Option<Licence>,
    /// Values by GPM metric id; `None` for a model without GPM. `NaN` cannot be written in JSON, so a metric without
    /// data is a `null`.
    pub gpm: Option<BTreeMap<u32, Option<f64>>>,
    /// Every call on it says that it is lost.
    pub lost: bool,
    /// It is not counted or listed any more.
    pub vanished: bool,
}

/// Percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Utilization {
    pub gpu: u32,
    pub memory: u32,
}

/// Bytes. What is neither reserved nor used is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    pub total: u64,
    pub reserved: u64,
    pub used: u64,
}

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar1 {
    pub total: u64,
    pub used: u64,
}

/// Milliwatts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    pub usage: u32,
    pub instant: Option<u32>,
    pub limit: u32,
    pub default_limit: u32,
    pub min_limit: u32,
    pub max_limit: u32,
    pub enforced: u32,
}

/// Degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Temperatures {
    pub gpu: u32,
    pub memory: Option<u32>,
    pub margin: Option<i32>,
    pub slowdown: Option<u32>,
    pub shutdown: Option<u32>,
    pub gpu_max: Option<u32>,
    pub memory_max: Option<u32>,
}

/// Megahertz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    pub graphics: u32,
    pub sm: u32,
    pub memory: u32,
    pub video: u32,
}

/// Nanoseconds since the driver was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Throttled {
    pub power_cap: u64,
    pub thermal: u64,
    pub sync_boost: u64,
    pub board_limit: u64,
    pub low_utilization: u64,
    pub reliability: u64,
    pub app_clocks: u64,
    pub base_clocks: u64,
    /// The three below are fields whose ids were renumbered at driver 580.82.
    pub sw_thermal: u64,
    pub hw_thermal: u64,
    pub hw_power_brake: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pcie {
    pub replays: u32,
    pub generation: u32,
    pub width: u32,
    pub max_generation: u32,
    pub max_width: u32,
    /// KiB per second, averaged by the driver over 20 ms.
    pub tx_kib_per_second: u32,
    pub rx_kib_per_second: u32,
    /// Byte counters, which only newer parts have.
    pub tx_bytes: Option<u64>,
    pub rx_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLink {
    pub links: u32,
    pub version: u32,
    /// Links that are down.
    pub down: Vec<u32>,
    pub remote: Remote,
    /// KiB since the driver was loaded, of each link.
    pub tx_kib: u64,
    pub rx_kib: u64,
    pub tx_kib_per_second: u64,
    pub rx_kib_per_second: u64,
    pub errors: NvLinkErrors,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remote {
    Gpu,
    Switch,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NvLinkErrors {
    pub replay: u64,
    pub recovery: u64,
    pub crc_flit: u64,
    pub crc_data: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ecc {
    pub enabled: bool,
    pub pending: bool,
    pub volatile: EccCounts,
    pub aggregate: EccCounts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EccCounts {
    pub corrected: u64,
    pub uncorrected: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Remapped {
    pub correctable: u32,
    pub uncorrectable: u32,
    pub pending: bool,
    pub failure: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retired {
    pub single_bit: u32,
    pub double_bit: u32,
    pub pending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    pub cluster: [u8; 16],
    pub status: u32,
    pub clique: u32,
    pub state: u8,
    pub health_mask: u32,
    pub health_summary: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mig {
    pub enabled: bool,
    pub pending: bool,
    pub max_devices: u32,
    /// At its place in the driver's list; `None` is a hole left by a destroyed instance.
    pub instances: Vec<Option<MigInstance>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigInstance {
    pub uuid: String,
    pub profile: String,
    pub gpu_instance: u32,
    pub compute_instance: u32,
    pub gpu_slices: u32,
    pub compute_slices: u32,
    pub multiprocessors: u32,
    pub memory_mib: u64,
    pub memory_used: u64,
    pub gpm: Option<BTreeMap<u32, Option<f64>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: u32,
    pub kind: ProcessKind,
    /// Bytes; `None` where the driver does not know, as inside some virtual machines.
    pub memory: Option<u64>,
    /// Percent; `None` for a process without samples.
    pub sm: Option<u32>,
    #[serde(default)]
    pub mem: u32,
    #[serde(default)]
    pub gpu_instance: Option<u32>,
    #[serde(default)]
    pub compute_instance: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessKind {
    Compute,
    Graphics,
    /// A client of the MPS server; listed among the compute processes too.
    Mps,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Licence {
    pub product: String,
    pub feature: u32,
    pub licensed: bool,
}

//! Every metric this program serves: name, help, kind and unit, once.

use gpu_exposition::FamilyMeta;
use gpu_exposition::MetricKind::{self, Counter, Gauge, Info};

type Family = FamilyMeta<'static>;

const fn family(name: &'static str, kind: MetricKind, help: &'static str) -> Family {
    FamilyMeta::new(name, help, kind)
}

pub(crate) const GPU_INFO: Family = family(
    "gpu_info",
    Info,
    "What the GPU is. The label source is sim where the GPU and all its values are simulated.",
);
pub(crate) const GPU_UP: Family = family(
    "gpu_up",
    Gauge,
    "Whether the GPU answered when it was last asked.",
);
pub(crate) const UTILIZATION: Family = family(
    "gpu_utilization_ratio",
    Gauge,
    "Share of the time in which at least one kernel ran on the GPU.",
)
.with_unit("ratio");
pub(crate) const MEMORY_USED: Family =
    family("gpu_memory_used_bytes", Gauge, "Device memory in use.").with_unit("bytes");
pub(crate) const MEMORY_TOTAL: Family =
    family("gpu_memory_total_bytes", Gauge, "Device memory of the GPU.").with_unit("bytes");
pub(crate) const MEMORY_USED_RATIO: Family = family(
    "gpu_memory_used_ratio",
    Gauge,
    "Share of the device memory in use.",
)
.with_unit("ratio");
pub(crate) const MEMORY_BANDWIDTH: Family = family(
    "gpu_memory_bandwidth_utilization_ratio",
    Gauge,
    "Share of the time in which device memory was read or written.",
)
.with_unit("ratio");
pub(crate) const POWER: Family =
    family("gpu_power_watts", Gauge, "Power the board draws.").with_unit("watts");
pub(crate) const POWER_LIMIT: Family = family(
    "gpu_power_limit_watts",
    Gauge,
    "Power limit in force on the board.",
)
.with_unit("watts");
pub(crate) const ENERGY: Family = family(
    "gpu_energy_joules_total",
    Counter,
    "Energy used since the driver started.",
)
.with_unit("joules");
pub(crate) const TEMPERATURE: Family =
    family("gpu_temperature_celsius", Gauge, "Temperature by sensor.").with_unit("celsius");
pub(crate) const CLOCK: Family =
    family("gpu_clock_hertz", Gauge, "Clock frequency by clock.").with_unit("hertz");
pub(crate) const BUSY: Family = family(
    "gpu_busy_seconds_total",
    Counter,
    "Time in which at least one kernel ran.",
)
.with_unit("seconds");
pub(crate) const THROTTLE: Family = family(
    "gpu_throttle_seconds_total",
    Counter,
    "Time in which the clocks were held down, by reason.",
)
.with_unit("seconds");
pub(crate) const SM_ACTIVE: Family = family(
    "gpu_sm_active_ratio",
    Gauge,
    "Share of the multiprocessors that had work.",
)
.with_unit("ratio");
pub(crate) const SM_OCCUPANCY: Family = family(
    "gpu_sm_occupancy_ratio",
    Gauge,
    "Share of the warps resident on the multiprocessors of those that fit.",
)
.with_unit("ratio");
pub(crate) const TENSOR_ACTIVE: Family = family(
    "gpu_tensor_active_ratio",
    Gauge,
    "Share of the time in which the tensor pipes were active.",
)
.with_unit("ratio");
pub(crate) const DRAM_ACTIVE: Family = family(
    "gpu_dram_active_ratio",
    Gauge,
    "Share of the time in which the memory interface moved data.",
)
.with_unit("ratio");
pub(crate) const PCIE: Family = family(
    "gpu_pcie_bytes_total",
    Counter,
    "Bytes moved over the PCIe bus, by direction.",
)
.with_unit("bytes");
pub(crate) const FAULTS: Family = family(
    "gpu_faults_total",
    Counter,
    "Faults the driver reported, by its code (XID on NVIDIA).",
);
pub(crate) const PROCESSES: Family = family(
    "gpu_processes",
    Gauge,
    "Processes that hold a context on the GPU.",
);
pub(crate) const CONTAINER_UTILIZATION: Family = family(
    "gpu_container_utilization_ratio",
    Gauge,
    "Utilization of the part of a GPU that the container holds, or its share of a GPU whose time it shares.",
)
.with_unit("ratio");
pub(crate) const CONTAINER_MEMORY: Family = family(
    "gpu_container_memory_bytes",
    Gauge,
    "Device memory that the container uses.",
)
.with_unit("bytes");

pub(crate) const BUILD_INFO: Family = family("gpu_autoscaler_build_info", Info, "The running program.");
pub(crate) const CLUSTER_UTILIZATION: Family = family(
    "gpu_autoscaler_cluster_utilization",
    Gauge,
    "Mean utilization of the GPUs that report it, from 0 to 1.",
);
pub(crate) const PENDING_PODS: Family = family(
    "gpu_autoscaler_pending_pods",
    Gauge,
    "Pods that ask for GPUs and have no node.",
);

pub(crate) const LEADER: Family = family(
    "gpu_autoscaler_leader",
    Gauge,
    "Whether this replica leads, so that it is the one that writes.",
);
pub(crate) const WRITES: Family = family(
    "gpu_autoscaler_writes_total",
    Counter,
    "Changes of the cluster by kind and by what became of them.",
);

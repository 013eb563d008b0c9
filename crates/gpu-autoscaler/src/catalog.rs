//! Every metric this program serves: name, help, kind and unit, once.

use gpu_exposition::FamilyMeta;
use gpu_exposition::MetricKind::{self, Counter, Gauge, Info, Summary};

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
pub(crate) const RECONCILES: Family = family(
    "gpu_autoscaler_reconciles_total",
    Counter,
    "Turns of a loop since the program started.",
);
pub(crate) const RECONCILE_ERRORS: Family = family(
    "gpu_autoscaler_reconcile_errors_total",
    Counter,
    "Turns of a loop that failed.",
);
pub(crate) const RECONCILE_DURATION: Family = family(
    "gpu_autoscaler_reconcile_duration_seconds",
    Summary,
    "Time that the turns of a loop took.",
)
.with_unit("seconds");
pub(crate) const LAST_RECONCILE: Family = family(
    "gpu_autoscaler_last_reconcile_timestamp",
    Gauge,
    "When a loop last finished a turn, in seconds since 1970.",
);
pub(crate) const CONTROLLER_RECONCILE_ERRORS: Family = family(
    "controller_reconcile_errors",
    Gauge,
    "Turns of a loop that failed since the program started, under the name that older dashboards ask for.",
);
pub(crate) const CONTROLLER_RECONCILE_DURATION: Family = family(
    "controller_reconcile_duration",
    Gauge,
    "Seconds that the last turn of a loop took, under the name that older dashboards ask for.",
);
pub(crate) const LEADER: Family = family(
    "gpu_autoscaler_leader",
    Gauge,
    "Whether this replica may write: 1 for the holder of the lease, and where nothing is elected.",
);
pub(crate) const PAUSED: Family = family("gpu_autoscaler_paused", Gauge, "Whether all writes are paused.");
pub(crate) const DEPENDENCY_UP: Family = family(
    "gpu_autoscaler_dependency_up",
    Gauge,
    "Whether what the program depends on answers, by name, as /readyz tells it.",
);
pub(crate) const SOURCE_AGE: Family = family(
    "gpu_autoscaler_source_age_seconds",
    Gauge,
    "Time since a target last answered with a page that could be read.",
)
.with_unit("seconds");
pub(crate) const SOURCE_UP: Family = family(
    "gpu_autoscaler_source_up",
    Gauge,
    "Whether a target answered in the newest round.",
);
pub(crate) const SOURCE_FAILURES: Family = family(
    "gpu_autoscaler_source_failures_total",
    Counter,
    "Targets that failed in a round, by class of failure.",
);
pub(crate) const SOURCE_SKIPPED: Family = family(
    "gpu_autoscaler_source_skipped_lines_total",
    Counter,
    "Lines of pages that could not be used: malformed, or with values that cannot be.",
);
pub(crate) const SOURCE_SKEWED: Family = family(
    "gpu_autoscaler_source_skewed_samples_total",
    Counter,
    "Samples whose own time could not be true.",
);
pub(crate) const OBJECTS_SET_ASIDE: Family = family(
    "gpu_autoscaler_objects_set_aside",
    Gauge,
    "Objects that could not be read and are left out, by loop.",
);
pub(crate) const WRITES: Family = family(
    "gpu_autoscaler_writes_total",
    Counter,
    "Writes to the cluster, by kind and result.",
);
pub(crate) const NOTICES: Family = family(
    "gpu_autoscaler_notices_total",
    Counter,
    "Notices to people, by channel and result.",
);
pub(crate) const PRICE_AGE: Family = family(
    "gpu_autoscaler_price_age_seconds",
    Gauge,
    "Age of what a source of prices last said.",
)
.with_unit("seconds");
pub(crate) const NODE_COUNT: Family = family("gpu_autoscaler_node_count", Gauge, "Nodes with GPUs.");
pub(crate) const GPU_COUNT: Family = family(
    "gpu_autoscaler_gpus",
    Gauge,
    "GPUs that report, by whether somebody holds them.",
);
pub(crate) const HOURLY_COST: Family = family(
    "gpu_autoscaler_hourly_cost_rate_usd",
    Gauge,
    "What the GPUs with a known price cost in an hour.",
);
pub(crate) const MONTHLY_COST: Family = family(
    "gpu_autoscaler_estimated_monthly_cost_usd",
    Gauge,
    "What they would cost in a month of 730 hours.",
);
pub(crate) const TOTAL_SAVINGS: Family = family(
    "gpu_autoscaler_total_savings_usd",
    Gauge,
    "What users' changes after findings save in a month.",
);
pub(crate) const WASTE_SCORE: Family = family(
    "gpu_autoscaler_waste_score",
    Gauge,
    "Score of a pod's finding, 0 to 100, by cause; the dearest pods only.",
);
pub(crate) const WASTE_FINDINGS: Family = family(
    "gpu_autoscaler_waste_findings",
    Gauge,
    "Findings at present, by cause.",
);
pub(crate) const WASTE_COST: Family = family(
    "gpu_autoscaler_waste_cost_usd",
    Gauge,
    "What the findings with a known price would waste in a month, by namespace and cause.",
);
pub(crate) const WASTE_GPUS: Family = family(
    "gpu_autoscaler_waste_gpus",
    Gauge,
    "GPUs of the fleet by what became of them in the window; together they are all that report.",
);
pub(crate) const SERIES_DROPPED: Family = family(
    "gpu_autoscaler_series_dropped",
    Gauge,
    "Series of single pods that are left out of this page to keep it bounded.",
);

//! The families that are read, by name. Everything else on a page is passed over before its labels are looked at.

use super::Dialect;
use super::Dialect::{Amd, Dcgm, Ours, Smi};
use Metric::*;
use Unit::*;

/// What a line of one family is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(super) dialect: Dialect,
    pub(super) metric: Metric,
    pub(super) unit: Unit,
}

/// What is measured. Families of several vocabularies mean the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    /// Says what the GPU or slice is.
    Info,
    /// Says that the page is gpu-exporter's, even where the node has no GPU.
    Program,
    Up,
    Age,
    Index,
    Utilization,
    /// The engine's own share of time, which dcgm-exporter gives for slices too.
    EngineActive,
    MemoryBandwidth,
    SmActive,
    SmOccupancy,
    TensorActive,
    DramActive,
    MemoryUsed,
    MemoryFree,
    MemoryReserved,
    MemoryTotal,
    Power,
    PowerLimit,
    Energy,
    /// By the sensor or the kind of clock in a label.
    AnyTemperature,
    AnyClock,
    Temperature,
    HotspotTemperature,
    MemoryTemperature,
    ComputeClock,
    GraphicsClock,
    MemoryClock,
    Busy,
    /// By the direction in a label.
    Pcie,
    PcieReceived,
    PcieSent,
    Processes,
    /// By the reason in a label.
    ThrottleTime,
    ThrottledNow,
    /// A mask of reasons.
    ThrottleMask,
    /// By the code in a label.
    Faults,
    /// The value is the code of the last fault.
    LastFault,
    /// By the kind in a label; only those that could not be corrected.
    EccErrors,
    RowRemapFailed,
    RowRemapPending,
    ContainerUtilization,
    ContainerMemory,
}

/// How the value of a family is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Ratio,
    Percent,
    /// An integer in percent under a name that says ratio.
    PercentCalledRatio,
    Bytes,
    Mebibytes,
    Watts,
    Joules,
    Millijoules,
    Microjoules,
    Celsius,
    Hertz,
    Megahertz,
    Seconds,
    Count,
    Counter,
    Flag,
    /// The value is not used, but it must be one.
    One,
}

const fn field(name: &'static str, dialect: Dialect, metric: Metric, unit: Unit) -> Field {
    Field {
        name,
        dialect,
        metric,
        unit,
    }
}

/// The family of this name, if it is read.
pub(crate) fn find(name: &[u8]) -> Option<&'static Field> {
    let at = FIELDS
        .binary_search_by(|field| field.name.as_bytes().cmp(name))
        .ok()?;
    FIELDS.get(at)
}

/// All names that are read, in order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|field| field.name)
}

/// Ordered by name, which a test holds.
static FIELDS: &[Field] = &[
    field("DCGM_EXP_XID_ERRORS_TOTAL", Dcgm, Faults, Counter),
    field(
        "DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS",
        Dcgm,
        PowerLimit,
        Watts,
    ),
    field("DCGM_FI_DEV_BOARD_POWER_WATTS", Dcgm, Power, Watts),
    field("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Dcgm, ThrottleMask, Count),
    field("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", Dcgm, ThrottleMask, Count),
    field("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", Dcgm, EccErrors, Counter),
    field("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", Dcgm, PowerLimit, Watts),
    field("DCGM_FI_DEV_FB_FREE", Dcgm, MemoryFree, Mebibytes),
    field("DCGM_FI_DEV_FB_RESERVED", Dcgm, MemoryReserved, Mebibytes),
    field("DCGM_FI_DEV_FB_TOTAL", Dcgm, MemoryTotal, Mebibytes),
    field("DCGM_FI_DEV_FB_USED", Dcgm, MemoryUsed, Mebibytes),
    field("DCGM_FI_DEV_GPU_TEMP", Dcgm, Temperature, Celsius),
    field("DCGM_FI_DEV_GPU_TEMP_CELSIUS", Dcgm, Temperature, Celsius),
    field("DCGM_FI_DEV_GPU_UTIL", Dcgm, Utilization, Percent),
    field(
        "DCGM_FI_DEV_GPU_UTIL_RATIO",
        Dcgm,
        Utilization,
        PercentCalledRatio,
    ),
    field("DCGM_FI_DEV_MEMORY_TEMP", Dcgm, MemoryTemperature, Celsius),
    field(
        "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS",
        Dcgm,
        MemoryTemperature,
        Celsius,
    ),
    field("DCGM_FI_DEV_MEM_CLOCK", Dcgm, MemoryClock, Megahertz),
    field("DCGM_FI_DEV_MEM_COPY_UTIL", Dcgm, MemoryBandwidth, Percent),
    field("DCGM_FI_DEV_POWER_USAGE", Dcgm, Power, Watts),
    field("DCGM_FI_DEV_ROW_REMAP_FAILURE", Dcgm, RowRemapFailed, Flag),
    field("DCGM_FI_DEV_ROW_REMAP_PENDING", Dcgm, RowRemapPending, Flag),
    field("DCGM_FI_DEV_SM_CLOCK", Dcgm, ComputeClock, Megahertz),
    field("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Dcgm, Energy, Millijoules),
    field("DCGM_FI_DEV_XID_ERROR", Dcgm, LastFault, Count),
    field("DCGM_FI_DEV_XID_ERRORS", Dcgm, LastFault, Count),
    field("DCGM_FI_PROF_DRAM_ACTIVE", Dcgm, DramActive, Ratio),
    field("DCGM_FI_PROF_DRAM_UTIL_RATIO", Dcgm, DramActive, Ratio),
    field("DCGM_FI_PROF_GR_ENGINE_ACTIVE", Dcgm, EngineActive, Ratio),
    field("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", Dcgm, EngineActive, Ratio),
    field("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Dcgm, TensorActive, Ratio),
    field("DCGM_FI_PROF_SM_ACTIVE", Dcgm, SmActive, Ratio),
    field("DCGM_FI_PROF_SM_OCCUPANCY", Dcgm, SmOccupancy, Ratio),
    field("DCGM_FI_PROF_SM_OCCUPANCY_RATIO", Dcgm, SmOccupancy, Ratio),
    field("DCGM_FI_PROF_SM_UTIL_RATIO", Dcgm, SmActive, Ratio),
    field("DCGM_FI_PROF_TENSOR_UTIL_RATIO", Dcgm, TensorActive, Ratio),
    field("gpu_average_package_power", Amd, Power, Watts),
    field("gpu_busy_seconds_total", Ours, Busy, Seconds),
    field("gpu_clock", Amd, AnyClock, Megahertz),
    field("gpu_clock_hertz", Ours, AnyClock, Hertz),
    field("gpu_container_memory_bytes", Ours, ContainerMemory, Bytes),
    field(
        "gpu_container_utilization_ratio",
        Ours,
        ContainerUtilization,
        Ratio,
    ),
    field("gpu_dram_active_ratio", Ours, DramActive, Ratio),
    field("gpu_ecc_errors_total", Ours, EccErrors, Counter),
    field("gpu_ecc_uncorrect_total", Amd, EccErrors, Counter),
    field("gpu_edge_temperature", Amd, Temperature, Celsius),
    field("gpu_energy_consumed", Amd, Energy, Microjoules),
    field("gpu_energy_joules_total", Ours, Energy, Joules),
    field("gpu_exporter_build_info", Ours, Program, One),
    field("gpu_faults_total", Ours, Faults, Counter),
    field("gpu_gfx_activity", Amd, Utilization, Percent),
    field("gpu_info", Ours, Info, One),
    field("gpu_junction_temperature", Amd, HotspotTemperature, Celsius),
    field("gpu_last_sample_age_seconds", Ours, Age, Seconds),
    field(
        "gpu_memory_bandwidth_utilization_ratio",
        Ours,
        MemoryBandwidth,
        Ratio,
    ),
    field("gpu_memory_temperature", Amd, MemoryTemperature, Celsius),
    field("gpu_memory_total_bytes", Ours, MemoryTotal, Bytes),
    field("gpu_memory_used_bytes", Ours, MemoryUsed, Bytes),
    field("gpu_package_power", Amd, Power, Watts),
    field("gpu_pcie_bytes_total", Ours, Pcie, Counter),
    field("gpu_power_limit_watts", Ours, PowerLimit, Watts),
    field("gpu_power_usage", Amd, Power, Watts),
    field("gpu_power_watts", Ours, Power, Watts),
    field("gpu_processes", Ours, Processes, Count),
    field("gpu_row_remap_failed", Ours, RowRemapFailed, Flag),
    field("gpu_row_remap_pending", Ours, RowRemapPending, Flag),
    field("gpu_sm_active_ratio", Ours, SmActive, Ratio),
    field("gpu_sm_occupancy_ratio", Ours, SmOccupancy, Ratio),
    field("gpu_temperature_celsius", Ours, AnyTemperature, Celsius),
    field("gpu_tensor_active_ratio", Ours, TensorActive, Ratio),
    field("gpu_throttle_seconds_total", Ours, ThrottleTime, Seconds),
    field("gpu_throttled", Ours, ThrottledNow, Flag),
    field("gpu_total_vram", Amd, MemoryTotal, Mebibytes),
    field("gpu_umc_activity", Amd, MemoryBandwidth, Percent),
    field("gpu_up", Ours, Up, Flag),
    field("gpu_used_vram", Amd, MemoryUsed, Mebibytes),
    field("gpu_utilization_ratio", Ours, Utilization, Ratio),
    field(
        "nvidia_smi_clocks_current_graphics_clock_hz",
        Smi,
        GraphicsClock,
        Hertz,
    ),
    field(
        "nvidia_smi_clocks_current_memory_clock_hz",
        Smi,
        MemoryClock,
        Hertz,
    ),
    field("nvidia_smi_clocks_current_sm_clock_hz", Smi, ComputeClock, Hertz),
    field("nvidia_smi_clocks_event_reasons_active", Smi, ThrottleMask, Count),
    field(
        "nvidia_smi_clocks_throttle_reasons_active",
        Smi,
        ThrottleMask,
        Count,
    ),
    field("nvidia_smi_enforced_power_limit_watts", Smi, PowerLimit, Watts),
    field("nvidia_smi_gpu_info", Smi, Info, One),
    field("nvidia_smi_gpu_utilization_percent", Smi, Utilization, Percent),
    field("nvidia_smi_index", Smi, Index, Count),
    field("nvidia_smi_memory_free_bytes", Smi, MemoryFree, Bytes),
    field("nvidia_smi_memory_reserved_bytes", Smi, MemoryReserved, Bytes),
    field("nvidia_smi_memory_total_bytes", Smi, MemoryTotal, Bytes),
    field("nvidia_smi_memory_used_bytes", Smi, MemoryUsed, Bytes),
    field(
        "nvidia_smi_memory_utilization_percent",
        Smi,
        MemoryBandwidth,
        Percent,
    ),
    field("nvidia_smi_power_draw_watts", Smi, Power, Watts),
    field("nvidia_smi_power_usage_watts", Smi, Power, Watts),
    field("nvidia_smi_temperature_celsius", Smi, Temperature, Celsius),
    field("nvidia_smi_temperature_gpu", Smi, Temperature, Celsius),
    field("nvidia_smi_temperature_memory", Smi, MemoryTemperature, Celsius),
    field("nvidia_smi_utilization_gpu_ratio", Smi, Utilization, Ratio),
    field("nvidia_smi_utilization_memory_ratio", Smi, MemoryBandwidth, Ratio),
    field("nvidia_smi_xid_errors_total", Smi, Faults, Counter),
];

#[cfg(test)]
mod tests {
    use super::FIELDS;

    #[test]
    fn names_are_ordered_and_each_is_there_once() {
        let ordered = FIELDS.is_sorted_by(|a, b| a.name.as_bytes() < b.name.as_bytes());
        assert!(ordered, "binary search needs the order");
    }
}

//! The families of AMD's exporter that are shown when asked for by name. What it takes from its profiler (`gpu_prof_*`), from
//! the firmware's error records (`gpu_afid_errors`) and from counters of the links' neighbours (`gpu_xgmi_nbr_*`) is not
//! here: the kernel's files do not have it.

use super::{ClockBound, FamilySpec, Measure, Scale, Supply, Tier, amd_gauge, field};
use crate::readings::{Field, PartField};

use Tier::Named;

const XCC: &[&str] = &["xcc_index"];

/// One series a part.
macro_rules! parts {
    ($name:expr, $help:expr, $of:expr, $label:expr $(,)?) => {
        amd_gauge(Named, $name, $help, Supply::Parts(&[("", $of)])).by($label)
    };
}

pub(super) const NAMED: &[FamilySpec] = &[
    parts!(
        "gpu_hbm_temperature",
        "Temperature of each stack of memory (in °C).",
        PartField::StackTemperature,
        &["hbm_index"],
    ),
    amd_gauge(
        Named,
        "gpu_mma_activity",
        "How much of the time the media engines worked (in %).",
        field(Field::MediaUtilization),
    )
    .scaled(Scale::Percent),
    parts!(
        "gpu_vcn_activity",
        "How much of the time each video engine worked (in %).",
        PartField::VideoActivity,
        &["vcn_index"],
    )
    .scaled(Scale::Percent),
    parts!(
        "gpu_jpeg_activity",
        "How much of the time each JPEG engine worked (in %).",
        PartField::JpegActivity,
        &["jpeg_index"],
    )
    .scaled(Scale::Percent),
    parts!(
        "gpu_vcn_busy_instantaneous",
        "How busy each video engine is at the instant (in %).",
        PartField::VideoBusy,
        &["xcc_index"],
    )
    .scaled(Scale::Percent),
    parts!(
        "gpu_jpeg_busy_instantaneous",
        "How busy each JPEG engine is at the instant (in %).",
        PartField::JpegBusy,
        &["xcc_index"],
    )
    .scaled(Scale::Percent),
    volts(
        "gpu_voltage",
        "Voltage of the chip's own rail (in mV).",
        Field::SocVoltage,
    ),
    volts(
        "gpu_gfx_voltage",
        "Voltage of the compute engine's rail (in mV).",
        Field::GraphicsVoltage,
    ),
    volts(
        "gpu_memory_voltage",
        "Voltage of the memory's rail (in mV).",
        Field::MemoryVoltage,
    ),
    amd_gauge(
        Named,
        "gpu_min_clock",
        "Lowest clock frequencies by clock (in MHz).",
        Supply::Clocks(ClockBound::Lowest),
    )
    .scaled(Scale::Megahertz)
    .by(&["clock_index", "clock_type"]),
    amd_gauge(
        Named,
        "gpu_max_clock",
        "Highest clock frequencies by clock (in MHz).",
        Supply::Clocks(ClockBound::Highest),
    )
    .scaled(Scale::Megahertz)
    .by(&["clock_index", "clock_type"]),
    count(
        "pcie_recovery_count",
        "How often the PCIe link recovered.",
        Field::PcieRecoveries,
    ),
    count(
        "pcie_replay_rollover_count",
        "How often a packet was sent over PCIe until the link was trained anew.",
        Field::PcieReplayRollovers,
    ),
    count(
        "pcie_nack_sent_count",
        "Packets that the GPU refused on PCIe.",
        Field::PcieNaksSent,
    ),
    count(
        "pcie_nack_received_count",
        "Packets of the GPU that were refused on PCIe.",
        Field::PcieNaksReceived,
    )
    .alias("pcie_nac_received_count"),
    amd_gauge(
        Named,
        "pcie_rx",
        "Bytes that the GPU received over PCIe, summed by the exporter.",
        Supply::One(Measure::PcieReceived),
    )
    .scaled(Scale::Whole),
    amd_gauge(
        Named,
        "pcie_tx",
        "Bytes that the GPU sent over PCIe, summed by the exporter.",
        Supply::One(Measure::PcieSent),
    )
    .scaled(Scale::Whole),
    count(
        "pcie_bidirectional_bandwidth",
        "Traffic on the PCIe link, summed by the firmware (in GB/s).",
        Field::PcieBandwidthAccumulated,
    ),
    bytes(
        "gpu_total_visible_vram",
        "Device memory that the host can address (in MiB).",
        Measure::Field(Field::VisibleMemoryTotal),
    ),
    bytes(
        "gpu_used_visible_vram",
        "Device memory in use that the host can address (in MiB).",
        Measure::Field(Field::VisibleMemoryUsed),
    ),
    bytes(
        "gpu_free_visible_vram",
        "Free device memory that the host can address (in MiB).",
        Measure::Left(Field::VisibleMemoryTotal, Field::VisibleMemoryUsed),
    ),
    bytes(
        "gpu_total_gtt",
        "Host memory that the GPU can address (in MiB).",
        Measure::Field(Field::HostMemoryTotal),
    ),
    bytes(
        "gpu_used_gtt",
        "Host memory that the GPU uses (in MiB).",
        Measure::Field(Field::HostMemoryUsed),
    ),
    bytes(
        "gpu_free_gtt",
        "Host memory that the GPU could use (in MiB).",
        Measure::Left(Field::HostMemoryTotal, Field::HostMemoryUsed),
    ),
    amd_gauge(
        Named,
        "gpu_vram_max_bandwidth",
        "What device memory moves at most (in GB/s).",
        field(Field::MemoryBandwidthMax),
    )
    .scaled(Scale::Billions),
    amd_gauge(
        Named,
        "gpu_process_cu_occupancy",
        "Compute units that a process occupies.",
        Supply::Occupancy,
    )
    .by(&["process_id"]),
    count(
        "gpu_violation_current_accumulated_counter",
        "Ticks of the firmware, to which the following counts relate.",
        Field::LimitTicks,
    ),
    count(
        "gpu_violation_processor_hot_residency_accumulated",
        "Ticks in which the hot signal held the clocks down.",
        Field::LimitTicksProchot,
    ),
    count(
        "gpu_violation_ppt_residency_accumulated",
        "Ticks in which the power limit held the clocks down.",
        Field::LimitTicksPower,
    ),
    count(
        "gpu_violation_socket_thermal_residency_accumulated",
        "Ticks in which the socket's heat held the clocks down.",
        Field::LimitTicksThermal,
    ),
    count(
        "gpu_violation_vr_thermal_residency_accumulated",
        "Ticks in which the regulators' heat held the clocks down.",
        Field::LimitTicksRegulator,
    ),
    count(
        "gpu_violation_hbm_thermal_residency_accumulated",
        "Ticks in which the memory's heat held the clocks down.",
        Field::LimitTicksMemory,
    ),
    parts!(
        "gpu_violation_gfx_clock_below_host_limit_power_accumulated",
        "Ticks in which power held each compute die below the host's limit.",
        PartField::BelowLimitTicksPower,
        XCC,
    ),
    parts!(
        "gpu_violation_gfx_clock_below_host_limit_thermal_accumulated",
        "Ticks in which heat held each compute die below the host's limit.",
        PartField::BelowLimitTicksThermal,
        XCC,
    ),
    parts!(
        "gpu_violation_gfx_clock_below_host_limit_total_accumulated",
        "Ticks in which anything held each compute die below the host's limit.",
        PartField::BelowLimitTicksTotal,
        XCC,
    ),
    parts!(
        "gpu_violation_low_utilization_accumulated",
        "Ticks in which each compute die lacked work.",
        PartField::LowUtilizationTicks,
        XCC,
    ),
    parts!(
        "gpu_violation_gfx_clock_below_host_limit_power_percentage",
        "How much of the last interval power held each compute die below the host's limit (in %).",
        PartField::BelowLimitSharePower,
        XCC,
    )
    .scaled(Scale::Percent),
    parts!(
        "gpu_violation_gfx_clock_below_host_limit_thermal_percentage",
        "How much of the last interval heat held each compute die below the host's limit (in %).",
        PartField::BelowLimitShareThermal,
        XCC,
    )
    .scaled(Scale::Percent),
    parts!(
        "gpu_violation_gfx_clock_below_host_limit_total_percentage",
        "How much of the last interval anything held each compute die below the host's limit (in %).",
        PartField::BelowLimitShareTotal,
        XCC,
    )
    .scaled(Scale::Percent),
    parts!(
        "gpu_violation_low_utilization_percentage",
        "How much of the last interval each compute die lacked work (in %).",
        PartField::LowUtilizationShare,
        XCC,
    )
    .scaled(Scale::Percent),
];

const fn count(name: &'static str, help: &'static str, of: Field) -> FamilySpec {
    amd_gauge(Named, name, help, field(of))
}

const fn volts(name: &'static str, help: &'static str, of: Field) -> FamilySpec {
    amd_gauge(Named, name, help, field(of)).scaled(Scale::Millivolts)
}

const fn bytes(name: &'static str, help: &'static str, of: Measure) -> FamilySpec {
    amd_gauge(Named, name, help, Supply::One(of)).scaled(Scale::Mebibytes)
}

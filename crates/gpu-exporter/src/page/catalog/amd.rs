//! The default families of AMD's device-metrics-exporter: what its dashboards and alerts read. Its names are those of its
//! fields in lower case, and all of them are gauges, counts included.

use super::{ClockBound, Direction, FamilySpec, Measure, Scale, Shares, Supply, Tier, amd_gauge, field};
use crate::readings::{Field, PartField};

use Tier::Default;

pub(super) const DEFAULT: &[FamilySpec] = &[
    amd_gauge(
        Default,
        "gpu_nodes_total",
        "GPUs of the node; each partition counts.",
        Supply::NodeCount,
    ),
    amd_gauge(
        Default,
        "gpu_health",
        "Whether the GPU is well (1): no block has more uncorrectable errors than allowed.",
        Supply::Health,
    ),
    amd_gauge(
        Default,
        "gpu_package_power",
        "Power of the socket at the instant (in W).",
        field(Field::PowerInstant),
    ),
    amd_gauge(
        Default,
        "gpu_average_package_power",
        "Power of the socket, averaged by the firmware (in W).",
        field(Field::PowerAverage),
    ),
    amd_gauge(
        Default,
        "gpu_power_usage",
        "Power the GPU draws (in W).",
        field(Field::Power),
    ),
    amd_gauge(
        Default,
        "gpu_energy_consumed",
        "Energy used since the driver was loaded (in µJ).",
        Supply::One(Measure::Energy),
    )
    .scaled(Scale::Microjoules),
    amd_gauge(
        Default,
        "gpu_edge_temperature",
        "Temperature at the edge of the chip (in °C).",
        field(Field::EdgeTemperature),
    ),
    amd_gauge(
        Default,
        "gpu_junction_temperature",
        "Temperature of the chip's hottest spot (in °C).",
        field(Field::HotspotTemperature),
    ),
    amd_gauge(
        Default,
        "gpu_memory_temperature",
        "Temperature of the memory (in °C).",
        field(Field::MemoryTemperature),
    ),
    amd_gauge(
        Default,
        "gpu_gfx_activity",
        "How much of the time the compute engine worked (in %).",
        field(Field::Utilization),
    )
    .scaled(Scale::Percent)
    .shared(Shares::Utilization),
    amd_gauge(
        Default,
        "gpu_umc_activity",
        "How much of the time the memory controller worked (in %).",
        field(Field::MemoryBandwidthUtilization),
    )
    .scaled(Scale::Percent),
    amd_gauge(
        Default,
        "gpu_gfx_busy_instantaneous",
        "How busy each compute die is at the instant (in %).",
        Supply::Parts(&[("", PartField::GraphicsBusy)]),
    )
    .scaled(Scale::Percent)
    .by(&["xcc_index"]),
    amd_gauge(
        Default,
        "gpu_clock",
        "Clock frequencies by clock (in MHz).",
        Supply::Clocks(ClockBound::Now),
    )
    .scaled(Scale::Megahertz)
    .by(&["clock_index", "clock_type"]),
    amd_gauge(
        Default,
        "gpu_total_vram",
        "Device memory there is (in MiB).",
        field(Field::MemoryTotal),
    )
    .scaled(Scale::Mebibytes),
    amd_gauge(
        Default,
        "gpu_used_vram",
        "Device memory in use (in MiB).",
        field(Field::MemoryUsed),
    )
    .scaled(Scale::Mebibytes)
    .shared(Shares::Memory),
    amd_gauge(
        Default,
        "gpu_free_vram",
        "Device memory that is free (in MiB).",
        Supply::One(Measure::Left(Field::MemoryTotal, Field::MemoryUsed)),
    )
    .scaled(Scale::Mebibytes),
    amd_gauge(
        Default,
        "pcie_speed",
        "Speed of the PCIe link (in GT/s).",
        field(Field::PcieLinkSpeed),
    )
    .scaled(Scale::Billions),
    amd_gauge(
        Default,
        "pcie_max_speed",
        "Highest speed of the PCIe link (in GT/s).",
        field(Field::PcieLinkSpeedMax),
    )
    .scaled(Scale::Billions),
    amd_gauge(
        Default,
        "pcie_bandwidth",
        "Traffic on the PCIe link in both directions (in Mb/s).",
        field(Field::PcieBandwidth),
    )
    .scaled(Scale::Megabits),
    amd_gauge(
        Default,
        "pcie_replay_count",
        "Packets that were sent again over PCIe.",
        field(Field::PcieReplays),
    ),
    amd_gauge(
        Default,
        "gpu_ecc_correct_total",
        "Errors that were corrected, over all blocks.",
        field(Field::EccCorrectedVolatile),
    ),
    amd_gauge(
        Default,
        "gpu_ecc_uncorrect_total",
        "Errors that could not be corrected, over all blocks.",
        field(Field::EccUncorrectedVolatile),
    ),
    amd_gauge(
        Default,
        "gpu_ecc_deferred_total",
        "Errors that were found and set aside, over all blocks.",
        field(Field::EccDeferredVolatile),
    ),
    amd_gauge(
        Default,
        "gpu_xgmi_link_rx",
        "Data read over each link to another GPU (in KiB).",
        Supply::LinkDirection(Direction::Received),
    )
    .scaled(Scale::Kibibytes)
    .by(&["link_index"]),
    amd_gauge(
        Default,
        "gpu_xgmi_link_tx",
        "Data written over each link to another GPU (in KiB).",
        Supply::LinkDirection(Direction::Sent),
    )
    .scaled(Scale::Kibibytes)
    .by(&["link_index"]),
    share(
        "gpu_violation_processor_hot_residency_percentage",
        "How much of the last interval the hot signal held the clocks down (in %).",
        Field::LimitShareProchot,
    ),
    share(
        "gpu_violation_ppt_residency_percentage",
        "How much of the last interval the power limit held the clocks down (in %).",
        Field::LimitSharePower,
    ),
    share(
        "gpu_violation_socket_thermal_residency_percentage",
        "How much of the last interval the socket's heat held the clocks down (in %).",
        Field::LimitShareThermal,
    ),
    share(
        "gpu_violation_vr_thermal_residency_percentage",
        "How much of the last interval the regulators' heat held the clocks down (in %).",
        Field::LimitShareRegulator,
    ),
    share(
        "gpu_violation_hbm_thermal_residency_percentage",
        "How much of the last interval the memory's heat held the clocks down (in %).",
        Field::LimitShareMemory,
    ),
];

const fn share(name: &'static str, help: &'static str, of: Field) -> FamilySpec {
    amd_gauge(Default, name, help, field(of)).scaled(Scale::Percent)
}

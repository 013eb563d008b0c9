//! The families of dcgm-exporter that are shown when a counters file or the allow-list names them: state and load.

use super::{FamilySpec, Measure, Scale, Supply, Tier, dcgm_gauge, field};
use crate::readings::Field;

use Tier::Named;

pub(super) const NAMED: &[FamilySpec] = &[
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_VIDEO_CLOCK",
        "Video clock frequency (in MHz).",
        field(Field::VideoClock),
    )
    .scaled(Scale::Megahertz),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_MAX_SM_CLOCK",
        "Highest SM clock frequency (in MHz).",
        field(Field::SmClockMax),
    )
    .scaled(Scale::Megahertz),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_MAX_MEM_CLOCK",
        "Highest memory clock frequency (in MHz).",
        field(Field::MemoryClockMax),
    )
    .scaled(Scale::Megahertz),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_MAX_VIDEO_CLOCK",
        "Highest video clock frequency (in MHz).",
        field(Field::VideoClockMax),
    )
    .scaled(Scale::Megahertz),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_MEM_MAX_OP_TEMP",
        "Highest operating temperature of the memory (in C).",
        field(Field::MemoryTemperatureMaxOperating),
    )
    .alias("DCGM_FI_DEV_MEMORY_MAX_OP_TEMP_CELSIUS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_GPU_MAX_OP_TEMP",
        "Highest operating temperature of the GPU (in C).",
        field(Field::TemperatureMaxOperating),
    )
    .alias("DCGM_FI_DEV_GPU_MAX_OP_TEMP_CELSIUS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_GPU_TEMP_LIMIT",
        "Margin below the slowdown temperature (in C).",
        field(Field::TemperatureMargin),
    )
    .alias("DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_SLOWDOWN_TEMP",
        "Slowdown temperature (in C).",
        field(Field::TemperatureSlowdown),
    )
    .alias("DCGM_FI_DEV_GPU_TEMP_SLOWDOWN_CELSIUS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_SHUTDOWN_TEMP",
        "Shutdown temperature (in C).",
        field(Field::TemperatureShutdown),
    )
    .alias("DCGM_FI_DEV_GPU_TEMP_SHUTDOWN_CELSIUS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_POWER_USAGE_INSTANT",
        "Power draw at the instant (in W).",
        field(Field::PowerInstant),
    )
    .alias("DCGM_FI_DEV_BOARD_POWER_RAW_WATTS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_POWER_MGMT_LIMIT",
        "Power limit that was set (in W).",
        field(Field::PowerLimitManagement),
    )
    .alias("DCGM_FI_DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_POWER_MGMT_LIMIT_MIN",
        "Lowest power limit (in W).",
        field(Field::PowerLimitMin),
    )
    .alias("DCGM_FI_DEV_BOARD_POWER_LIMIT_MIN_WATTS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX",
        "Highest power limit (in W).",
        field(Field::PowerLimitMax),
    )
    .alias("DCGM_FI_DEV_BOARD_POWER_LIMIT_MAX_WATTS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF",
        "Default power limit (in W).",
        field(Field::PowerLimitDefault),
    )
    .alias("DCGM_FI_DEV_BOARD_POWER_LIMIT_DEFAULT_WATTS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_ENFORCED_POWER_LIMIT",
        "Power limit in force (in W).",
        field(Field::PowerLimit),
    )
    .alias("DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_PSTATE",
        "Performance state, 0 is the fastest.",
        field(Field::PerformanceState),
    )
    .alias("DCGM_FI_DEV_GPU_PSTATE"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_MIG_MODE",
        "Whether MIG is enabled.",
        field(Field::MigEnabled),
    ),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_PCIE_TX_THROUGHPUT",
        "PCIe traffic sent (in KB/s).",
        field(Field::PcieSentRate),
    )
    .scaled(Scale::Kilobytes),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_PCIE_RX_THROUGHPUT",
        "PCIe traffic received (in KB/s).",
        field(Field::PcieReceivedRate),
    )
    .scaled(Scale::Kilobytes),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_PCIE_MAX_LINK_GEN",
        "Highest PCIe link generation.",
        field(Field::PcieLinkGenerationMax),
    ),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH",
        "Highest PCIe link width.",
        field(Field::PcieLinkWidthMax),
    ),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_PCIE_LINK_GEN",
        "PCIe link generation.",
        field(Field::PcieLinkGeneration),
    ),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_PCIE_LINK_WIDTH",
        "PCIe link width.",
        field(Field::PcieLinkWidth),
    ),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_FB_USED_PERCENT",
        "Share of the framebuffer memory in use (0 to 1).",
        Supply::One(Measure::Share(Field::MemoryUsed, Field::MemoryTotal)),
    )
    .alias("DCGM_FI_DEV_FB_USED_RATIO")
    .scaled(Scale::Millionths),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_BAR1_TOTAL",
        "BAR1 memory total (in MiB).",
        field(Field::Bar1Total),
    )
    .scaled(Scale::Mebibytes),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_BAR1_USED",
        "BAR1 memory used (in MiB).",
        field(Field::Bar1Used),
    )
    .scaled(Scale::Mebibytes),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_BAR1_FREE",
        "BAR1 memory free (in MiB).",
        field(Field::Bar1Free),
    )
    .scaled(Scale::Mebibytes),
    dcgm_gauge(
        Named,
        "DCGM_FI_PROF_SM_ACTIVE",
        "Share of the cycles an SM has a warp resident.",
        field(Field::SmActive),
    )
    .alias("DCGM_FI_PROF_SM_UTIL_RATIO"),
    dcgm_gauge(
        Named,
        "DCGM_FI_PROF_PIPE_FP64_ACTIVE",
        "Share of the cycles the fp64 pipe is active.",
        field(Field::Fp64Active),
    )
    .alias("DCGM_FI_PROF_FP64_UTIL_RATIO"),
    dcgm_gauge(
        Named,
        "DCGM_FI_PROF_PIPE_FP32_ACTIVE",
        "Share of the cycles the fp32 pipe is active.",
        field(Field::Fp32Active),
    )
    .alias("DCGM_FI_PROF_FP32_UTIL_RATIO"),
    dcgm_gauge(
        Named,
        "DCGM_FI_PROF_PIPE_FP16_ACTIVE",
        "Share of the cycles the fp16 pipe is active.",
        field(Field::Fp16Active),
    )
    .alias("DCGM_FI_PROF_FP16_UTIL_RATIO"),
    dcgm_gauge(
        Named,
        "DCGM_FI_PROF_PIPE_INT_ACTIVE",
        "Share of the cycles the integer pipe is active.",
        field(Field::IntegerActive),
    )
    .alias("DCGM_FI_PROF_INT_UTIL_RATIO"),
    dcgm_gauge(
        Named,
        "DCGM_FI_PROF_SM_OCCUPANCY",
        "Share of the warps resident on an SM.",
        field(Field::SmOccupancy),
    )
    .alias("DCGM_FI_PROF_SM_OCCUPANCY_RATIO"),
];

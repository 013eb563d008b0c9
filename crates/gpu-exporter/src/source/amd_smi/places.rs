//! Which number stands where, in the words of several versions of the tool.

use super::super::tool::quantity::Unit;
use crate::readings::Field;

/// Where numbers stand in what `metric` prints.
pub(super) const PLACES: &[(Field, Unit, &[&str])] = &[
    (
        Field::Utilization,
        Unit::Percent,
        &["usage/gfx_activity", "usage/gfx_usage"],
    ),
    (
        Field::MemoryBandwidthUtilization,
        Unit::Percent,
        &["usage/umc_activity", "usage/mem_usage"],
    ),
    (
        Field::MediaUtilization,
        Unit::Percent,
        &["usage/mm_activity", "usage/mm_usage_list"],
    ),
    (
        Field::MemoryTotal,
        Unit::Mebibytes,
        &["mem_usage/total_vram", "vram/total_vram", "fb_usage/total_vram"],
    ),
    (
        Field::MemoryUsed,
        Unit::Mebibytes,
        &["mem_usage/used_vram", "vram/used_vram", "fb_usage/used_vram"],
    ),
    (Field::MemoryFree, Unit::Mebibytes, &["mem_usage/free_vram"]),
    (
        Field::VisibleMemoryTotal,
        Unit::Mebibytes,
        &["mem_usage/total_visible_vram"],
    ),
    (
        Field::VisibleMemoryUsed,
        Unit::Mebibytes,
        &["mem_usage/used_visible_vram"],
    ),
    (Field::HostMemoryTotal, Unit::Mebibytes, &["mem_usage/total_gtt"]),
    (Field::HostMemoryUsed, Unit::Mebibytes, &["mem_usage/used_gtt"]),
    (
        Field::Power,
        Unit::Watts,
        &[
            "power/socket_power",
            "power/current_power",
            "power/average_socket_power",
            "power/current_socket_power",
        ],
    ),
    (
        Field::EdgeTemperature,
        Unit::Celsius,
        &["temperature/edge", "temperature/edge_temperature"],
    ),
    (
        Field::HotspotTemperature,
        Unit::Celsius,
        &[
            "temperature/hotspot",
            "temperature/junction",
            "temperature/hotspot_temperature",
        ],
    ),
    (
        Field::MemoryTemperature,
        Unit::Celsius,
        &["temperature/mem", "temperature/mem_temperature"],
    ),
    (
        Field::PcieLinkWidth,
        Unit::Count,
        &["pcie/width", "pcie/current_lanes", "pcie/pcie_width"],
    ),
    (
        Field::PcieReplays,
        Unit::Count,
        &["pcie/replay_count", "pcie/pcie_replay_count"],
    ),
    (
        Field::EccCorrectedVolatile,
        Unit::Count,
        &[
            "ecc/total_correctable_count",
            "ecc/total_correct",
            "ecc/correctable",
        ],
    ),
    (
        Field::EccUncorrectedVolatile,
        Unit::Count,
        &[
            "ecc/total_uncorrectable_count",
            "ecc/total_uncorrect",
            "ecc/uncorrectable",
        ],
    ),
    (
        Field::EccDeferredVolatile,
        Unit::Count,
        &["ecc/total_deferred_count"],
    ),
    (Field::FanSpeed, Unit::Count, &["fan/rpm"]),
    (Field::FanDuty, Unit::Percent, &["fan/usage"]),
];

/// Clocks and the most they can be. A most of 0 is what the tool says when it does not know.
pub(super) const CLOCKS: &[(&[&str], Field, Field)] = &[
    (
        &["clock/gfx_0", "clock/gfx", "clock/current_gfx"],
        Field::GraphicsClock,
        Field::GraphicsClockMax,
    ),
    (
        &["clock/mem_0", "clock/mem"],
        Field::MemoryClock,
        Field::MemoryClockMax,
    ),
    (
        &["clock/vclk_0", "clock/vclk0"],
        Field::VideoClock,
        Field::VideoClockMax,
    ),
    (
        &["clock/dclk_0", "clock/dclk0"],
        Field::DecoderClock,
        Field::DecoderClockMax,
    ),
    (
        &["clock/fclk_0", "clock/fclk"],
        Field::FabricClock,
        Field::FabricClockMax,
    ),
    (
        &["clock/socclk_0", "clock/socclk"],
        Field::SocClock,
        Field::SocClockMax,
    ),
];

/// Where limits stand in what `static` prints.
pub(super) const LIMITS: &[(Field, Unit, &[&str])] = &[
    (
        Field::PowerLimit,
        Unit::Watts,
        &[
            "limit/socket_power",
            "limit/ppt0/socket_power_limit",
            "limit/current_power",
            "limit/max_power",
        ],
    ),
    (
        Field::PowerLimitMax,
        Unit::Watts,
        &["limit/max_power", "limit/ppt0/max_power_limit"],
    ),
    (
        Field::PowerLimitMin,
        Unit::Watts,
        &["limit/min_power", "limit/ppt0/min_power_limit"],
    ),
    (
        Field::TemperatureSlowdown,
        Unit::Celsius,
        &[
            "limit/slowdown_hotspot_temperature",
            "limit/slowdown_edge_temperature",
        ],
    ),
    (
        Field::TemperatureShutdown,
        Unit::Celsius,
        &[
            "limit/shutdown_hotspot_temperature",
            "limit/shutdown_edge_temperature",
        ],
    ),
    (
        Field::PcieLinkWidthMax,
        Unit::Count,
        &["bus/max_pcie_width", "bus/max_pcie_lanes"],
    ),
];

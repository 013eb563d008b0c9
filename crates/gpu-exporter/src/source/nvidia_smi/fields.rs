//! Which number stands where, in the report and in the table. Drivers of several generations name the same thing differently;
//! the first place that has a value counts.

use super::super::tool::quantity::Unit;
use crate::readings::Field;

/// Where a number stands.
pub(super) struct Place {
    pub(super) field: Field,
    pub(super) unit: Unit,
    /// Paths below `<gpu>`.
    pub(super) xml: &'static [&'static str],
    /// Names of `--query-gpu`.
    pub(super) csv: &'static [&'static str],
}

const fn at(field: Field, unit: Unit, xml: &'static [&'static str], csv: &'static [&'static str]) -> Place {
    Place {
        field,
        unit,
        xml,
        csv,
    }
}

use Unit::{Celsius, Count, KibibytesPerSecond, Mebibytes, Megahertz, Percent, Watts};

pub(super) const PLACES: &[Place] = &[
    at(
        Field::Utilization,
        Percent,
        &["utilization/gpu_util"],
        &["utilization.gpu"],
    ),
    at(
        Field::MemoryBandwidthUtilization,
        Percent,
        &["utilization/memory_util"],
        &["utilization.memory"],
    ),
    at(
        Field::EncoderUtilization,
        Percent,
        &["utilization/encoder_util"],
        &["utilization.encoder"],
    ),
    at(
        Field::DecoderUtilization,
        Percent,
        &["utilization/decoder_util"],
        &["utilization.decoder"],
    ),
    at(
        Field::JpegUtilization,
        Percent,
        &["utilization/jpeg_util"],
        &["utilization.jpeg"],
    ),
    at(
        Field::OfaUtilization,
        Percent,
        &["utilization/ofa_util"],
        &["utilization.ofa"],
    ),
    at(
        Field::MemoryTotal,
        Mebibytes,
        &["fb_memory_usage/total"],
        &["memory.total"],
    ),
    at(
        Field::MemoryUsed,
        Mebibytes,
        &["fb_memory_usage/used"],
        &["memory.used"],
    ),
    at(
        Field::MemoryFree,
        Mebibytes,
        &["fb_memory_usage/free"],
        &["memory.free"],
    ),
    at(
        Field::MemoryReserved,
        Mebibytes,
        &["fb_memory_usage/reserved"],
        &["memory.reserved"],
    ),
    at(Field::Bar1Total, Mebibytes, &["bar1_memory_usage/total"], &[]),
    at(Field::Bar1Used, Mebibytes, &["bar1_memory_usage/used"], &[]),
    at(Field::Bar1Free, Mebibytes, &["bar1_memory_usage/free"], &[]),
    // Boards that do not average have the instant value alone, which is then what the driver calls its power.
    at(
        Field::Power,
        Watts,
        &[
            "gpu_power_readings/average_power_draw",
            "gpu_power_readings/power_draw",
            "gpu_power_readings/instant_power_draw",
            "power_readings/average_power_draw",
            "power_readings/power_draw",
            "power_readings/instant_power_draw",
        ],
        &["power.draw", "power.draw.average", "power.draw.instant"],
    ),
    at(
        Field::PowerAverage,
        Watts,
        &[
            "gpu_power_readings/average_power_draw",
            "power_readings/average_power_draw",
        ],
        &["power.draw.average"],
    ),
    at(
        Field::PowerInstant,
        Watts,
        &[
            "gpu_power_readings/instant_power_draw",
            "power_readings/instant_power_draw",
        ],
        &["power.draw.instant"],
    ),
    at(
        Field::PowerLimit,
        Watts,
        &[
            "gpu_power_readings/current_power_limit",
            "gpu_power_readings/enforced_power_limit",
            "power_readings/current_power_limit",
            "power_readings/enforced_power_limit",
            "power_readings/power_limit",
        ],
        &["enforced.power.limit", "power.limit"],
    ),
    at(
        Field::PowerLimitManagement,
        Watts,
        &[
            "gpu_power_readings/requested_power_limit",
            "gpu_power_readings/power_limit",
            "power_readings/requested_power_limit",
            "power_readings/power_limit",
        ],
        &["power.limit"],
    ),
    at(
        Field::PowerLimitDefault,
        Watts,
        &[
            "gpu_power_readings/default_power_limit",
            "power_readings/default_power_limit",
        ],
        &["power.default_limit"],
    ),
    at(
        Field::PowerLimitMin,
        Watts,
        &[
            "gpu_power_readings/min_power_limit",
            "power_readings/min_power_limit",
        ],
        &["power.min_limit"],
    ),
    at(
        Field::PowerLimitMax,
        Watts,
        &[
            "gpu_power_readings/max_power_limit",
            "power_readings/max_power_limit",
        ],
        &["power.max_limit"],
    ),
    at(
        Field::Temperature,
        Celsius,
        &["temperature/gpu_temp"],
        &["temperature.gpu"],
    ),
    at(
        Field::MemoryTemperature,
        Celsius,
        &["temperature/memory_temp"],
        &["temperature.memory"],
    ),
    at(
        Field::TemperatureMargin,
        Celsius,
        &["temperature/gpu_temp_tlimit"],
        &["temperature.gpu.tlimit"],
    ),
    // The thresholds of newer boards (`..._tlimit_threshold`) are distances to the limit, not temperatures.
    at(
        Field::TemperatureShutdown,
        Celsius,
        &["temperature/gpu_temp_max_threshold"],
        &[],
    ),
    at(
        Field::TemperatureSlowdown,
        Celsius,
        &["temperature/gpu_temp_slow_threshold"],
        &[],
    ),
    at(
        Field::TemperatureMaxOperating,
        Celsius,
        &["temperature/gpu_temp_max_gpu_threshold"],
        &[],
    ),
    at(
        Field::MemoryTemperatureMaxOperating,
        Celsius,
        &["temperature/gpu_temp_max_mem_threshold"],
        &[],
    ),
    at(
        Field::SmClock,
        Megahertz,
        &["clocks/sm_clock"],
        &["clocks.current.sm", "clocks.sm"],
    ),
    at(
        Field::GraphicsClock,
        Megahertz,
        &["clocks/graphics_clock"],
        &["clocks.current.graphics", "clocks.gr"],
    ),
    at(
        Field::MemoryClock,
        Megahertz,
        &["clocks/mem_clock"],
        &["clocks.current.memory", "clocks.mem"],
    ),
    at(
        Field::VideoClock,
        Megahertz,
        &["clocks/video_clock"],
        &["clocks.current.video", "clocks.video"],
    ),
    at(
        Field::SmClockMax,
        Megahertz,
        &["max_clocks/sm_clock"],
        &["clocks.max.sm"],
    ),
    at(
        Field::GraphicsClockMax,
        Megahertz,
        &["max_clocks/graphics_clock"],
        &["clocks.max.graphics", "clocks.max.gr"],
    ),
    at(
        Field::MemoryClockMax,
        Megahertz,
        &["max_clocks/mem_clock"],
        &["clocks.max.memory", "clocks.max.mem"],
    ),
    at(Field::VideoClockMax, Megahertz, &["max_clocks/video_clock"], &[]),
    at(Field::PcieReplays, Count, &["pci/replay_counter"], &[]),
    at(
        Field::PcieLinkGeneration,
        Count,
        &["pci/pci_gpu_link_info/pcie_gen/current_link_gen"],
        &["pcie.link.gen.current", "pcie.link.gen.gpucurrent"],
    ),
    at(
        Field::PcieLinkGenerationMax,
        Count,
        &["pci/pci_gpu_link_info/pcie_gen/max_link_gen"],
        &["pcie.link.gen.max", "pcie.link.gen.gpumax"],
    ),
    at(
        Field::PcieLinkWidth,
        Count,
        &["pci/pci_gpu_link_info/link_widths/current_link_width"],
        &["pcie.link.width.current"],
    ),
    at(
        Field::PcieLinkWidthMax,
        Count,
        &["pci/pci_gpu_link_info/link_widths/max_link_width"],
        &["pcie.link.width.max"],
    ),
    at(Field::PcieSentSample, KibibytesPerSecond, &["pci/tx_util"], &[]),
    at(
        Field::PcieReceivedSample,
        KibibytesPerSecond,
        &["pci/rx_util"],
        &[],
    ),
    at(
        Field::RetiredPagesSingleBit,
        Count,
        &["retired_pages/multiple_single_bit_retirement/retired_count"],
        &["retired_pages.single_bit_ecc.count"],
    ),
    at(
        Field::RetiredPagesDoubleBit,
        Count,
        &["retired_pages/double_bit_retirement/retired_count"],
        &["retired_pages.double_bit.count"],
    ),
    at(
        Field::RemappedRowsCorrectable,
        Count,
        &["remapped_rows/remapped_row_corr"],
        &["remapped_rows.correctable"],
    ),
    at(
        Field::RemappedRowsUncorrectable,
        Count,
        &["remapped_rows/remapped_row_unc"],
        &["remapped_rows.uncorrectable"],
    ),
];

/// What is a word for yes or no, not a number.
pub(super) const FLAGS: &[Place] = &[
    at(
        Field::RetiredPagesPending,
        Count,
        &[
            "retired_pages/pending_retirement",
            "retired_pages/pending_blacklist",
        ],
        &["retired_pages.pending"],
    ),
    at(
        Field::RowRemapPending,
        Count,
        &["remapped_rows/remapped_row_pending"],
        &["remapped_rows.pending"],
    ),
    at(
        Field::RowRemapFailure,
        Count,
        &["remapped_rows/remapped_row_failure"],
        &["remapped_rows.failure"],
    ),
    at(
        Field::MigEnabled,
        Count,
        &["mig_mode/current_mig"],
        &["mig.mode.current"],
    ),
    at(
        Field::VgpuLicensed,
        Count,
        &[
            "vgpu_software_licensed_product/license_status",
            "grid_licensed_product/license_status",
        ],
        &[],
    ),
];

//! The families of our own vocabulary that are shown when asked for by name.

use super::{FamilySpec, Measure, Ownership, Supply, Tier, counter, field, gauge};
use crate::readings::{Field, ThrottleReason};

use Ownership::Holder;
use Tier::Named;

pub(super) const NAMED: &[FamilySpec] = &[
    gauge(
        Named,
        "gpu_memory_free_bytes",
        "Device memory that is free.",
        field(Field::MemoryFree),
    )
    .unit("bytes")
    .owned(Holder)
    .with_rest(),
    gauge(
        Named,
        "gpu_memory_reserved_bytes",
        "Device memory that the driver keeps for itself.",
        field(Field::MemoryReserved),
    )
    .unit("bytes"),
    gauge(
        Named,
        "gpu_bar1_bytes",
        "Address space through which the host reaches device memory.",
        Supply::Each(&[
            ("free", Measure::Field(Field::Bar1Free)),
            ("used", Measure::Field(Field::Bar1Used)),
        ]),
    )
    .unit("bytes")
    .by(&["state"]),
    gauge(
        Named,
        "gpu_engine_utilization_ratio",
        "Share of the time in which a media engine worked.",
        Supply::Each(&[
            ("decoder", Measure::Field(Field::DecoderUtilization)),
            ("encoder", Measure::Field(Field::EncoderUtilization)),
            ("jpeg", Measure::Field(Field::JpegUtilization)),
            ("media", Measure::Field(Field::MediaUtilization)),
            ("optical_flow", Measure::Field(Field::OfaUtilization)),
        ]),
    )
    .unit("ratio")
    .by(&["engine"])
    .owned(Holder),
    gauge(
        Named,
        "gpu_graphics_active_ratio",
        "Share of the time in which the graphics or compute engine was active.",
        field(Field::GraphicsActive),
    )
    .unit("ratio")
    .owned(Holder),
    gauge(
        Named,
        "gpu_pipe_active_ratio",
        "Share of the time in which an arithmetic pipe was active.",
        Supply::Each(&[
            ("fp16", Measure::Field(Field::Fp16Active)),
            ("fp32", Measure::Field(Field::Fp32Active)),
            ("fp64", Measure::Field(Field::Fp64Active)),
            ("integer", Measure::Field(Field::IntegerActive)),
        ]),
    )
    .unit("ratio")
    .by(&["pipe"])
    .owned(Holder),
    gauge(
        Named,
        "gpu_power_instant_watts",
        "Power the board draws at the instant, not averaged by the driver.",
        field(Field::PowerInstant),
    )
    .unit("watts")
    .owned(Holder),
    gauge(
        Named,
        "gpu_power_limit_range_watts",
        "Power limits that are set or can be set.",
        Supply::Each(&[
            ("default", Measure::Field(Field::PowerLimitDefault)),
            ("max", Measure::Field(Field::PowerLimitMax)),
            ("min", Measure::Field(Field::PowerLimitMin)),
            ("requested", Measure::Field(Field::PowerLimitManagement)),
        ]),
    )
    .unit("watts")
    .by(&["limit"]),
    gauge(
        Named,
        "gpu_temperature_margin_celsius",
        "How far the GPU is below the temperature at which it slows down.",
        field(Field::TemperatureMargin),
    )
    .unit("celsius"),
    gauge(
        Named,
        "gpu_temperature_limit_celsius",
        "Temperatures at which the board protects itself.",
        Supply::Each(&[
            ("max_operating", Measure::Field(Field::TemperatureMaxOperating)),
            (
                "memory_max_operating",
                Measure::Field(Field::MemoryTemperatureMaxOperating),
            ),
            ("shutdown", Measure::Field(Field::TemperatureShutdown)),
            ("slowdown", Measure::Field(Field::TemperatureSlowdown)),
        ]),
    )
    .unit("celsius")
    .by(&["limit"]),
    gauge(
        Named,
        "gpu_clock_max_hertz",
        "Highest clock frequency by clock.",
        Supply::Each(&[
            ("decoder", Measure::Field(Field::DecoderClockMax)),
            ("fabric", Measure::Field(Field::FabricClockMax)),
            ("graphics", Measure::Field(Field::GraphicsClockMax)),
            ("memory", Measure::Field(Field::MemoryClockMax)),
            ("sm", Measure::Field(Field::SmClockMax)),
            ("soc", Measure::Field(Field::SocClockMax)),
            ("video", Measure::Field(Field::VideoClockMax)),
        ]),
    )
    .unit("hertz")
    .by(&["clock"]),
    gauge(
        Named,
        "gpu_performance_state",
        "Performance state, from 0 (fastest) to 15.",
        field(Field::PerformanceState),
    ),
    gauge(
        Named,
        "gpu_throttled",
        "Whether a reason holds the clocks down at the instant.",
        Supply::Each(THROTTLED),
    )
    .by(&["reason"]),
    counter(
        Named,
        "gpu_violation_seconds_total",
        "Time below the clocks asked for, by policy.",
        Supply::Each(&[
            ("app_clocks", Measure::Field(Field::ViolationAppClocks)),
            ("base_clocks", Measure::Field(Field::ViolationBaseClocks)),
            ("board_limit", Measure::Field(Field::ViolationBoardLimit)),
            ("low_utilization", Measure::Field(Field::ViolationLowUtilization)),
            ("power", Measure::Field(Field::ViolationPower)),
            ("reliability", Measure::Field(Field::ViolationReliability)),
            ("sync_boost", Measure::Field(Field::ViolationSyncBoost)),
            ("thermal", Measure::Field(Field::ViolationThermal)),
        ]),
    )
    .unit("seconds")
    .by(&["policy"]),
    counter(
        Named,
        "gpu_pcie_replays_total",
        "Packets that were sent again over PCIe.",
        field(Field::PcieReplays),
    ),
    gauge(
        Named,
        "gpu_pcie_link_generation",
        "Generation of the PCIe link, now and at most.",
        Supply::Each(&[
            ("current", Measure::Field(Field::PcieLinkGeneration)),
            ("max", Measure::Field(Field::PcieLinkGenerationMax)),
        ]),
    )
    .by(&["of"]),
    gauge(
        Named,
        "gpu_pcie_link_width",
        "Lanes of the PCIe link, now and at most.",
        Supply::Each(&[
            ("current", Measure::Field(Field::PcieLinkWidth)),
            ("max", Measure::Field(Field::PcieLinkWidthMax)),
        ]),
    )
    .by(&["of"]),
    gauge(
        Named,
        "gpu_link_up",
        "Whether a link to another GPU or switch is active.",
        Supply::LinkUp,
    )
    .by(&["link"]),
    counter(
        Named,
        "gpu_link_errors_total",
        "Errors of the links between GPUs, by link and kind.",
        Supply::LinkErrors,
    )
    .by(&["link", "type"]),
    counter(
        Named,
        "gpu_ecc_errors_lifetime_total",
        "Memory errors since the board was made.",
        Supply::Each(&[
            ("corrected", Measure::Field(Field::EccCorrectedAggregate)),
            ("uncorrected", Measure::Field(Field::EccUncorrectedAggregate)),
        ]),
    )
    .by(&["type"]),
    gauge(
        Named,
        "gpu_row_remap_pending",
        "Whether memory rows wait for a reset to be replaced.",
        field(Field::RowRemapPending),
    ),
    gauge(
        Named,
        "gpu_row_remap_failed",
        "Whether replacing a memory row has failed.",
        field(Field::RowRemapFailure),
    ),
    counter(
        Named,
        "gpu_retired_pages_total",
        "Memory pages taken out of use, by cause.",
        Supply::Each(&[
            ("double_bit", Measure::Field(Field::RetiredPagesDoubleBit)),
            ("single_bit", Measure::Field(Field::RetiredPagesSingleBit)),
        ]),
    )
    .by(&["cause"]),
    gauge(
        Named,
        "gpu_retired_pages_pending",
        "Whether memory pages wait for a reset to be taken out of use.",
        field(Field::RetiredPagesPending),
    ),
    gauge(
        Named,
        "gpu_fabric_state",
        "State of the registration with the fabric manager, as the driver numbers it.",
        field(Field::FabricState),
    ),
    gauge(
        Named,
        "gpu_fabric_status",
        "Outcome of the registration with the fabric manager, as the driver numbers it.",
        field(Field::FabricStatus),
    ),
    gauge(
        Named,
        "gpu_fabric_health_mask",
        "Health of the fabric as the driver's bit mask.",
        field(Field::FabricHealthMask),
    ),
    gauge(
        Named,
        "gpu_vgpu_licensed",
        "Whether the virtual GPU has a licence.",
        field(Field::VgpuLicensed),
    ),
    gauge(
        Named,
        "gpu_mig_enabled",
        "Whether the GPU can be cut into slices.",
        field(Field::MigEnabled),
    ),
];

const THROTTLED: &[(&str, Measure)] = &[
    throttled(ThrottleReason::ClocksSetting),
    throttled(ThrottleReason::HardwarePowerBrake),
    throttled(ThrottleReason::HardwareSlowdown),
    throttled(ThrottleReason::HardwareThermal),
    throttled(ThrottleReason::MemoryThermal),
    throttled(ThrottleReason::PowerCap),
    throttled(ThrottleReason::ProcessorHot),
    throttled(ThrottleReason::RegulatorThermal),
    throttled(ThrottleReason::SoftwareThermal),
    throttled(ThrottleReason::SyncBoost),
];

const fn throttled(reason: ThrottleReason) -> (&'static str, Measure) {
    (reason.as_str(), Measure::Throttled(reason))
}

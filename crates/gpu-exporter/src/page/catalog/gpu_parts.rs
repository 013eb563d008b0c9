//! The families of our own vocabulary for what a device has several of, and for what only some vendors measure. All are
//! shown when asked for by name.

use super::{FamilySpec, Measure, Ownership, Scale, Supply, Tier, counter, field, gauge};
use crate::readings::{Field, PartField};

use Ownership::Holder;
use Tier::Named;

pub(super) const NAMED: &[FamilySpec] = &[
    gauge(
        Named,
        "gpu_memory_stack_temperature_celsius",
        "Temperature of each stack of memory.",
        Supply::Parts(&[("", PartField::StackTemperature)]),
    )
    .unit("celsius")
    .by(&["stack"]),
    gauge(
        Named,
        "gpu_die_clock_hertz",
        "Clock frequency of each compute die.",
        Supply::Parts(&[("", PartField::GraphicsClock)]),
    )
    .unit("hertz")
    .by(&["die"]),
    gauge(
        Named,
        "gpu_die_utilization_ratio",
        "How busy each compute die is at the instant.",
        Supply::Parts(&[("", PartField::GraphicsBusy)]),
    )
    .unit("ratio")
    .scaled(Scale::Millionths)
    .by(&["die"])
    .owned(Holder),
    gauge(
        Named,
        "gpu_die_below_limit_ratio",
        "Share of the last interval in which each compute die ran below the host's limit, by reason.",
        Supply::Parts(&[
            ("any", PartField::BelowLimitShareTotal),
            ("low_utilization", PartField::LowUtilizationShare),
            ("power", PartField::BelowLimitSharePower),
            ("thermal", PartField::BelowLimitShareThermal),
        ]),
    )
    .unit("ratio")
    .scaled(Scale::Millionths)
    .by(&["reason", "die"]),
    gauge(
        Named,
        "gpu_media_engine_utilization_ratio",
        "How busy each media engine is at the instant.",
        Supply::Parts(&[("jpeg", PartField::JpegBusy), ("video", PartField::VideoBusy)]),
    )
    .unit("ratio")
    .scaled(Scale::Millionths)
    .by(&["engine", "instance"])
    .owned(Holder),
    gauge(
        Named,
        "gpu_limited_ratio",
        "Share of the last interval in which the clocks were held down, by reason.",
        Supply::Each(&[
            ("hw_thermal", Measure::Field(Field::LimitShareThermal)),
            ("memory_thermal", Measure::Field(Field::LimitShareMemory)),
            ("power_cap", Measure::Field(Field::LimitSharePower)),
            ("processor_hot", Measure::Field(Field::LimitShareProchot)),
            ("regulator_thermal", Measure::Field(Field::LimitShareRegulator)),
        ]),
    )
    .unit("ratio")
    .scaled(Scale::Millionths)
    .by(&["reason"]),
    counter(
        Named,
        "gpu_block_errors_total",
        "Errors since the driver was loaded, by block of the chip and by whether they could be corrected.",
        Supply::BlockErrors,
    )
    .by(&["block", "type"]),
    gauge(
        Named,
        "gpu_bad_pages",
        "Memory pages that went bad, by what became of them.",
        Supply::Each(&[
            ("pending", Measure::Field(Field::BadPagesPending)),
            ("retired", Measure::Field(Field::BadPagesRetired)),
            ("unreservable", Measure::Field(Field::BadPagesUnreservable)),
        ]),
    )
    .by(&["state"]),
    gauge(
        Named,
        "gpu_visible_memory_bytes",
        "Device memory that the host can address.",
        Supply::Each(&[
            (
                "free",
                Measure::Left(Field::VisibleMemoryTotal, Field::VisibleMemoryUsed),
            ),
            ("used", Measure::Field(Field::VisibleMemoryUsed)),
        ]),
    )
    .unit("bytes")
    .by(&["state"]),
    gauge(
        Named,
        "gpu_host_memory_bytes",
        "Host memory that the GPU can address.",
        Supply::Each(&[
            (
                "free",
                Measure::Left(Field::HostMemoryTotal, Field::HostMemoryUsed),
            ),
            ("used", Measure::Field(Field::HostMemoryUsed)),
        ]),
    )
    .unit("bytes")
    .by(&["state"])
    .owned(Holder),
    gauge(
        Named,
        "gpu_memory_bandwidth_max_bytes_per_second",
        "What device memory moves at most.",
        field(Field::MemoryBandwidthMax),
    ),
    gauge(
        Named,
        "gpu_power_average_watts",
        "Power of the socket, averaged by the firmware.",
        field(Field::PowerAverage),
    )
    .unit("watts")
    .owned(Holder),
    gauge(
        Named,
        "gpu_clock_min_hertz",
        "Lowest clock frequency by clock.",
        Supply::Each(&[
            ("decoder", Measure::Field(Field::DecoderClockMin)),
            ("fabric", Measure::Field(Field::FabricClockMin)),
            ("graphics", Measure::Field(Field::GraphicsClockMin)),
            ("memory", Measure::Field(Field::MemoryClockMin)),
            ("soc", Measure::Field(Field::SocClockMin)),
            ("video", Measure::Field(Field::VideoClockMin)),
        ]),
    )
    .unit("hertz")
    .by(&["clock"]),
    gauge(
        Named,
        "gpu_voltage_volts",
        "Voltage by rail.",
        Supply::Each(&[
            ("graphics", Measure::Field(Field::GraphicsVoltage)),
            ("memory", Measure::Field(Field::MemoryVoltage)),
            ("soc", Measure::Field(Field::SocVoltage)),
        ]),
    )
    .unit("volts")
    .by(&["rail"]),
    gauge(
        Named,
        "gpu_fan_ratio",
        "Share of what the fan can do.",
        field(Field::FanDuty),
    )
    .unit("ratio")
    .scaled(Scale::Millionths),
    gauge(
        Named,
        "gpu_fan_rpm",
        "Turns of the fan in a minute.",
        field(Field::FanSpeed),
    ),
    gauge(
        Named,
        "gpu_pcie_link_transfers_per_second",
        "Speed of a lane of the PCIe link, now and at most.",
        Supply::Each(&[
            ("current", Measure::Field(Field::PcieLinkSpeed)),
            ("max", Measure::Field(Field::PcieLinkSpeedMax)),
        ]),
    )
    .by(&["of"]),
    gauge(
        Named,
        "gpu_pcie_bandwidth_bytes_per_second",
        "Traffic on the PCIe link in both directions.",
        field(Field::PcieBandwidth),
    )
    .owned(Holder),
    counter(
        Named,
        "gpu_pcie_errors_total",
        "Errors of the PCIe link, by kind.",
        Supply::Each(&[
            ("nak_received", Measure::Field(Field::PcieNaksReceived)),
            ("nak_sent", Measure::Field(Field::PcieNaksSent)),
            (
                "other_end_recovery",
                Measure::Field(Field::PcieOtherEndRecoveries),
            ),
            ("recovery", Measure::Field(Field::PcieRecoveries)),
            ("replay_rollover", Measure::Field(Field::PcieReplayRollovers)),
        ]),
    )
    .by(&["type"]),
    gauge(
        Named,
        "gpu_link_width",
        "Lanes of a link between GPUs.",
        field(Field::LinkWidth),
    ),
    gauge(
        Named,
        "gpu_link_transfers_per_second",
        "Speed of a lane of a link between GPUs.",
        field(Field::LinkSpeed),
    ),
];

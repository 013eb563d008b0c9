//! The default families of our own vocabulary: vendor-neutral, base units, checked by promtool.

use super::{FamilySpec, Measure, Ownership, Scale, Supply, Tier, counter, field, gauge, info};
use crate::readings::{Field, ThrottleReason};

use Ownership::{Container, Holder};
use Tier::{Core, Default};

pub(super) const DEFAULT: &[FamilySpec] = &[
    info(Core, "gpu_info", "What the GPU or slice is.", Supply::Info).by(&[
        "model",
        "driver",
        "pci_bus_id",
        "architecture",
        "serial",
        "vbios",
        "compute_partition",
        "memory_partition",
        "profile",
        "partition_uuid",
    ]),
    gauge(
        Core,
        "gpu_up",
        "Whether the GPU answered when it was last asked.",
        Supply::Up,
    ),
    gauge(
        Core,
        "gpu_last_sample_age_seconds",
        "Time since the last complete sample of the GPU.",
        Supply::Age,
    )
    .unit("seconds")
    .scaled(Scale::Thousandths),
    gauge(
        Core,
        "gpu_utilization_ratio",
        "Share of the time in which at least one kernel ran.",
        field(Field::Utilization),
    )
    .unit("ratio")
    .owned(Holder),
    gauge(
        Core,
        "gpu_memory_used_bytes",
        "Device memory in use.",
        field(Field::MemoryUsed),
    )
    .unit("bytes")
    .owned(Holder)
    .with_rest(),
    gauge(
        Core,
        "gpu_memory_total_bytes",
        "Device memory there is.",
        field(Field::MemoryTotal),
    )
    .unit("bytes")
    .owned(Holder)
    .with_rest(),
    gauge(
        Default,
        "gpu_memory_used_ratio",
        "Share of the device memory in use.",
        Supply::One(Measure::Share(Field::MemoryUsed, Field::MemoryTotal)),
    )
    .unit("ratio")
    .scaled(Scale::Millionths)
    .owned(Holder),
    gauge(
        Core,
        "gpu_memory_bandwidth_utilization_ratio",
        "Share of the time in which device memory was read or written.",
        field(Field::MemoryBandwidthUtilization),
    )
    .unit("ratio")
    .owned(Holder),
    gauge(
        Core,
        "gpu_power_watts",
        "Power the board draws.",
        field(Field::Power),
    )
    .unit("watts")
    .owned(Holder),
    gauge(
        Default,
        "gpu_power_limit_watts",
        "Power limit in force on the board.",
        field(Field::PowerLimit),
    )
    .unit("watts"),
    counter(
        Core,
        "gpu_energy_joules_total",
        "Energy used: the driver's count, or the power summed over time where it has none.",
        Supply::One(Measure::Energy),
    )
    .unit("joules")
    .scaled(Scale::Thousandths)
    .owned(Holder),
    gauge(
        Default,
        "gpu_temperature_celsius",
        "Temperature by sensor.",
        Supply::Each(&[
            ("gpu", Measure::Field(Field::Temperature)),
            ("hotspot", Measure::Field(Field::HotspotTemperature)),
            ("memory", Measure::Field(Field::MemoryTemperature)),
            (
                "regulator_graphics",
                Measure::Field(Field::GraphicsRegulatorTemperature),
            ),
            (
                "regulator_memory",
                Measure::Field(Field::MemoryRegulatorTemperature),
            ),
            ("regulator_soc", Measure::Field(Field::SocRegulatorTemperature)),
        ]),
    )
    .unit("celsius")
    .by(&["sensor"]),
    gauge(
        Default,
        "gpu_clock_hertz",
        "Clock frequency by clock.",
        Supply::Each(&[
            ("decoder", Measure::Field(Field::DecoderClock)),
            ("fabric", Measure::Field(Field::FabricClock)),
            ("graphics", Measure::Field(Field::GraphicsClock)),
            ("memory", Measure::Field(Field::MemoryClock)),
            ("sm", Measure::Field(Field::SmClock)),
            ("soc", Measure::Field(Field::SocClock)),
            ("video", Measure::Field(Field::VideoClock)),
        ]),
    )
    .unit("hertz")
    .by(&["clock"]),
    counter(
        Core,
        "gpu_busy_seconds_total",
        "Time in which at least one kernel ran, summed at every sample.",
        Supply::One(Measure::Busy),
    )
    .unit("seconds")
    .scaled(Scale::Thousandths)
    .owned(Holder),
    counter(
        Default,
        "gpu_throttle_seconds_total",
        "Time in which the clocks were held down, by reason.",
        Supply::Each(THROTTLE),
    )
    .unit("seconds")
    .scaled(Scale::Thousandths)
    .by(&["reason"]),
    gauge(
        Core,
        "gpu_sm_active_ratio",
        "Share of the multiprocessors that had work, averaged over time.",
        field(Field::SmActive),
    )
    .unit("ratio")
    .owned(Holder),
    gauge(
        Default,
        "gpu_sm_occupancy_ratio",
        "Share of the warps that were resident on the multiprocessors.",
        field(Field::SmOccupancy),
    )
    .unit("ratio")
    .owned(Holder),
    gauge(
        Core,
        "gpu_tensor_active_ratio",
        "Share of the time in which the tensor pipes were active.",
        field(Field::TensorActive),
    )
    .unit("ratio")
    .owned(Holder),
    gauge(
        Core,
        "gpu_dram_active_ratio",
        "Share of the time in which the memory interface moved data.",
        field(Field::DramActive),
    )
    .unit("ratio")
    .owned(Holder),
    counter(
        Default,
        "gpu_pcie_bytes_total",
        "Bytes moved over the PCIe bus, by direction.",
        Supply::Each(&[
            ("receive", Measure::PcieReceived),
            ("transmit", Measure::PcieSent),
        ]),
    )
    .unit("bytes")
    .scaled(Scale::Whole)
    .by(&["direction"])
    .owned(Holder),
    counter(
        Default,
        "gpu_link_bytes_total",
        "Bytes moved over the links between GPUs, by link and direction.",
        Supply::LinkBytes,
    )
    .unit("bytes")
    .by(&["link", "direction"])
    .owned(Holder),
    counter(
        Default,
        "gpu_ecc_errors_total",
        "Memory errors since the driver was loaded, by whether they could be corrected.",
        Supply::Each(&[
            ("corrected", Measure::Field(Field::EccCorrectedVolatile)),
            ("deferred", Measure::Field(Field::EccDeferredVolatile)),
            ("uncorrected", Measure::Field(Field::EccUncorrectedVolatile)),
        ]),
    )
    .by(&["type"]),
    counter(
        Default,
        "gpu_remapped_rows_total",
        "Memory rows replaced by spare ones, by the kind of error.",
        Supply::Each(&[
            ("correctable", Measure::Field(Field::RemappedRowsCorrectable)),
            ("uncorrectable", Measure::Field(Field::RemappedRowsUncorrectable)),
        ]),
    )
    .by(&["type"]),
    counter(
        Core,
        "gpu_faults_total",
        "Faults the driver reported, by its code (XID on NVIDIA).",
        Supply::Faults,
    )
    .by(&["code"]),
    gauge(
        Core,
        "gpu_processes",
        "Processes that hold a context on the GPU.",
        Supply::Processes,
    )
    .owned(Holder),
    gauge(
        Core,
        "gpu_container_utilization_ratio",
        "Share of the GPU's time that was measured for the container.",
        Supply::ContainerUtilization,
    )
    .unit("ratio")
    .scaled(Scale::Millionths)
    .owned(Container),
    gauge(
        Core,
        "gpu_container_memory_bytes",
        "Device memory that was measured for the container.",
        Supply::ContainerMemory,
    )
    .unit("bytes")
    .owned(Container),
    gauge(
        Core,
        "gpu_unattributed_utilization_ratio",
        "Share of the GPU's time without a known owner, by reason.",
        Supply::UnattributedUtilization,
    )
    .unit("ratio")
    .scaled(Scale::Millionths)
    .by(&["reason"]),
    gauge(
        Core,
        "gpu_unattributed_memory_bytes",
        "Device memory without a known owner, by reason.",
        Supply::UnattributedMemory,
    )
    .unit("bytes")
    .by(&["reason"]),
    info(
        Default,
        "gpu_topology_info",
        "The nearest way to each other GPU of the node.",
        Supply::Topology,
    )
    .by(&["peer", "path", "links"]),
];

const THROTTLE: &[(&str, Measure)] = &[
    throttle(ThrottleReason::ClocksSetting),
    throttle(ThrottleReason::HardwarePowerBrake),
    throttle(ThrottleReason::HardwareSlowdown),
    throttle(ThrottleReason::HardwareThermal),
    throttle(ThrottleReason::MemoryThermal),
    throttle(ThrottleReason::PowerCap),
    throttle(ThrottleReason::ProcessorHot),
    throttle(ThrottleReason::RegulatorThermal),
    throttle(ThrottleReason::SoftwareThermal),
    throttle(ThrottleReason::SyncBoost),
];

const fn throttle(reason: ThrottleReason) -> (&'static str, Measure) {
    (reason.as_str(), Measure::Throttle(reason))
}

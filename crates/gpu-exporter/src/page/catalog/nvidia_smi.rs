//! The five names that wrappers of `nvidia-smi` give to whole devices.

use super::{FamilySpec, Scale, Tier, field, gauge};
use crate::readings::Field;

pub(super) const DEFAULT: &[FamilySpec] = &[
    gauge(
        Tier::Default,
        "nvidia_smi_gpu_utilization_percent",
        "Percent of the time in which at least one kernel ran.",
        field(Field::Utilization),
    )
    .scaled(Scale::Percent),
    gauge(
        Tier::Default,
        "nvidia_smi_memory_utilization_percent",
        "Percent of the time in which device memory was read or written.",
        field(Field::MemoryBandwidthUtilization),
    )
    .scaled(Scale::Percent),
    gauge(
        Tier::Default,
        "nvidia_smi_memory_used_bytes",
        "Device memory in use.",
        field(Field::MemoryUsed),
    )
    .unit("bytes"),
    gauge(
        Tier::Default,
        "nvidia_smi_temperature_celsius",
        "Temperature of the GPU.",
        field(Field::Temperature),
    )
    .unit("celsius"),
    gauge(
        Tier::Default,
        "nvidia_smi_power_usage_watts",
        "Power the board draws.",
        field(Field::Power),
    )
    .unit("watts"),
];

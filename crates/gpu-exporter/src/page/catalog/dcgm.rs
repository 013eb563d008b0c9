//! The default families of dcgm-exporter, with its names and units. The help texts are our own words.

use super::{FamilySpec, Measure, Scale, Shares, Supply, Tier, dcgm_counter, dcgm_gauge, field};
use crate::readings::Field;

use Tier::Default;

pub(super) const DEFAULT: &[FamilySpec] = &[
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_SM_CLOCK",
        "SM clock frequency (in MHz).",
        field(Field::SmClock),
    )
    .scaled(Scale::Megahertz),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_MEM_CLOCK",
        "Memory clock frequency (in MHz).",
        field(Field::MemoryClock),
    )
    .scaled(Scale::Megahertz),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_MEMORY_TEMP",
        "Memory temperature (in C).",
        field(Field::MemoryTemperature),
    )
    .alias("DCGM_FI_DEV_MEMORY_TEMP_CELSIUS"),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_GPU_TEMP",
        "GPU temperature (in C).",
        field(Field::Temperature),
    )
    .alias("DCGM_FI_DEV_GPU_TEMP_CELSIUS"),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_POWER_USAGE",
        "Power draw (in W).",
        field(Field::Power),
    )
    .alias("DCGM_FI_DEV_BOARD_POWER_WATTS"),
    dcgm_counter(
        Default,
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "Energy used since the driver was loaded (in mJ).",
        field(Field::Energy),
    )
    .scaled(Scale::Millijoules),
    dcgm_counter(
        Default,
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
        "PCIe packets sent again.",
        field(Field::PcieReplays),
    )
    .alias("DCGM_FI_DEV_PCIE_REPLAY_TOTAL")
    .scaled(Scale::Whole),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_GPU_UTIL",
        "GPU utilization (in %).",
        field(Field::Utilization),
    )
    .alias("DCGM_FI_DEV_GPU_UTIL_RATIO")
    .scaled(Scale::Percent)
    .shared(Shares::Utilization),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "Memory utilization (in %).",
        field(Field::MemoryBandwidthUtilization),
    )
    .scaled(Scale::Percent),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_ENC_UTIL",
        "Encoder utilization (in %).",
        field(Field::EncoderUtilization),
    )
    .scaled(Scale::Percent),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_DEC_UTIL",
        "Decoder utilization (in %).",
        field(Field::DecoderUtilization),
    )
    .scaled(Scale::Percent),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_XID_ERRORS",
        "Code of the last XID, 0 if there was none.",
        Supply::LastFault,
    )
    .alias("DCGM_FI_DEV_XID_ERROR")
    .by(&["err_code", "err_msg"]),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_FB_TOTAL",
        "Framebuffer memory (in MiB).",
        field(Field::MemoryTotal),
    )
    .scaled(Scale::Mebibytes),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_FB_FREE",
        "Framebuffer memory free (in MiB).",
        field(Field::MemoryFree),
    )
    .scaled(Scale::Mebibytes),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_FB_USED",
        "Framebuffer memory used (in MiB).",
        field(Field::MemoryUsed),
    )
    .scaled(Scale::Mebibytes)
    .shared(Shares::Memory),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_FB_RESERVED",
        "Framebuffer memory reserved (in MiB).",
        field(Field::MemoryReserved),
    )
    .scaled(Scale::Mebibytes),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        "NVLink traffic of all links in both directions (in MB/s).",
        Supply::One(Measure::Both(Field::LinkSentRate, Field::LinkReceivedRate)),
    )
    .alias("DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL")
    .scaled(Scale::Megabytes),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_VGPU_LICENSE_STATUS",
        "Whether the vGPU has a license.",
        field(Field::VgpuLicensed),
    ),
    dcgm_counter(
        Default,
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "Memory rows remapped for uncorrectable errors.",
        field(Field::RemappedRowsUncorrectable),
    )
    .alias("DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL")
    .scaled(Scale::Whole),
    dcgm_counter(
        Default,
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "Memory rows remapped for correctable errors.",
        field(Field::RemappedRowsCorrectable),
    )
    .alias("DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL")
    .scaled(Scale::Whole),
    dcgm_gauge(
        Default,
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "Whether remapping a memory row has failed.",
        field(Field::RowRemapFailure),
    )
    .alias("DCGM_FI_DEV_ROW_REMAP_FAILED"),
    dcgm_gauge(
        Default,
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "Share of the time the graphics engine is active.",
        field(Field::GraphicsActive),
    )
    .alias("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"),
    dcgm_gauge(
        Default,
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "Share of the cycles the tensor pipe is active.",
        field(Field::TensorActive),
    )
    .alias("DCGM_FI_PROF_TENSOR_UTIL_RATIO"),
    dcgm_gauge(
        Default,
        "DCGM_FI_PROF_DRAM_ACTIVE",
        "Share of the cycles the device memory interface is active.",
        field(Field::DramActive),
    )
    .alias("DCGM_FI_PROF_DRAM_UTIL_RATIO"),
    dcgm_gauge(
        Default,
        "DCGM_FI_PROF_PCIE_TX_BYTES",
        "PCIe traffic sent (in B/s).",
        field(Field::PcieSentRate),
    )
    .scaled(Scale::Whole),
    dcgm_gauge(
        Default,
        "DCGM_FI_PROF_PCIE_RX_BYTES",
        "PCIe traffic received (in B/s).",
        field(Field::PcieReceivedRate),
    )
    .scaled(Scale::Whole),
];

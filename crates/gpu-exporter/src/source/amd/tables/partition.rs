//! The table of a single partition, `xcp/xcp_metrics` beside its device: clocks and engines of its own compute dies. Newer
//! drivers have it, and where `gpu_metrics` describes itself it is the only place that tells partitions apart.

use super::cell::{Side as _, Unit, Width};
use super::layout::{Row, Table, rows};
use super::metrics::{Metrics, Version};

/// Numbered from 1.0 again, which has nothing to do with the device's own tables.
pub(super) const TABLES: &[Table] = &[Table {
    version: Version {
        format: 1,
        content: 0,
    },
    size: 488,
    rows: &[V1_0],
    partitions: None,
}];

/// The version that describes itself.
pub(super) const DESCRIBED: Version = Version {
    format: 1,
    content: 1,
};

const V1_0: &[Row<Metrics>] = rows! {
    4: U16[8] gfx_clock_hertz as Megahertz;
    20: U16[4] soc_clock_hertz as Megahertz;
    28: U16[4] video_clock_hertz as Megahertz;
    36: U16[4] decode_clock_hertz as Megahertz;
    44: U16 memory_clock_hertz as Megahertz;
    48: U32[8] whole.gfx_busy_ratio as Percent;
    80: U16[40] whole.jpeg_busy_ratio as Percent;
    160: U16[4] whole.vcn_busy_ratio as Percent;
    168: U64[8] whole.gfx_busy_accumulator as Plain;
    232: U64[8] whole.below_host_limit_power_accumulator as Plain;
    296: U64[8] whole.below_host_limit_thermal_accumulator as Plain;
    360: U64[8] whole.low_utilization_accumulator as Plain;
    424: U64[8] whole.below_host_limit_total_accumulator as Plain;
};

//! The tables of processors with graphics, v2.0 to v2.4 and v3.0. What belongs to the processor's cores is left out: it is
//! not a GPU's.

use super::cell::{Side as _, Unit, Width};
use super::layout::{Row, Table, rows};
use super::metrics::{Metrics, Version};

pub(super) const TABLES: &[Table] = &[
    table(2, 0, 120, &[V2_0]),
    table(2, 1, 120, &[V2_1, POWER_OF_SOME_UNIT]),
    table(2, 2, 128, &[V2_1, POWER_OF_SOME_UNIT, V2_2_ADDS]),
    table(2, 3, 152, &[V2_1, POWER_IN_MILLIWATTS, V2_2_ADDS]),
    table(2, 4, 168, &[V2_1, POWER_IN_MILLIWATTS, V2_2_ADDS, V2_4_ADDS]),
    table(3, 0, 264, &[V3_0]),
];

const fn table(format: u8, content: u8, size: usize, rows: &'static [&'static [Row<Metrics>]]) -> Table {
    Table {
        version: Version { format, content },
        size,
        rows,
        partitions: None,
    }
}

const V2_0: &[Row<Metrics>] = rows! {
    8: U64 system_clock_nanoseconds as Nanoseconds;
    16: U16 gfx_celsius as CentiCelsius;
    18: U16 soc_celsius as CentiCelsius;
    40: U16 gfx_busy_ratio as CentiPercent;
    44: U16 average_socket_power_raw as Plain;
    68: U16 average_gfx_clock_hertz as Megahertz;
    70: U16 average_soc_clock_hertz as Megahertz;
    72: U16 average_memory_clock_hertz as Megahertz;
    74: U16 average_fabric_clock_hertz as Megahertz;
    76: U16 average_video_clock_hertz[0] as Megahertz;
    78: U16 average_decode_clock_hertz[0] as Megahertz;
    80: U16 gfx_clock_hertz[0] as Megahertz;
    82: U16 soc_clock_hertz[0] as Megahertz;
    84: U16 memory_clock_hertz as Megahertz;
    86: U16 fabric_clock_hertz as Megahertz;
    88: U16 video_clock_hertz[0] as Megahertz;
    90: U16 decode_clock_hertz[0] as Megahertz;
    112: U32 throttle_bits_of_chip as Plain;
    116: U16 fan_pwm_raw as Plain;
};

/// What v2.1 to v2.4 have alike.
const V2_1: &[Row<Metrics>] = rows! {
    4: U16 gfx_celsius as CentiCelsius;
    6: U16 soc_celsius as CentiCelsius;
    28: U16 gfx_busy_ratio as CentiPercent;
    32: U64 system_clock_nanoseconds as Nanoseconds;
    64: U16 average_gfx_clock_hertz as Megahertz;
    66: U16 average_soc_clock_hertz as Megahertz;
    68: U16 average_memory_clock_hertz as Megahertz;
    70: U16 average_fabric_clock_hertz as Megahertz;
    72: U16 average_video_clock_hertz[0] as Megahertz;
    74: U16 average_decode_clock_hertz[0] as Megahertz;
    76: U16 gfx_clock_hertz[0] as Megahertz;
    78: U16 soc_clock_hertz[0] as Megahertz;
    80: U16 memory_clock_hertz as Megahertz;
    82: U16 fabric_clock_hertz as Megahertz;
    84: U16 video_clock_hertz[0] as Megahertz;
    86: U16 decode_clock_hertz[0] as Megahertz;
    108: U32 throttle_bits_of_chip as Plain;
    112: U16 fan_pwm_raw as Plain;
};

/// Up to v2.2 some firmwares count watts and some milliwatts, and the table does not say which.
const POWER_OF_SOME_UNIT: &[Row<Metrics>] = rows! {
    40: U16 average_socket_power_raw as Plain;
};

const POWER_IN_MILLIWATTS: &[Row<Metrics>] = rows! {
    40: U16 average_socket_power_watts as Milliwatts;
    42: U16 average_cpu_power_watts as Milliwatts;
    44: U16 average_soc_power_watts as Milliwatts;
    46: U16 average_gfx_power_watts as Milliwatts;
};

const V2_2_ADDS: &[Row<Metrics>] = rows! {
    120: U64 throttle_bits as Plain;
};

const V2_4_ADDS: &[Row<Metrics>] = rows! {
    30: U16 media_busy_ratio as CentiPercent;
    152: U16 cpu_volts as Millivolts;
    154: U16 soc_volts as Millivolts;
    156: U16 gfx_volts as Millivolts;
    158: U16 cpu_amperes as Milliamperes;
    160: U16 soc_amperes as Milliamperes;
    162: U16 gfx_amperes as Milliamperes;
};

/// The share of busy time is left as it stands: hundredths of a percent up to a certain firmware, percent after it.
const V3_0: &[Row<Metrics>] = rows! {
    4: U16 gfx_celsius as CentiCelsius;
    6: U16 soc_celsius as CentiCelsius;
    40: U16 skin_celsius as CentiCelsius;
    42: U16 gfx_busy_raw as Plain;
    94: U16 dram_read_bytes_per_second as MegabytesPerSecond;
    96: U16 dram_write_bytes_per_second as MegabytesPerSecond;
    104: U64 system_clock_nanoseconds as Nanoseconds;
    112: U32 average_socket_power_watts as Milliwatts;
    120: U32 average_apu_power_watts as Milliwatts;
    124: U32 average_gfx_power_watts as Milliwatts;
    132: U32 average_cpu_power_watts as Milliwatts;
    174: U16 average_gfx_clock_hertz as Megahertz;
    176: U16 average_soc_clock_hertz as Megahertz;
    182: U16 average_fabric_clock_hertz as Megahertz;
    184: U16 average_video_clock_hertz[0] as Megahertz;
    186: U16 average_memory_clock_hertz as Megahertz;
    224: U16 gfx_clock_limit_hertz as Megahertz;
    228: U32 residency.prochot as Plain;
    232: U32 residency.sustained_power as Plain;
    236: U32 residency.fast_power as Plain;
    240: U32 residency.slow_power as Plain;
    244: U32 residency.core_thermal as Plain;
    248: U32 residency.gfx_thermal as Plain;
    252: U32 residency.soc_thermal as Plain;
};

//! The tables of graphics cards and accelerators, v1.0 to v1.8.

use super::cell::{Side as _, Unit, Width};
use super::layout::{Partitions, Row, Table, rows};
use super::metrics::{Engines, Metrics, Version};

pub(super) const TABLES: &[Table] = &[
    table(0, 80, &[V1_0], None),
    table(1, 96, &[V1_1], None),
    table(2, 104, &[V1_1, V1_2_ADDS], None),
    table(3, 120, &[V1_1, V1_2_ADDS, V1_3_ADDS], None),
    table(4, 288, &[V1_4], None),
    table(5, 360, &[V1_5], None),
    // Some drivers end the table where the partitions would begin; the two bytes before are padding then.
    table(6, 312, &[V1_6], None),
    table(
        6,
        1664,
        &[V1_6, V1_6_ADDS],
        Some(parts(312, 168, PARTITION_OF_V1_6)),
    ),
    table(
        7,
        2208,
        &[V1_7, V1_7_ADDS],
        Some(parts(344, 232, PARTITION_OF_V1_7)),
    ),
    table(
        8,
        3872,
        &[V1_7, V1_8_ADDS],
        Some(parts(344, 440, PARTITION_OF_V1_8)),
    ),
];

const fn table(
    content: u8,
    size: usize,
    rows: &'static [&'static [Row<Metrics>]],
    partitions: Option<Partitions>,
) -> Table {
    Table {
        version: Version { format: 1, content },
        size,
        rows,
        partitions,
    }
}

const fn parts(at: usize, size: usize, rows: &'static [Row<Engines>]) -> Partitions {
    Partitions { at, size, rows }
}

const V1_0: &[Row<Metrics>] = rows! {
    8: U64 system_clock_nanoseconds as Nanoseconds;
    16: U16 edge_celsius as Celsius;
    18: U16 hotspot_celsius as Celsius;
    20: U16 memory_celsius as Celsius;
    22: U16 vr_gfx_celsius as Celsius;
    24: U16 vr_soc_celsius as Celsius;
    26: U16 vr_memory_celsius as Celsius;
    28: U16 gfx_busy_ratio as Percent;
    30: U16 memory_busy_ratio as Percent;
    32: U16 media_busy_ratio as Percent;
    34: U16 average_socket_power_watts as Watts;
    36: U32 energy_raw as Plain;
    40: U16 average_gfx_clock_hertz as Megahertz;
    42: U16 average_soc_clock_hertz as Megahertz;
    44: U16 average_memory_clock_hertz as Megahertz;
    46: U16 average_video_clock_hertz[0] as Megahertz;
    48: U16 average_decode_clock_hertz[0] as Megahertz;
    50: U16 average_video_clock_hertz[1] as Megahertz;
    52: U16 average_decode_clock_hertz[1] as Megahertz;
    54: U16 gfx_clock_hertz[0] as Megahertz;
    56: U16 soc_clock_hertz[0] as Megahertz;
    58: U16 memory_clock_hertz as Megahertz;
    60: U16 video_clock_hertz[0] as Megahertz;
    62: U16 decode_clock_hertz[0] as Megahertz;
    64: U16 video_clock_hertz[1] as Megahertz;
    66: U16 decode_clock_hertz[1] as Megahertz;
    68: U32 throttle_bits_of_chip as Plain;
    72: U16 fan_rpm as Plain;
    74: U8 pcie_link_lanes as Plain;
    75: U8 pcie_link_transfers_per_second as TenthGigatransfers;
};

const V1_1: &[Row<Metrics>] = rows! {
    4: U16 edge_celsius as Celsius;
    6: U16 hotspot_celsius as Celsius;
    8: U16 memory_celsius as Celsius;
    10: U16 vr_gfx_celsius as Celsius;
    12: U16 vr_soc_celsius as Celsius;
    14: U16 vr_memory_celsius as Celsius;
    16: U16 gfx_busy_ratio as Percent;
    18: U16 memory_busy_ratio as Percent;
    20: U16 media_busy_ratio as Percent;
    22: U16 average_socket_power_watts as Watts;
    24: U64 energy_raw as Plain;
    32: U64 system_clock_nanoseconds as Nanoseconds;
    40: U16 average_gfx_clock_hertz as Megahertz;
    42: U16 average_soc_clock_hertz as Megahertz;
    44: U16 average_memory_clock_hertz as Megahertz;
    46: U16 average_video_clock_hertz[0] as Megahertz;
    48: U16 average_decode_clock_hertz[0] as Megahertz;
    50: U16 average_video_clock_hertz[1] as Megahertz;
    52: U16 average_decode_clock_hertz[1] as Megahertz;
    54: U16 gfx_clock_hertz[0] as Megahertz;
    56: U16 soc_clock_hertz[0] as Megahertz;
    58: U16 memory_clock_hertz as Megahertz;
    60: U16 video_clock_hertz[0] as Megahertz;
    62: U16 decode_clock_hertz[0] as Megahertz;
    64: U16 video_clock_hertz[1] as Megahertz;
    66: U16 decode_clock_hertz[1] as Megahertz;
    68: U32 throttle_bits_of_chip as Plain;
    72: U16 fan_rpm as Plain;
    74: U16 pcie_link_lanes as Plain;
    76: U16 pcie_link_transfers_per_second as TenthGigatransfers;
    80: U32 gfx_activity_accumulator as Plain;
    84: U32 memory_activity_accumulator as Plain;
    88: U16[4] hbm_celsius as Celsius;
};

const V1_2_ADDS: &[Row<Metrics>] = rows! {
    96: U64 firmware_timestamp_nanoseconds as TenNanoseconds;
};

const V1_3_ADDS: &[Row<Metrics>] = rows! {
    104: U16 soc_volts as Millivolts;
    106: U16 gfx_volts as Millivolts;
    108: U16 memory_volts as Millivolts;
    112: U64 throttle_bits as Plain;
};

const V1_4: &[Row<Metrics>] = rows! {
    4: U16 hotspot_celsius as Celsius;
    6: U16 memory_celsius as Celsius;
    8: U16 vr_soc_celsius as Celsius;
    10: U16 socket_power_watts as Watts;
    12: U16 gfx_busy_ratio as Percent;
    14: U16 memory_busy_ratio as Percent;
    16: U16[4] whole.vcn_busy_ratio as Percent;
    24: U64 energy_joules as Energy;
    32: U64 system_clock_nanoseconds as Nanoseconds;
    40: U32 throttle_bits_of_chip as Plain;
    44: U32 gfx_clock_lock_bits as Plain;
    48: U16 pcie_link_lanes as Plain;
    50: U16 pcie_link_transfers_per_second as TenthGigatransfers;
    52: U16 xgmi_link_lanes as Plain;
    54: U16 xgmi_link_bits_per_second as Gigatransfers;
    56: U32 gfx_activity_accumulator as Plain;
    60: U32 memory_activity_accumulator as Plain;
    64: U64 pcie_bandwidth_accumulator as Plain;
    72: U64 pcie_bytes_per_second as GigabytesPerSecond;
    80: U64 pcie_l0_to_recovery_count as Plain;
    88: U64 pcie_replay_count as Plain;
    96: U64 pcie_replay_rollover_count as Plain;
    104: U64[8] xgmi_read_bytes as Kilobytes;
    168: U64[8] xgmi_write_bytes as Kilobytes;
    232: U64 firmware_timestamp_nanoseconds as TenNanoseconds;
    240: U16[8] gfx_clock_hertz as Megahertz;
    256: U16[4] soc_clock_hertz as Megahertz;
    264: U16[4] video_clock_hertz as Megahertz;
    272: U16[4] decode_clock_hertz as Megahertz;
    280: U16 memory_clock_hertz as Megahertz;
};

const V1_5: &[Row<Metrics>] = rows! {
    4: U16 hotspot_celsius as Celsius;
    6: U16 memory_celsius as Celsius;
    8: U16 vr_soc_celsius as Celsius;
    10: U16 socket_power_watts as Watts;
    12: U16 gfx_busy_ratio as Percent;
    14: U16 memory_busy_ratio as Percent;
    16: U16[4] whole.vcn_busy_ratio as Percent;
    24: U16[32] whole.jpeg_busy_ratio as Percent;
    88: U64 energy_joules as Energy;
    96: U64 system_clock_nanoseconds as Nanoseconds;
    104: U32 throttle_bits_of_chip as Plain;
    108: U32 gfx_clock_lock_bits as Plain;
    112: U16 pcie_link_lanes as Plain;
    114: U16 pcie_link_transfers_per_second as TenthGigatransfers;
    116: U16 xgmi_link_lanes as Plain;
    118: U16 xgmi_link_bits_per_second as Gigatransfers;
    120: U32 gfx_activity_accumulator as Plain;
    124: U32 memory_activity_accumulator as Plain;
    128: U64 pcie_bandwidth_accumulator as Plain;
    136: U64 pcie_bytes_per_second as GigabytesPerSecond;
    144: U64 pcie_l0_to_recovery_count as Plain;
    152: U64 pcie_replay_count as Plain;
    160: U64 pcie_replay_rollover_count as Plain;
    168: U32 pcie_nak_sent_count as Plain;
    172: U32 pcie_nak_received_count as Plain;
    176: U64[8] xgmi_read_bytes as Kilobytes;
    240: U64[8] xgmi_write_bytes as Kilobytes;
    304: U64 firmware_timestamp_nanoseconds as TenNanoseconds;
    312: U16[8] gfx_clock_hertz as Megahertz;
    328: U16[4] soc_clock_hertz as Megahertz;
    336: U16[4] video_clock_hertz as Megahertz;
    344: U16[4] decode_clock_hertz as Megahertz;
    352: U16 memory_clock_hertz as Megahertz;
};

const V1_6: &[Row<Metrics>] = rows! {
    4: U16 hotspot_celsius as Celsius;
    6: U16 memory_celsius as Celsius;
    8: U16 vr_soc_celsius as Celsius;
    10: U16 socket_power_watts as Watts;
    12: U16 gfx_busy_ratio as Percent;
    14: U16 memory_busy_ratio as Percent;
    16: U64 energy_joules as Energy;
    24: U64 system_clock_nanoseconds as Nanoseconds;
    32: U32 accumulation_counter as Plain;
    36: U32 residency.prochot as Plain;
    40: U32 residency.package_power as Plain;
    44: U32 residency.socket_thermal as Plain;
    48: U32 residency.vr_thermal as Plain;
    52: U32 residency.hbm_thermal as Plain;
    56: U32 gfx_clock_lock_bits as Plain;
    60: U16 pcie_link_lanes as Plain;
    62: U16 pcie_link_transfers_per_second as TenthGigatransfers;
    64: U16 xgmi_link_lanes as Plain;
    66: U16 xgmi_link_bits_per_second as Gigatransfers;
    68: U32 gfx_activity_accumulator as Plain;
    72: U32 memory_activity_accumulator as Plain;
    80: U64 pcie_bandwidth_accumulator as Plain;
    88: U64 pcie_bytes_per_second as GigabytesPerSecond;
    96: U64 pcie_l0_to_recovery_count as Plain;
    104: U64 pcie_replay_count as Plain;
    112: U64 pcie_replay_rollover_count as Plain;
    120: U32 pcie_nak_sent_count as Plain;
    124: U32 pcie_nak_received_count as Plain;
    128: U64[8] xgmi_read_bytes as Kilobytes;
    192: U64[8] xgmi_write_bytes as Kilobytes;
    256: U64 firmware_timestamp_nanoseconds as TenNanoseconds;
    264: U16[8] gfx_clock_hertz as Megahertz;
    280: U16[4] soc_clock_hertz as Megahertz;
    288: U16[4] video_clock_hertz as Megahertz;
    296: U16[4] decode_clock_hertz as Megahertz;
    304: U16 memory_clock_hertz as Megahertz;
};

const V1_6_ADDS: &[Row<Metrics>] = rows! {
    306: U16 partition_count as Plain;
    1656: U32 pcie_other_end_recovery_count as Plain;
};

/// The part before the partitions, which v1.8 has unchanged.
const V1_7: &[Row<Metrics>] = rows! {
    4: U16 hotspot_celsius as Celsius;
    6: U16 memory_celsius as Celsius;
    8: U16 vr_soc_celsius as Celsius;
    10: U16 socket_power_watts as Watts;
    12: U16 gfx_busy_ratio as Percent;
    14: U16 memory_busy_ratio as Percent;
    16: U64 memory_bandwidth_limit_bytes_per_second as GigabytesPerSecond;
    24: U64 energy_joules as Energy;
    32: U64 system_clock_nanoseconds as Nanoseconds;
    40: U32 accumulation_counter as Plain;
    44: U32 residency.prochot as Plain;
    48: U32 residency.package_power as Plain;
    52: U32 residency.socket_thermal as Plain;
    56: U32 residency.vr_thermal as Plain;
    60: U32 residency.hbm_thermal as Plain;
    64: U32 gfx_clock_lock_bits as Plain;
    68: U16 pcie_link_lanes as Plain;
    70: U16 pcie_link_transfers_per_second as TenthGigatransfers;
    72: U16 xgmi_link_lanes as Plain;
    74: U16 xgmi_link_bits_per_second as Gigatransfers;
    76: U32 gfx_activity_accumulator as Plain;
    80: U32 memory_activity_accumulator as Plain;
    88: U64 pcie_bandwidth_accumulator as Plain;
    96: U64 pcie_bytes_per_second as GigabytesPerSecond;
    104: U64 pcie_l0_to_recovery_count as Plain;
    112: U64 pcie_replay_count as Plain;
    120: U64 pcie_replay_rollover_count as Plain;
    128: U32 pcie_nak_sent_count as Plain;
    132: U32 pcie_nak_received_count as Plain;
    136: U64[8] xgmi_read_bytes as Kilobytes;
    200: U64[8] xgmi_write_bytes as Kilobytes;
    264: U16[8] xgmi_link_active as Plain;
    288: U64 firmware_timestamp_nanoseconds as TenNanoseconds;
    296: U16[8] gfx_clock_hertz as Megahertz;
    312: U16[4] soc_clock_hertz as Megahertz;
    320: U16[4] video_clock_hertz as Megahertz;
    328: U16[4] decode_clock_hertz as Megahertz;
    336: U16 memory_clock_hertz as Megahertz;
    338: U16 partition_count as Plain;
};

const V1_7_ADDS: &[Row<Metrics>] = rows! {
    2200: U32 pcie_other_end_recovery_count as Plain;
};

const V1_8_ADDS: &[Row<Metrics>] = rows! {
    3864: U32 pcie_other_end_recovery_count as Plain;
};

const PARTITION_OF_V1_6: &[Row<Engines>] = rows! {
    0: U32[8] gfx_busy_ratio as Percent;
    32: U16[32] jpeg_busy_ratio as Percent;
    96: U16[4] vcn_busy_ratio as Percent;
    104: U64[8] gfx_busy_accumulator as Plain;
};

const PARTITION_OF_V1_7: &[Row<Engines>] = rows! {
    0: U32[8] gfx_busy_ratio as Percent;
    32: U16[32] jpeg_busy_ratio as Percent;
    96: U16[4] vcn_busy_ratio as Percent;
    104: U64[8] gfx_busy_accumulator as Plain;
    168: U64[8] below_host_limit_accumulator as Plain;
};

const PARTITION_OF_V1_8: &[Row<Engines>] = rows! {
    0: U32[8] gfx_busy_ratio as Percent;
    32: U16[40] jpeg_busy_ratio as Percent;
    112: U16[4] vcn_busy_ratio as Percent;
    120: U64[8] gfx_busy_accumulator as Plain;
    184: U64[8] below_host_limit_power_accumulator as Plain;
    248: U64[8] below_host_limit_thermal_accumulator as Plain;
    312: U64[8] low_utilization_accumulator as Plain;
    376: U64[8] below_host_limit_total_accumulator as Plain;
};

//! Tables put together byte by byte from the published offsets, without the writer.

use super::super::{Engines, Metrics, Throttler, parse, parse_partition};
use super::blob;

#[track_caller]
fn check(version: (u8, u8), size: usize, parts: &[(usize, &[u8])], expect: impl FnOnce(&mut Metrics)) {
    let mut expected = Metrics::EMPTY;
    (expected.version.format, expected.version.content) = version;
    expect(&mut expected);
    assert_eq!(parse(&blob(version, size, parts)), Ok(expected));
}

#[test]
fn all_ones_is_unknown_in_every_field() {
    for (version, size) in super::forms().filter(|(_, size)| *size > 0) {
        check((version.format, version.content), size, &[], |_| {});
    }
}

#[test]
fn the_first_version_has_its_clock_before_its_temperatures() {
    let parts: &[(usize, &[u8])] = &[
        (8, &533_474_291_244_u64.to_le_bytes()),
        (16, &[56, 0]),
        (34, &[36, 0]),
        (36, &17_691_682_u32.to_le_bytes()),
        (66, &[33, 0]),
        (74, &[16]),
        (75, &[160]),
    ];
    check((1, 0), 80, parts, |expected| {
        expected.system_clock_nanoseconds = Some(533_474_291_244);
        expected.edge_celsius = Some(56.0);
        expected.average_socket_power_watts = Some(36.0);
        expected.energy_raw = Some(17_691_682);
        expected.decode_clock_hertz[1] = Some(33e6);
        expected.pcie_link_lanes = Some(16);
        expected.pcie_link_transfers_per_second = Some(16e9);
    });
}

#[test]
fn a_radeon_says_what_it_measures_and_what_throttles_it() {
    let parts: &[(usize, &[u8])] = &[
        (4, &[53, 0, 54, 0, 60, 0]),
        (16, &[3, 0]),
        (22, &[1, 0]),
        (54, &1200_u16.to_le_bytes()),
        (68, &2_u32.to_le_bytes()),
        (72, &595_u16.to_le_bytes()),
        (74, &[8, 0, 160, 0]),
        (88, &[37, 0]),
        (104, &727_u16.to_le_bytes()),
        (112, &(1_u64 << 36 | 1 << 17).to_le_bytes()),
    ];
    check((1, 3), 120, parts, |expected| {
        expected.edge_celsius = Some(53.0);
        expected.hotspot_celsius = Some(54.0);
        expected.memory_celsius = Some(60.0);
        expected.gfx_busy_ratio = Some(0.03);
        expected.average_socket_power_watts = Some(1.0);
        expected.gfx_clock_hertz[0] = Some(1.2e9);
        expected.throttle_bits_of_chip = Some(2);
        expected.fan_rpm = Some(595.0);
        expected.pcie_link_lanes = Some(8);
        expected.pcie_link_transfers_per_second = Some(16e9);
        expected.hbm_celsius[0] = Some(37.0);
        expected.soc_volts = Some(0.727);
        expected.throttle_bits = Some(1 << 36 | 1 << 17);
    });
    let metrics = parse(&blob((1, 3), 120, parts)).unwrap();
    let active: Vec<Throttler> = metrics.throttlers().unwrap().iter().collect();
    assert_eq!(active, [Throttler::Current, Throttler::SocketThermal]);
}

#[test]
fn every_documented_throttler_belongs_to_exactly_one_kind() {
    let documented = (0..8).chain(16..24).chain(32..48).chain(56..58);
    for bit in 0..64 {
        let parts: &[(usize, &[u8])] = &[(112, &(1_u64 << bit).to_le_bytes())];
        let metrics = parse(&blob((1, 3), 120, parts)).unwrap();
        let kinds = metrics.throttlers().unwrap().iter().count();
        assert_eq!(
            kinds,
            usize::from(documented.clone().any(|known| known == bit)),
            "bit {bit}"
        );
    }
    assert_eq!(parse(&blob((1, 2), 104, &[])).unwrap().throttlers(), None);
}

#[test]
fn the_older_tables_of_accelerators_have_engines_of_the_whole_device() {
    let parts: &[(usize, &[u8])] = &[
        (10, &[194, 0]),
        (18, &[7, 0]),
        (24, &(65_536_u64 * 1000 + 32_768).to_le_bytes()),
        (54, &[32, 0]),
        (112, &42_u64.to_le_bytes()),
        (232, &100_u64.to_le_bytes()),
        (254, &2115_u16.to_le_bytes()),
    ];
    check((1, 4), 288, parts, |expected| {
        expected.socket_power_watts = Some(194.0);
        expected.whole.vcn_busy_ratio[1] = Some(0.07);
        expected.energy_joules = Some(1000.5);
        expected.xgmi_link_bits_per_second = Some(32e9);
        expected.xgmi_read_bytes[1] = Some(42 * 1024);
        expected.firmware_timestamp_nanoseconds = Some(1000);
        expected.gfx_clock_hertz[7] = Some(2.115e9);
    });
    let parts: &[(usize, &[u8])] = &[(86, &[9, 0]), (172, &[3, 0, 0, 0]), (352, &[132, 3])];
    check((1, 5), 360, parts, |expected| {
        expected.whole.jpeg_busy_ratio[31] = Some(0.09);
        expected.pcie_nak_received_count = Some(3);
        expected.memory_clock_hertz = Some(900e6);
    });
}

#[test]
fn the_short_form_of_a_version_has_no_partitions() {
    let parts: &[(usize, &[u8])] = &[(32, &[1, 2, 0, 0]), (40, &[3, 0, 0, 0]), (306, &[8, 0])];
    check((1, 6), 312, parts, |expected| {
        expected.accumulation_counter = Some(513);
        expected.residency.package_power = Some(3);
    });
    let parts: &[(usize, &[u8])] = &[
        (306, &[2, 0]),
        (312, &[55, 0, 0, 0]),
        (312 + 168 + 104 + 8, &77_u64.to_le_bytes()),
        (312 + 7 * 168 + 102, &[100, 0]),
        (1656, &[4, 0, 0, 0]),
    ];
    check((1, 6), 1664, parts, |expected| {
        expected.partition_count = Some(2);
        expected.partitions[0].gfx_busy_ratio[0] = Some(0.55);
        expected.partitions[1].gfx_busy_accumulator[1] = Some(77);
        expected.partitions[7].vcn_busy_ratio[3] = Some(1.0);
        expected.pcie_other_end_recovery_count = Some(4);
    });
}

#[test]
fn newer_versions_say_why_a_partition_stays_below_its_limit() {
    let parts: &[(usize, &[u8])] = &[
        (16, &5325_u64.to_le_bytes()),
        (264, &[1, 0, 0, 0, 2, 0]),
        (344 + 3 * 232 + 168, &11_u64.to_le_bytes()),
        (2200, &[5, 0, 0, 0]),
    ];
    check((1, 7), 2208, parts, |expected| {
        expected.memory_bandwidth_limit_bytes_per_second = Some(5.325e12);
        // The third link says that it does not know.
        expected.xgmi_link_active[..2].copy_from_slice(&[Some(true), Some(false)]);
        expected.partitions[3].below_host_limit_accumulator[0] = Some(11);
        expected.pcie_other_end_recovery_count = Some(5);
    });
    let place = 344 + 5 * 440;
    let parts: &[(usize, &[u8])] = &[
        (338, &[8, 0]),
        (place + 110, &[50, 0]),
        (place + 184, &1_u64.to_le_bytes()),
        (place + 248, &2_u64.to_le_bytes()),
        (place + 312, &3_u64.to_le_bytes()),
        (place + 432, &4_u64.to_le_bytes()),
        (3864, &[6, 0, 0, 0]),
    ];
    check((1, 8), 3872, parts, |expected| {
        expected.partition_count = Some(8);
        let engines: &mut Engines = &mut expected.partitions[5];
        engines.jpeg_busy_ratio[39] = Some(0.5);
        engines.below_host_limit_power_accumulator[0] = Some(1);
        engines.below_host_limit_thermal_accumulator[0] = Some(2);
        engines.low_utilization_accumulator[0] = Some(3);
        engines.below_host_limit_total_accumulator[7] = Some(4);
        expected.pcie_other_end_recovery_count = Some(6);
    });
}

#[test]
fn an_apu_counts_in_hundredths_and_its_power_only_where_the_unit_is_sure() {
    let power: &[(usize, &[u8])] = &[
        (4, &2500_u16.to_le_bytes()),
        (28, &79_u16.to_le_bytes()),
        (40, &3401_u16.to_le_bytes()),
    ];
    check((2, 1), 120, power, |expected| {
        expected.gfx_celsius = Some(25.0);
        expected.gfx_busy_ratio = Some(0.0079);
        expected.average_socket_power_raw = Some(3401);
    });
    check((2, 3), 152, power, |expected| {
        expected.gfx_celsius = Some(25.0);
        expected.gfx_busy_ratio = Some(0.0079);
        expected.average_socket_power_watts = Some(3.401);
    });
    let parts: &[(usize, &[u8])] = &[
        (46, &[0xe8, 3]),
        (30, &[0x10, 0x27]),
        (120, &[1, 0, 0, 0, 0, 0, 0, 0]),
        (162, &[0xdc, 5]),
    ];
    check((2, 4), 168, parts, |expected| {
        expected.average_gfx_power_watts = Some(1.0);
        expected.media_busy_ratio = Some(1.0);
        expected.throttle_bits = Some(1);
        expected.gfx_amperes = Some(1.5);
    });
    check(
        (2, 0),
        120,
        &[(18, &[0xb1, 0x0a]), (80, &[0x20, 3])],
        |expected| {
            expected.soc_celsius = Some(27.37);
            expected.gfx_clock_hertz[0] = Some(800e6);
        },
    );
    let parts: &[(usize, &[u8])] = &[
        (42, &[50, 0]),
        (112, &28_000_u32.to_le_bytes()),
        (224, &2900_u16.to_le_bytes()),
        (232, &12_u32.to_le_bytes()),
    ];
    check((3, 0), 264, parts, |expected| {
        expected.gfx_busy_raw = Some(50);
        expected.average_socket_power_watts = Some(28.0);
        expected.gfx_clock_limit_hertz = Some(2.9e9);
        expected.residency.sustained_power = Some(12);
    });
}

#[test]
fn a_partition_has_a_table_of_its_own() {
    let parts: &[(usize, &[u8])] = &[
        (4, &2098_u16.to_le_bytes()),
        (44, &900_u16.to_le_bytes()),
        (48, &[97, 0, 0, 0]),
        (158, &[12, 0]),
        (166, &[34, 0]),
        (168, &55_u64.to_le_bytes()),
        (480, &66_u64.to_le_bytes()),
    ];
    let metrics = parse_partition(&blob((1, 0), 488, parts)).unwrap();
    assert_eq!(metrics.gfx_clock_hertz[0], Some(2.098e9));
    assert_eq!(metrics.memory_clock_hertz, Some(900e6));
    assert_eq!(metrics.whole.gfx_busy_ratio[0], Some(0.97));
    assert_eq!(metrics.whole.jpeg_busy_ratio[39], Some(0.12));
    assert_eq!(metrics.whole.vcn_busy_ratio[3], Some(0.34));
    assert_eq!(metrics.whole.gfx_busy_accumulator[0], Some(55));
    assert_eq!(metrics.whole.below_host_limit_total_accumulator[7], Some(66));
    // The device's table of the same number is another one.
    assert_eq!(parse(&blob((1, 0), 488, parts)).unwrap().whole, Engines::EMPTY);
    assert_eq!(
        parse_partition(&blob((1, 9), 488, parts)).unwrap_err().class(),
        "table_unknown"
    );
}

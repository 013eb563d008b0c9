//! The self-describing version, put together attribute by attribute.

use super::super::{Metrics, TableError, parse};

/// A table under construction.
struct Builder {
    bytes: Vec<u8>,
    count: i32,
}

impl Builder {
    fn new() -> Self {
        Self {
            bytes: vec![0; 8],
            count: 0,
        }
    }

    /// An attribute with values of the width of its type.
    fn with(mut self, id: u64, kind: u64, unit: u64, values: &[u64]) -> Self {
        let encoding = unit << 24 | kind << 20 | id << 10 | values.len() as u64;
        self.bytes.extend(encoding.to_le_bytes());
        let width = [1, 1, 2, 2, 4, 4, 8, 8][usize::try_from(kind).unwrap() % 8];
        for value in values {
            self.bytes.extend(&value.to_le_bytes()[..width]);
        }
        self.count += 1;
        self
    }

    fn finish(mut self) -> Vec<u8> {
        let [low, high] = u16::try_from(self.bytes.len()).unwrap().to_le_bytes();
        self.bytes[..4].copy_from_slice(&[low, high, 1, 9]);
        self.bytes[4..8].copy_from_slice(&self.count.to_le_bytes());
        self.bytes
    }
}

const U16: u64 = 2;
const S16: u64 = 3;
const U32: u64 = 4;
const U64: u64 = 6;

/// An idle MI300X behind a virtual function: the published figures, and the published number of bytes and attributes.
fn idle_mi300x() -> Builder {
    let clocks = [2098, 2100, 2110, 2105, 2103, 2109, 2105, 2115];
    let mut table = Builder::new()
        .with(0, U16, 2, &[42])
        .with(1, U16, 2, &[37])
        .with(2, U16, 2, &[35])
        .with(3, U16, 3, &[194])
        .with(4, U16, 10, &[0])
        .with(5, U16, 10, &[0])
        .with(6, U64, 8, &[5325])
        .with(7, U64, 0, &[65_536])
        .with(8, U64, 4, &[1_000_000_000]);
    assert_eq!(table.bytes.len(), 116);
    table = table.with(9, U32, 0, &[54_536_484]);
    assert_eq!(table.bytes.len(), 128);
    table = table.with(10, U32, 0, &[0]).with(11, U32, 0, &[633_093]);
    for id in 12..=15 {
        table = table.with(id, U32, 0, &[0]);
    }
    table = table
        .with(16, U16, 0, &[16])
        .with(17, U16, 7, &[320])
        .with(18, U16, 0, &[16])
        .with(19, U16, 6, &[32])
        .with(20, U32, 10, &[1])
        .with(21, U32, 10, &[2]);
    for id in 22..=26 {
        table = table.with(id, U64, 0, &[id]);
    }
    table = table
        .with(27, U32, 0, &[0])
        .with(28, U32, 0, &[0])
        .with(29, U64, 9, &[7; 8])
        .with(30, U64, 9, &[8; 8])
        .with(31, U16, 0, &[1; 8])
        .with(32, U64, 5, &[12_345])
        .with(33, U16, 1, &clocks);
    for id in 34..=36 {
        table = table.with(id, U16, 1, &[50; 4]);
    }
    table = table
        .with(37, U16, 1, &[900])
        .with(39, U32, 0, &[0])
        .with(40, U32, 10, &[1; 8])
        .with(41, U16, 10, &[0; 40])
        .with(42, U16, 10, &[0; 4])
        .with(43, U64, 10, &[99; 8]);
    for id in 44..=47 {
        table = table.with(id, U64, 0, &[id; 8]);
    }
    table
}

#[test]
fn the_published_table_is_read_with_its_published_figures() {
    let table = idle_mi300x();
    assert_eq!(table.count, 47);
    let bytes = table.finish();
    assert_eq!(bytes.len(), 1150);
    let metrics = parse(&bytes).unwrap();
    assert_eq!(metrics.hotspot_celsius, Some(42.0));
    assert_eq!(metrics.memory_celsius, Some(37.0));
    assert_eq!(metrics.socket_power_watts, Some(194.0));
    assert_eq!(metrics.memory_bandwidth_limit_bytes_per_second, Some(5.325e12));
    assert_eq!(metrics.energy_joules, Some(1.0));
    assert_eq!(metrics.accumulation_counter, Some(54_536_484));
    assert_eq!(metrics.residency.package_power, Some(633_093));
    assert_eq!(metrics.pcie_link_transfers_per_second, Some(32e9));
    assert_eq!(metrics.xgmi_link_bits_per_second, Some(32e9));
    assert_eq!(metrics.xgmi_read_bytes, [Some(7 * 1024); 8]);
    assert_eq!(metrics.firmware_timestamp_nanoseconds, Some(123_450));
    let clocks = metrics.gfx_clock_hertz.map(|hertz| hertz.unwrap() / 1e6);
    assert_eq!(
        clocks,
        [2098.0, 2100.0, 2110.0, 2105.0, 2103.0, 2109.0, 2105.0, 2115.0]
    );
    assert_eq!(metrics.whole.below_host_limit_total_accumulator, [Some(47); 8]);
    assert_eq!(metrics.partition_count, None);
    assert_eq!(metrics.hbm_celsius, [None; 8]);
}

#[test]
fn two_tables_under_load_give_the_share_of_time_at_the_power_limit() {
    let read = |accumulation: u64, power_limited: u64, watts: u64| {
        let table = Builder::new()
            .with(3, U16, 3, &[watts])
            .with(9, U32, 0, &[accumulation])
            .with(11, U32, 0, &[power_limited]);
        parse(&table.finish()).unwrap()
    };
    let (first, second) = (read(55_257_356, 749_905, 705), read(55_262_364, 754_247, 707));
    let grown =
        |field: fn(&Metrics) -> Option<u64>| (field(&second).unwrap() - field(&first).unwrap()) as f64;
    let share = grown(|table| table.residency.package_power) / grown(|table| table.accumulation_counter);
    assert!((share - 0.867).abs() < 0.0005, "{share}");
    assert_eq!(second.socket_power_watts, Some(707.0));
}

#[test]
fn a_read_that_ends_inside_an_attribute_keeps_those_before_it() {
    let bytes = idle_mi300x().finish();
    let error = parse(&bytes[..120]).unwrap_err();
    assert!(
        matches!(
            error,
            TableError::Truncated {
                bytes: 120,
                expected: 1150,
                ..
            }
        ),
        "{error}"
    );
    let partial = error.partial().unwrap();
    assert_eq!(partial.system_clock_nanoseconds, Some(1_000_000_000));
    assert_eq!(partial.accumulation_counter, None);
}

#[test]
fn an_unknown_type_ends_the_table_and_says_where() {
    let bytes = Builder::new()
        .with(0, U16, 2, &[42])
        .with(1, 8, 2, &[37])
        .with(3, U16, 3, &[194])
        .finish();
    let error = parse(&bytes).unwrap_err();
    assert!(
        matches!(
            error,
            TableError::UnknownType {
                attribute: 1,
                kind: 8,
                ..
            }
        ),
        "{error}"
    );
    let partial = error.partial().unwrap();
    assert_eq!(
        (partial.hotspot_celsius, partial.socket_power_watts),
        (Some(42.0), None)
    );
}

#[test]
fn unknown_and_ambiguous_attributes_are_passed_over() {
    let bytes = Builder::new()
        .with(49, U16, 2, &[42; 4])
        .with(50, U16, 2, &[43; 8])
        .with(1000, U64, 200, &[1; 500])
        .with(3, U16, 3, &[194])
        .finish();
    let mut expected = parse(&Builder::new().finish()).unwrap();
    expected.socket_power_watts = Some(194.0);
    assert_eq!(parse(&bytes), Ok(expected));
}

#[test]
fn the_unit_of_the_table_counts_and_one_that_measures_something_else_makes_the_number_unknown() {
    let bytes = Builder::new()
        .with(0, U16, 3, &[42])
        .with(1, U16, 77, &[37])
        .with(2, S16, 2, &[u64::from(0xfff6_u16)])
        .with(9, S16, 0, &[u64::from(0xfff6_u16)])
        .with(17, U16, 6, &[32])
        .with(32, U64, 4, &[12_345])
        .finish();
    let metrics = parse(&bytes).unwrap();
    assert_eq!(metrics.hotspot_celsius, None);
    assert_eq!(metrics.memory_celsius, None);
    assert_eq!(metrics.vr_soc_celsius, Some(-10.0));
    assert_eq!(metrics.accumulation_counter, None);
    assert_eq!(metrics.pcie_link_transfers_per_second, Some(32e9));
    assert_eq!(metrics.firmware_timestamp_nanoseconds, Some(12_345));
}

#[test]
fn more_values_than_there_is_room_for_are_left_out() {
    let bytes = Builder::new().with(33, U16, 1, &[100; 1000]).finish();
    assert_eq!(parse(&bytes).unwrap().gfx_clock_hertz, [Some(100e6); 8]);
}

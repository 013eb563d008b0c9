//! What is written is what is read, for every form of every version.

use proptest::prelude::*;

use super::super::cell::Width;
use super::super::described::{ATTRIBUTES, VERSION};
use super::super::layout::Row;
use super::super::write::{forms, write, write_form, write_partition};
use super::super::{Metrics, Version, parse, parse_partition, tables};

/// Numbers to fill fields with, one after the other and then again from the first.
struct Numbers<'a> {
    numbers: &'a [u64],
    next: usize,
}

impl Numbers<'_> {
    /// Bytes of so many numbers.
    fn next(&mut self, width: Width, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..count {
            let number = self.numbers[self.next % self.numbers.len()];
            bytes.extend(&number.to_le_bytes()[..width.bytes()]);
            self.next += 1;
        }
        bytes
    }

    fn fill<T>(&mut self, row: &Row<T>, into: &mut T) {
        (row.fields)(into).fill(&self.next(row.width, row.count), row.width, row.unit);
    }
}

/// Something that a table of the form can say: each of its fields filled, and no other.
fn sayable(version: Version, size: usize, numbers: &[u64]) -> Metrics {
    let mut numbers = Numbers { numbers, next: 0 };
    let mut metrics = Metrics {
        version,
        ..Metrics::EMPTY
    };
    if version == VERSION {
        for attribute in ATTRIBUTES {
            let (_, width, count) = super::super::write::shape(attribute.id);
            let bytes = numbers.next(width, usize::from(count));
            (attribute.fields)(&mut metrics).fill(&bytes, width, attribute.unit);
        }
        return metrics;
    }
    let table = tables()
        .find(|table| table.version == version && table.size == size)
        .unwrap();
    for row in table.rows.iter().copied().flatten() {
        numbers.fill(row, &mut metrics);
    }
    if let Some(parts) = table.partitions {
        for engines in &mut metrics.partitions {
            for row in parts.rows {
                numbers.fill(row, engines);
            }
        }
    }
    metrics
}

proptest! {
    /// Numbers up to 2^48 and the word for "not known": a larger one would lose digits as a float, and no counter gets there.
    #[test]
    fn every_form_says_again_what_it_was_told(
        numbers in prop::collection::vec(prop_oneof![0_u64..1 << 48, 0_u64..70_000, Just(0), Just(u64::MAX)], 1..200),
    ) {
        for (version, size) in forms() {
            let metrics = sayable(version, size, &numbers);
            let bytes = write_form(&metrics, size).unwrap();
            prop_assert!(size == 0 || bytes.len() == size);
            prop_assert_eq!(parse(&bytes).unwrap(), metrics, "{} of {} bytes", version, size);
        }
    }

    /// Both forms of a partition's table say the same, which is part of what the device's own can say.
    #[test]
    fn so_does_the_table_of_a_partition(numbers in prop::collection::vec(0_u64..1 << 48, 1..200)) {
        let device = sayable(VERSION, 0, &numbers);
        let mut metrics = Metrics {
            gfx_clock_hertz: device.gfx_clock_hertz,
            soc_clock_hertz: device.soc_clock_hertz,
            video_clock_hertz: device.video_clock_hertz,
            decode_clock_hertz: device.decode_clock_hertz,
            memory_clock_hertz: device.memory_clock_hertz,
            whole: device.whole,
            ..Metrics::EMPTY
        };
        for content in [0, 1] {
            metrics.version = Version { format: 1, content };
            prop_assert_eq!(&parse_partition(&write_partition(&metrics).unwrap()).unwrap(), &metrics);
        }
    }
}

#[test]
fn without_a_size_the_longest_form_is_written_and_an_unknown_version_is_not() {
    let of = |format, content| Metrics {
        version: Version { format, content },
        ..Metrics::EMPTY
    };
    assert_eq!(write(&of(1, 6)).unwrap().len(), 1664);
    assert_eq!(write(&of(2, 4)).unwrap().len(), 168);
    assert_eq!(write(&of(7, 0)), None);
    assert_eq!(write_form(&of(1, 6), 313), None);
}

//! Bytes that are no table, or only a part of one.

use proptest::prelude::*;

use super::super::write::{forms, write_form};
use super::super::{Metrics, TableError, Version, parse, parse_partition};
use super::blob;

#[track_caller]
fn check(bytes: &[u8], class: &str, message: &str) {
    let error = parse(bytes).unwrap_err();
    assert_eq!((error.class(), error.to_string().as_str()), (class, message));
}

#[test]
fn the_reasons_are_told_apart() {
    check(&[], "table_empty", "the table is empty");
    check(
        &[120, 0, 1],
        "table_short",
        "the table ends inside its header, after 3 bytes",
    );
    check(
        &blob((1, 10), 4000, &[]),
        "table_unknown",
        "tables v1.10 of 4000 bytes are not known to this program",
    );
    check(
        &blob((4, 0), 100, &[]),
        "table_unknown",
        "tables v4.0 of 100 bytes are not known to this program",
    );
    check(
        &blob((1, 3), 100, &[]),
        "table_unknown",
        "tables v1.3 of 100 bytes are not known to this program",
    );
    check(
        &blob((1, 3), 120, &[])[..60],
        "table_truncated",
        "the table v1.3 ends after 60 of 120 bytes",
    );
    check(
        &[200, 0, 1, 9, 1],
        "table_truncated",
        "the table v1.9 ends after 5 of 200 bytes",
    );
    check(
        &[0, 0, 1, 9, 255, 255, 255, 127],
        "table_truncated",
        "the table v1.9 ends after 8 of 16 bytes",
    );
    check(
        &[16, 0, 1, 9, 1, 0, 0, 0, 1, 0, 0xf0, 0, 0, 0, 0, 0],
        "table_unknown_type",
        "attribute 0 of the table v1.9 has the unknown type 15",
    );
}

#[test]
fn a_table_cut_anywhere_keeps_what_lies_wholly_before_the_cut() {
    let whole = blob(
        (1, 6),
        1664,
        &[(4, &[42, 0]), (312, &[55, 0, 0, 0]), (480, &[60, 0, 0, 0])],
    );
    for length in 4..whole.len() {
        let error = parse(&whole[..length]).unwrap_err();
        assert!(
            matches!(error, TableError::Truncated { bytes, expected: 1664, .. } if bytes == length),
            "{error}"
        );
        let partial = error.partial().unwrap();
        assert_eq!(partial.hotspot_celsius.is_some(), length >= 6, "{length}");
        assert_eq!(
            partial.partitions[0].gfx_busy_ratio[0].is_some(),
            length >= 316,
            "{length}"
        );
        assert_eq!(
            partial.partitions[1].gfx_busy_ratio[0].is_some(),
            length >= 484,
            "{length}"
        );
    }
}

#[test]
fn bytes_behind_the_table_and_a_larger_table_of_the_same_version_change_nothing() {
    let parts: &[(usize, &[u8])] = &[(4, &[53, 0])];
    let exact = parse(&blob((1, 3), 120, parts)).unwrap();
    let mut page = blob((1, 3), 120, parts);
    page.resize(4096, 0);
    assert_eq!(parse(&page), Ok(exact.clone()));
    assert_eq!(parse(&blob((1, 3), 136, parts)), Ok(exact));
}

/// A header of a known version, or of any, before any bytes.
fn near_table() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<(Version, usize)> = forms().collect();
    let header = prop_oneof![
        3 => prop::sample::select(known).prop_map(|(version, size)| (version.format, version.content, size)),
        1 => (any::<u8>(), any::<u8>(), 0_usize..5000),
    ];
    let rest = prop::collection::vec(
        prop_oneof![4 => any::<u8>(), 1 => Just(0), 1 => Just(0xff)],
        0..4200,
    );
    (header, rest).prop_map(|((format, content, size), rest)| {
        let [low, high] = u16::try_from(size).unwrap().to_le_bytes();
        let mut bytes = vec![low, high, format, content];
        bytes.extend(rest);
        bytes
    })
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop_oneof![near_table(), prop::collection::vec(any::<u8>(), 0..64)]) {
        let _ = parse(&bytes);
        let _ = parse_partition(&bytes);
    }

    /// Self-describing tables with some good attributes and a bad byte somewhere.
    #[test]
    fn no_damaged_description_makes_it_panic(at in 4_usize..1200, byte in any::<u8>(), length in 0_usize..1300) {
        let empty = Metrics { version: Version { format: 1, content: 9 }, ..Metrics::EMPTY };
        let mut bytes = write_form(&empty, 0).unwrap();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(length);
        let _ = parse(&bytes);
    }
}

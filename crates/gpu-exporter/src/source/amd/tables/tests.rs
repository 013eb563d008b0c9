//! Layouts against published sizes, tables made by hand, round trips of every form, and bytes that are no table at all.

mod by_hand;
mod described;
mod hostile;
mod round_trip;

use super::layout::{Row, Table};
use super::write::forms;
use super::{Version, tables};

/// A table of a version with the given bytes at the given places, and all-ones elsewhere.
fn blob(version: (u8, u8), size: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0xff; size];
    let [low, high] = u16::try_from(size).unwrap().to_le_bytes();
    bytes[..4].copy_from_slice(&[low, high, version.0, version.1]);
    for (at, part) in parts {
        bytes[*at..at + part.len()].copy_from_slice(part);
    }
    bytes
}

#[test]
fn every_documented_version_is_known_with_its_size() {
    let known: Vec<(String, usize)> = forms()
        .map(|(version, size)| (version.to_string(), size))
        .collect();
    let expected = [
        ("v1.0", 80),
        ("v1.1", 96),
        ("v1.2", 104),
        ("v1.3", 120),
        ("v1.4", 288),
        ("v1.5", 360),
        ("v1.6", 312),
        ("v1.6", 1664),
        ("v1.7", 2208),
        ("v1.8", 3872),
        ("v2.0", 120),
        ("v2.1", 120),
        ("v2.2", 128),
        ("v2.3", 152),
        ("v2.4", 168),
        ("v3.0", 264),
        ("v1.9", 0),
    ];
    assert_eq!(
        known,
        expected
            .map(|(version, size)| (version.to_owned(), size))
            .to_vec()
    );
}

/// Each row's bytes, which must lie in its part, behind the header, and at a multiple of its width, as C lays structs out.
fn spans<T: 'static>(
    rows: impl Iterator<Item = &'static Row<T>>,
    size: usize,
    version: Version,
) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = rows
        .map(|row| {
            let end = row.at + row.width.bytes() * row.count;
            assert!(
                end <= size,
                "{version}: a row at {} ends behind the table",
                row.at
            );
            assert_eq!(
                row.at % row.width.bytes(),
                0,
                "{version}: the row at {} is not aligned",
                row.at
            );
            (row.at, end)
        })
        .collect();
    spans.sort_unstable();
    spans
}

#[track_caller]
fn check_disjoint(spans: &[(usize, usize)], version: Version) {
    for pair in spans.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{version}: the rows {pair:?} overlap");
    }
}

#[test]
fn no_row_overlaps_another_or_leaves_its_table() {
    for Table {
        version,
        size,
        rows,
        partitions,
    } in tables()
    {
        let mut whole = spans(rows.iter().copied().flatten(), *size, *version);
        if let Some(parts) = partitions {
            check_disjoint(&spans(parts.rows.iter(), parts.size, *version), *version);
            whole.push((parts.at, parts.at + 8 * parts.size));
            whole.sort_unstable();
        }
        assert!(whole[0].0 >= 4, "{version}: a row lies in the header");
        check_disjoint(&whole, *version);
    }
}

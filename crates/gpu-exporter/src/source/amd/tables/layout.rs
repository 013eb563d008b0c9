//! What a table looks like: rows of offset, width, unit and field. A new version is a new table in this form, and nothing
//! else changes.

use std::ops::Range;

use super::cell::{Cells, Unit, Width};
use super::metrics::{Engines, MAX_XCC, Metrics, Version};

/// A number, or several in a row, of a table or of a part of it.
pub(super) struct Row<T> {
    pub(super) at: usize,
    pub(super) width: Width,
    pub(super) count: usize,
    pub(super) unit: Unit,
    pub(super) fields: Fields<T>,
}

/// Where the numbers of a row go.
pub(super) type Fields<T> = fn(&mut T) -> Cells<'_>;

/// One form of one version.
pub(super) struct Table {
    pub(super) version: Version,
    /// As in the header. A larger one is this form with something new behind it.
    pub(super) size: usize,
    /// In groups, because versions share long stretches with their predecessors.
    pub(super) rows: &'static [&'static [Row<Metrics>]],
    pub(super) partitions: Option<Partitions>,
}

/// Equal parts, one a partition.
#[derive(Clone, Copy)]
pub(super) struct Partitions {
    pub(super) at: usize,
    pub(super) size: usize,
    pub(super) rows: &'static [Row<Engines>],
}

impl Table {
    /// Fills whatever lies wholly in `bytes`.
    pub(super) fn read(&self, bytes: &[u8], into: &mut Metrics) {
        for row in self.rows.iter().copied().flatten() {
            row.read(bytes, into);
        }
        if let Some(parts) = self.partitions {
            for (place, engines) in into.partitions.iter_mut().enumerate() {
                let Some(part) = bytes.get(parts.at + place * parts.size..) else {
                    break;
                };
                for row in parts.rows {
                    row.read(part, engines);
                }
            }
        }
    }

    /// The opposite: a blob of this form. Padding and what [`Metrics`] has no field for is all-ones.
    pub(super) fn write(&self, metrics: &mut Metrics) -> Vec<u8> {
        let mut bytes = vec![0xff; self.size];
        for row in self.rows.iter().copied().flatten() {
            row.write(&mut bytes, metrics);
        }
        if let Some(parts) = self.partitions {
            for place in 0..MAX_XCC {
                for row in parts.rows {
                    row.write(
                        &mut bytes[parts.at + place * parts.size..],
                        &mut metrics.partitions[place],
                    );
                }
            }
        }
        bytes
    }
}

impl<T> Row<T> {
    /// The row's own bytes, as far as they are there.
    fn span(&self, length: usize) -> Range<usize> {
        let end = self.at + self.width.bytes() * self.count;
        self.at.min(length)..end.min(length)
    }

    fn read(&self, bytes: &[u8], into: &mut T) {
        (self.fields)(into).fill(&bytes[self.span(bytes.len())], self.width, self.unit);
    }

    fn write(&self, bytes: &mut [u8], from: &mut T) {
        let span = self.span(bytes.len());
        (self.fields)(from).pour(&mut bytes[span], self.width, self.unit);
    }
}

/// Rows in the order of the table: `offset: width field as unit` or `offset: width[count] field as unit`.
/// A single number that belongs into one of several fields side by side names its place, as in `field[1]`.
macro_rules! rows {
    ($($at:literal : $width:ident $([$count:literal])? $($field:ident).+ $([$place:literal])? as $unit:ident;)*) => {
        &[$(Row {
            at: $at,
            width: Width::$width,
            count: rows!(@count $($count)?),
            unit: Unit::$unit,
            fields: |into| into.$($field).+ $([$place])? .cells(),
        }),*]
    };
    (@count) => { 1 };
    (@count $count:literal) => { $count };
}
pub(super) use rows;

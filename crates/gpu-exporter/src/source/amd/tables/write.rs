//! Tables made from numbers: for tests that need a `gpu_metrics` file of some version, here and in the fake trees of other
//! tests. It shares the layouts with the reader, so that a new version is written as soon as it is read; that the layouts are
//! right is shown by tables made by hand. The program itself never calls it.

use super::cell::{Unit, Width};
use super::described::{ATTRIBUTES, Encoding, VERSION};
use super::layout::Table;
use super::metrics::{MAX_CLOCKS, MAX_HBM, MAX_JPEG, MAX_VCN, MAX_XCC, MAX_XGMI_LINKS, Metrics, Version};
use super::{partition, tables};

/// The forms that can be written: version and size. The self-describing one has the size 0.
pub fn forms() -> impl Iterator<Item = (Version, usize)> {
    tables()
        .map(|table| (table.version, table.size))
        .chain(std::iter::once((VERSION, 0)))
}

/// The table of the version in `metrics`, in its longest form; none where no such version is known.
pub fn write(metrics: &Metrics) -> Option<Vec<u8>> {
    let size = forms()
        .filter(|(version, _)| *version == metrics.version)
        .map(|(_, size)| size)
        .max()?;
    write_form(metrics, size)
}

/// The same in the form of a given size. Fields that the form has no place for are lost, as they are in a driver.
pub fn write_form(metrics: &Metrics, size: usize) -> Option<Vec<u8>> {
    let mut metrics = metrics.clone();
    if metrics.version == VERSION {
        return described(&mut metrics, |_| true);
    }
    let table = tables().find(|table| table.version == metrics.version && table.size == size)?;
    fixed(table, &mut metrics)
}

/// The table of a single partition, from the clocks and [`Metrics::whole`]; its versions are 1.0 and 1.1.
pub fn write_partition(metrics: &Metrics) -> Option<Vec<u8>> {
    let mut metrics = metrics.clone();
    if metrics.version == partition::DESCRIBED {
        return described(&mut metrics, |id| matches!(id, 33..=37 | 40..=47));
    }
    let table = partition::TABLES
        .iter()
        .find(|table| table.version == metrics.version)?;
    fixed(table, &mut metrics)
}

fn fixed(table: &Table, metrics: &mut Metrics) -> Option<Vec<u8>> {
    with_header(table.write(metrics), metrics.version)
}

/// As a driver writes it: every attribute it has, with the usual types and the number of instances of the hardware.
fn described(metrics: &mut Metrics, has: impl Fn(u16) -> bool) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 8];
    let mut written: u32 = 0;
    for attribute in ATTRIBUTES.iter().filter(|attribute| has(attribute.id)) {
        let (kind, width, count) = shape(attribute.id);
        let encoding = Encoding {
            unit: code(attribute.unit),
            kind,
            id: attribute.id,
            count,
        };
        bytes.extend(encoding.to_bits().to_le_bytes());
        let at = bytes.len();
        bytes.resize(at + width.bytes() * usize::from(count), 0xff);
        (attribute.fields)(metrics).pour(&mut bytes[at..], width, attribute.unit);
        written += 1;
    }
    bytes[4..8].copy_from_slice(&written.to_le_bytes());
    with_header(bytes, metrics.version)
}

fn with_header(mut bytes: Vec<u8>, version: Version) -> Option<Vec<u8>> {
    let [low, high] = u16::try_from(bytes.len()).ok()?.to_le_bytes();
    bytes[..4].copy_from_slice(&[low, high, version.format, version.content]);
    Some(bytes)
}

/// Type code, width and number of values, as the first drivers with this version have them.
pub(super) fn shape(id: u16) -> (u8, Width, u16) {
    let short = |count: usize| (2, Width::U16, count);
    let middle = |count: usize| (4, Width::U32, count);
    let long = |count: usize| (6, Width::U64, count);
    let (kind, width, count) = match id {
        0..=5 | 16..=19 | 37 | 38 => short(1),
        9..=15 | 20 | 21 | 27 | 28 | 39 => middle(1),
        29 | 30 => long(MAX_XGMI_LINKS),
        31 => short(MAX_XGMI_LINKS),
        33 => short(MAX_XCC),
        34..=36 => short(MAX_CLOCKS),
        40 => middle(MAX_XCC),
        41 => short(MAX_JPEG),
        42 => short(MAX_VCN),
        43..=47 => long(MAX_XCC),
        48 => short(MAX_HBM),
        _ => long(1),
    };
    (kind, width, u16::try_from(count).unwrap_or(u16::MAX))
}

/// The code of a unit; 0 stands for none, also where the format has no name for it.
fn code(unit: Unit) -> u8 {
    match unit {
        Unit::Megahertz => 1,
        Unit::Celsius => 2,
        Unit::Watts => 3,
        Unit::Nanoseconds => 4,
        Unit::TenNanoseconds => 5,
        Unit::Gigatransfers => 6,
        Unit::TenthGigatransfers => 7,
        Unit::GigabytesPerSecond => 8,
        Unit::Kilobytes => 9,
        Unit::Percent => 10,
        _ => 0,
    }
}

//! Tables made from numbers: for tests that need a `gpu_metrics` file of some version, here and in the fake trees of other
//! tests. It shares the layouts with the reader, so that a new version is written as soon as it is read; that the layouts are
//! right is shown by tables made by hand. The program itself never calls it.

use super::cell::{Unit, Width};
use super::described::{ATTRIBUTES, Encoding, VERSION};
use super::metrics::{MAX_CLOCKS, MAX_HBM, MAX_JPEG, MAX_VCN, MAX_XCC, MAX_XGMI_LINKS, Metrics, Version};
use super::tables;

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
    let version = metrics.version;
    let mut bytes = if version == VERSION {
        described(&mut metrics)
    } else {
        tables()
            .find(|table| table.version == version && table.size == size)?
            .write(&mut metrics)
    };
    let [low, high] = u16::try_from(bytes.len()).ok()?.to_le_bytes();
    bytes[..4].copy_from_slice(&[low, high, version.format, version.content]);
    Some(bytes)
}

/// As a driver writes it: every attribute it knows, with the usual types and the number of instances of the hardware.
fn described(metrics: &mut Metrics) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    for attribute in ATTRIBUTES {
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
    }
    let count = u32::try_from(ATTRIBUTES.len()).unwrap_or(u32::MAX);
    bytes[4..8].copy_from_slice(&count.to_le_bytes());
    bytes
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

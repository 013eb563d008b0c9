//! v1.9, which describes itself: after the header a count of attributes, and each attribute says its id, its unit, and the
//! type and the number of its values. Packed, without padding.

use super::cell::{Side as _, Unit, Width};
use super::layout::Fields;
use super::metrics::{Metrics, Version};
use super::{HEADER_BYTES, Header, TableError};

pub(super) const VERSION: Version = Version {
    format: 1,
    content: 9,
};

/// The header and the count of attributes.
const ATTRIBUTES_AT: usize = HEADER_BYTES + 4;
/// In front of the values of each attribute.
const ENCODING_BYTES: usize = 8;

/// What an attribute means. The unit is the one to be expected; the table may use another one for the same thing.
pub(super) struct Attribute {
    pub(super) id: u16,
    pub(super) unit: Unit,
    pub(super) fields: Fields<Metrics>,
}

macro_rules! attributes {
    ($($id:literal: $($field:ident).+ as $unit:ident;)*) => {
        &[$(Attribute {
            id: $id,
            unit: Unit::$unit,
            fields: |into| into.$($field).+.cells(),
        }),*]
    };
}

/// Ids 49 and 50 are not here: a later kernel inserted a sensor before them, and the table does not say which kernel wrote it.
/// What follows them is left out for the same reason.
pub(super) const ATTRIBUTES: &[Attribute] = attributes! {
    0: hotspot_celsius as Celsius;
    1: memory_celsius as Celsius;
    2: vr_soc_celsius as Celsius;
    3: socket_power_watts as Watts;
    4: gfx_busy_ratio as Percent;
    5: memory_busy_ratio as Percent;
    6: memory_bandwidth_limit_bytes_per_second as GigabytesPerSecond;
    7: energy_joules as Energy;
    8: system_clock_nanoseconds as Nanoseconds;
    9: accumulation_counter as Plain;
    10: residency.prochot as Plain;
    11: residency.package_power as Plain;
    12: residency.socket_thermal as Plain;
    13: residency.vr_thermal as Plain;
    14: residency.hbm_thermal as Plain;
    15: gfx_clock_lock_bits as Plain;
    16: pcie_link_lanes as Plain;
    17: pcie_link_transfers_per_second as TenthGigatransfers;
    18: xgmi_link_lanes as Plain;
    19: xgmi_link_bits_per_second as Gigatransfers;
    20: gfx_activity_accumulator as Plain;
    21: memory_activity_accumulator as Plain;
    22: pcie_bandwidth_accumulator as Plain;
    23: pcie_bytes_per_second as GigabytesPerSecond;
    24: pcie_l0_to_recovery_count as Plain;
    25: pcie_replay_count as Plain;
    26: pcie_replay_rollover_count as Plain;
    27: pcie_nak_sent_count as Plain;
    28: pcie_nak_received_count as Plain;
    29: xgmi_read_bytes as Kilobytes;
    30: xgmi_write_bytes as Kilobytes;
    31: xgmi_link_active as Plain;
    32: firmware_timestamp_nanoseconds as TenNanoseconds;
    33: gfx_clock_hertz as Megahertz;
    34: soc_clock_hertz as Megahertz;
    35: video_clock_hertz as Megahertz;
    36: decode_clock_hertz as Megahertz;
    37: memory_clock_hertz as Megahertz;
    38: partition_count as Plain;
    39: pcie_other_end_recovery_count as Plain;
    40: whole.gfx_busy_ratio as Percent;
    41: whole.jpeg_busy_ratio as Percent;
    42: whole.vcn_busy_ratio as Percent;
    43: whole.gfx_busy_accumulator as Plain;
    44: whole.below_host_limit_power_accumulator as Plain;
    45: whole.below_host_limit_thermal_accumulator as Plain;
    46: whole.low_utilization_accumulator as Plain;
    47: whole.below_host_limit_total_accumulator as Plain;
    48: hbm_celsius as Celsius;
};

/// What stands in front of an attribute's values, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Encoding {
    pub(super) unit: u8,
    pub(super) kind: u8,
    pub(super) id: u16,
    pub(super) count: u16,
}

impl Encoding {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "each part is masked to fewer bits than its type has"
    )]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self {
            unit: (bits >> 24) as u8,
            kind: (bits >> 20) as u8 & 0xf,
            id: (bits >> 10) as u16 & 0x3ff,
            count: bits as u16 & 0x3ff,
        }
    }

    pub(super) fn to_bits(self) -> u64 {
        u64::from(self.unit) << 24
            | u64::from(self.kind & 0xf) << 20
            | u64::from(self.id & 0x3ff) << 10
            | u64::from(self.count & 0x3ff)
    }

    fn width(self) -> Option<Width> {
        use Width::{S8, S16, S32, S64, U8, U16, U32, U64};
        [U8, S8, U16, S16, U32, S32, U64, S64]
            .get(usize::from(self.kind))
            .copied()
    }

    /// The unit that the table names; none for an unknown one, and plain where it names none.
    fn declared(self) -> Option<Unit> {
        const UNITS: [Unit; 11] = [
            Unit::Plain,
            Unit::Megahertz,
            Unit::Celsius,
            Unit::Watts,
            Unit::Nanoseconds,
            Unit::TenNanoseconds,
            Unit::Gigatransfers,
            Unit::TenthGigatransfers,
            Unit::GigabytesPerSecond,
            Unit::Kilobytes,
            Unit::Percent,
        ];
        UNITS.get(usize::from(self.unit)).copied()
    }
}

pub(super) fn parse(bytes: &[u8], header: Header) -> Result<Metrics, TableError> {
    let mut metrics = Metrics::EMPTY;
    let version = header.version;
    metrics.version = version;
    let cut = |expected: usize, partial: Metrics| TableError::Truncated {
        version,
        bytes: bytes.len(),
        // The size in the header may be too small to be true; that of the attribute that was cut is not.
        expected: expected.max(header.structure_size),
        partial: Box::new(partial),
    };
    let Some(count) = bytes.get(HEADER_BYTES..).and_then(|rest| rest.first_chunk()) else {
        return Err(cut(ATTRIBUTES_AT, metrics));
    };
    let mut at = ATTRIBUTES_AT;
    // Each turn takes eight bytes at least, so that a count from a broken table ends with the bytes. None are in a negative one.
    for _ in 0..i32::from_le_bytes(*count) {
        let values_at = at + ENCODING_BYTES;
        let Some(bits) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else {
            return Err(cut(values_at, metrics));
        };
        let encoding = Encoding::from_bits(u64::from_le_bytes(*bits));
        let Some(width) = encoding.width() else {
            return Err(TableError::UnknownType {
                version,
                attribute: encoding.id,
                kind: encoding.kind,
                partial: Box::new(metrics),
            });
        };
        at = values_at + width.bytes() * usize::from(encoding.count);
        let Some(values) = bytes.get(values_at..at) else {
            return Err(cut(at, metrics));
        };
        fill(&mut metrics, encoding, width, values);
    }
    Ok(metrics)
}

fn fill(metrics: &mut Metrics, encoding: Encoding, width: Width, values: &[u8]) {
    let Some(attribute) = find(encoding.id) else {
        return;
    };
    let unit = match (attribute.unit, encoding.declared()) {
        // Counters and bits are passed on as they are, whatever they count.
        (Unit::Plain, _) | (_, Some(Unit::Plain)) => attribute.unit,
        (expected, Some(declared)) if declared.measures_the_same_as(expected) => declared,
        // A temperature in watts is no temperature.
        (_, _) => return,
    };
    (attribute.fields)(metrics).fill(values, width, unit);
}

fn find(id: u16) -> Option<&'static Attribute> {
    ATTRIBUTES.iter().find(|attribute| attribute.id == id)
}

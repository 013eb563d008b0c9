//! Between the bytes of a table and the fields of [`Metrics`](super::Metrics): how wide a number is, what it counts, and
//! where it goes. The same way serves both directions, so that what is written is what is read.

use super::metrics::{ENERGY_STEPS_A_JOULE, XGMI_UNIT_BYTES};

/// How a number stands in a table. Little endian everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl Width {
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 => 2,
            Self::U32 | Self::S32 => 4,
            Self::U64 | Self::S64 => 8,
        }
    }

    const fn signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// The largest number of this width without a sign: in every table the word for "not known".
    const fn all_ones(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }

    /// The number at the start of `bytes`, without regard to its sign.
    fn read(self, bytes: &[u8]) -> Option<u64> {
        Some(match self.bytes() {
            1 => u64::from(*bytes.first()?),
            2 => u64::from(u16::from_le_bytes(*bytes.first_chunk()?)),
            4 => u64::from(u32::from_le_bytes(*bytes.first_chunk()?)),
            _ => u64::from_le_bytes(*bytes.first_chunk()?),
        })
    }
}

/// What one step of a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A count, bits, or an accumulator that is passed on as it is.
    Plain,
    Percent,
    CentiPercent,
    Celsius,
    CentiCelsius,
    Watts,
    Milliwatts,
    Energy,
    Megahertz,
    Nanoseconds,
    TenNanoseconds,
    /// Transfers or bits on a lane.
    Gigatransfers,
    TenthGigatransfers,
    GigabytesPerSecond,
    MegabytesPerSecond,
    Kilobytes,
    Millivolts,
    Milliamperes,
}

/// What is measured, whatever the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dimension {
    Count,
    Ratio,
    Temperature,
    Power,
    Energy,
    Frequency,
    Time,
    LinkSpeed,
    Bandwidth,
    Data,
    Voltage,
    Current,
}

impl Unit {
    /// Base units in a step, as a fraction: most are decimal, and dividing by 100 rounds once where a product with 0.01 would
    /// round twice.
    const fn scale(self) -> (u64, u64) {
        match self {
            Self::Plain | Self::Celsius | Self::Watts | Self::Nanoseconds => (1, 1),
            Self::Percent | Self::CentiCelsius => (1, 100),
            Self::CentiPercent => (1, 10_000),
            Self::Milliwatts | Self::Millivolts | Self::Milliamperes => (1, 1000),
            Self::Energy => (1, ENERGY_STEPS_A_JOULE),
            Self::TenNanoseconds => (10, 1),
            Self::Megahertz | Self::MegabytesPerSecond => (1_000_000, 1),
            Self::Gigatransfers | Self::GigabytesPerSecond => (1_000_000_000, 1),
            Self::TenthGigatransfers => (100_000_000, 1),
            Self::Kilobytes => (XGMI_UNIT_BYTES, 1),
        }
    }

    const fn dimension(self) -> Dimension {
        match self {
            Self::Plain => Dimension::Count,
            Self::Percent | Self::CentiPercent => Dimension::Ratio,
            Self::Celsius | Self::CentiCelsius => Dimension::Temperature,
            Self::Watts | Self::Milliwatts => Dimension::Power,
            Self::Energy => Dimension::Energy,
            Self::Megahertz => Dimension::Frequency,
            Self::Nanoseconds | Self::TenNanoseconds => Dimension::Time,
            Self::Gigatransfers | Self::TenthGigatransfers => Dimension::LinkSpeed,
            Self::GigabytesPerSecond | Self::MegabytesPerSecond => Dimension::Bandwidth,
            Self::Kilobytes => Dimension::Data,
            Self::Millivolts => Dimension::Voltage,
            Self::Milliamperes => Dimension::Current,
        }
    }

    pub(super) fn measures_the_same_as(self, other: Self) -> bool {
        self.dimension() == other.dimension()
    }
}

/// A field of the result.
pub(super) enum Cell<'a> {
    Number(&'a mut Option<f64>),
    Count(&'a mut Option<u64>),
    Flag(&'a mut Option<bool>),
}

impl Cell<'_> {
    /// Takes the number at the start of `bytes`. All-ones leaves the field unknown, and so does a number that the field cannot
    /// hold: a negative count, a flag that is neither 0 nor 1.
    pub(super) fn fill(self, bytes: &[u8], width: Width, unit: Unit) {
        let Some(raw) = width.read(bytes).filter(|raw| *raw != width.all_ones()) else {
            return;
        };
        let shift = 64 - 8 * width.bytes();
        let signed = (raw << shift).cast_signed() >> shift;
        let (times, over) = unit.scale();
        match self {
            Self::Number(field) => {
                let steps = if width.signed() { signed as f64 } else { raw as f64 };
                *field = Some(steps * times as f64 / over as f64);
            }
            Self::Count(field) if !width.signed() || signed >= 0 => *field = raw.checked_mul(times),
            Self::Flag(field) if raw <= 1 => *field = Some(raw == 1),
            Self::Count(_) | Self::Flag(_) => {}
        }
    }

    /// Writes the field to the start of `bytes`, all-ones for one that is not known. What the width cannot hold is cut.
    pub(super) fn pour(self, bytes: &mut [u8], width: Width, unit: Unit) {
        let (times, over) = unit.scale();
        let raw = match self {
            Self::Number(field) => field.map(|value| {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a table's number has at most 64 bits"
                )]
                let steps = (value * over as f64 / times as f64).round() as i128;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "two's complement"
                )]
                let bits = steps as u64;
                bits
            }),
            Self::Count(field) => field.map(|value| value / times),
            Self::Flag(field) => field.map(u64::from),
        };
        let raw = raw.unwrap_or(u64::MAX).to_le_bytes();
        bytes[..width.bytes()].copy_from_slice(&raw[..width.bytes()]);
    }
}

/// Fields that hold one number, and rows of such fields.
pub(super) trait Cells {
    /// The field at a place of the row; a single field has only the place 0.
    fn cell(&mut self, place: usize) -> Option<Cell<'_>>;
}

impl Cells for Option<f64> {
    fn cell(&mut self, place: usize) -> Option<Cell<'_>> {
        (place == 0).then_some(Cell::Number(self))
    }
}

impl Cells for Option<u64> {
    fn cell(&mut self, place: usize) -> Option<Cell<'_>> {
        (place == 0).then_some(Cell::Count(self))
    }
}

impl Cells for Option<bool> {
    fn cell(&mut self, place: usize) -> Option<Cell<'_>> {
        (place == 0).then_some(Cell::Flag(self))
    }
}

impl<T: Cells, const N: usize> Cells for [T; N] {
    fn cell(&mut self, place: usize) -> Option<Cell<'_>> {
        self.get_mut(place)?.cell(0)
    }
}

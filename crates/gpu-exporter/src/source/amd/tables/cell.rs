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

/// Fields of the result that stand side by side, or a single one.
pub(super) enum Cells<'a> {
    Numbers(&'a mut [Option<f64>]),
    Counts(&'a mut [Option<u64>]),
    Flags(&'a mut [Option<bool>]),
}

impl Cells<'_> {
    /// Takes one number after the other from `bytes`, as many as there are on both sides. All-ones leaves a field unknown, and
    /// so does a number that it cannot hold: a negative count, a flag that is neither 0 nor 1.
    pub(super) fn fill(self, bytes: &[u8], width: Width, unit: Unit) {
        let numbers = bytes.chunks_exact(width.bytes()).map(|number| {
            let raw = width.read(number)?;
            (raw != width.all_ones()).then_some(raw)
        });
        let (times, over) = unit.scale();
        let shift = 64 - 8 * width.bytes();
        let sign_of = |raw: u64| (raw << shift).cast_signed() >> shift;
        match self {
            Self::Numbers(fields) => {
                let (times, over) = (times as f64, over as f64);
                for (field, raw) in fields.iter_mut().zip(numbers) {
                    let steps = raw.map(|raw| {
                        if width.signed() {
                            sign_of(raw) as f64
                        } else {
                            raw as f64
                        }
                    });
                    *field = steps.map(|steps| steps * times / over);
                }
            }
            Self::Counts(fields) => {
                for (field, raw) in fields.iter_mut().zip(numbers) {
                    let held = raw.filter(|raw| !width.signed() || sign_of(*raw) >= 0);
                    *field = held.and_then(|raw| raw.checked_mul(times));
                }
            }
            Self::Flags(fields) => {
                for (field, raw) in fields.iter_mut().zip(numbers) {
                    *field = raw.filter(|raw| *raw <= 1).map(|raw| raw == 1);
                }
            }
        }
    }

    /// Writes the fields to `bytes`, all-ones for those that are not known. What the width cannot hold is cut.
    pub(super) fn pour(self, bytes: &mut [u8], width: Width, unit: Unit) {
        let (times, over) = unit.scale();
        let places = bytes.chunks_exact_mut(width.bytes());
        let put = |place: &mut [u8], raw: Option<u64>| {
            let raw = raw.unwrap_or(u64::MAX).to_le_bytes();
            place.copy_from_slice(&raw[..width.bytes()]);
        };
        match self {
            Self::Numbers(fields) => {
                let raw = |value: f64| {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "a table's number has at most 64 bits"
                    )]
                    let steps = (value * over as f64 / times as f64).round() as i64;
                    steps.cast_unsigned()
                };
                places
                    .zip(fields)
                    .for_each(|(place, field)| put(place, field.map(raw)));
            }
            Self::Counts(fields) => places
                .zip(fields)
                .for_each(|(place, field)| put(place, field.map(|value| value / times))),
            Self::Flags(fields) => places
                .zip(fields)
                .for_each(|(place, field)| put(place, field.map(u64::from))),
        }
    }
}

/// Fields that a row can name: one, or several side by side.
pub(super) trait Side {
    fn cells(&mut self) -> Cells<'_>;
}

macro_rules! sides {
    ($($held:ty => $cells:ident),*) => {$(
        impl Side for Option<$held> {
            fn cells(&mut self) -> Cells<'_> {
                Cells::$cells(std::slice::from_mut(self))
            }
        }

        impl<const N: usize> Side for [Option<$held>; N] {
            fn cells(&mut self) -> Cells<'_> {
                Cells::$cells(self)
            }
        }
    )*};
}

sides!(f64 => Numbers, u64 => Counts, bool => Flags);

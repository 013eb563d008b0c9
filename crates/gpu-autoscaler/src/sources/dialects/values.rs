//! Numbers of pages into integers in the units of the model. A number that cannot be true is none.

use super::fields::Unit;

/// Boards draw up to a few kilowatts; ten are beyond any.
const MOST_WATTS: f64 = 10_000.0;
/// Drivers answer 255 or more for a sensor that is not there, and no silicon works above 200 degrees.
const HOTTEST: f64 = 200.0;
const COLDEST: f64 = -50.0;
/// Four tebibytes; the largest GPUs have a tenth of one.
const MOST_MEMORY: f64 = 4.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0;
const MOST_MEGAHERTZ: f64 = 20_000.0;
/// Three hundred years.
const MOST_SECONDS: f64 = 1e10;
/// Above this, floats no longer tell neighbouring integers apart by less than a kilobyte; a counter of bytes takes decades to it.
const MOST_COUNTED: f64 = 9.2e18;
const MOST_COUNT: f64 = 1e9;
const MIB: f64 = 1024.0 * 1024.0;

/// DCGM's word for "no value" where it holds a float: two to the power of 47, and fifteen more for the reasons.
const BLANK_FLOAT: std::ops::Range<f64> = 140_737_488_355_328.0..140_737_488_355_344.0;
/// The same for 32-bit integers.
const BLANK_INT: std::ops::RangeInclusive<f64> = 2_147_483_632.0..=2_147_483_647.0;

/// The value in thousandths, bytes, milliwatts, millijoules, degrees, megahertz, microseconds or counts.
pub(super) fn normalised(unit: Unit, value: f64) -> Option<i64> {
    if !value.is_finite() || BLANK_FLOAT.contains(&value) {
        return None;
    }
    match unit {
        Unit::Ratio => share(value),
        Unit::Percent => share(value / 100.0),
        Unit::PercentCalledRatio => percent_called_ratio(value),
        Unit::Bytes => within(value, 0.0, MOST_MEMORY, 1.0),
        Unit::Mebibytes => within(value, 0.0, MOST_MEMORY / MIB, MIB),
        Unit::Watts => within(value, 0.0, MOST_WATTS, 1000.0),
        Unit::Joules => within(value, 0.0, MOST_COUNTED / 1000.0, 1000.0),
        Unit::Millijoules => within(value, 0.0, MOST_COUNTED, 1.0),
        Unit::Microjoules => within(value, 0.0, MOST_COUNTED, 0.001),
        Unit::Celsius => within(value, COLDEST, HOTTEST, 1.0),
        Unit::Hertz => within(value, 0.0, MOST_MEGAHERTZ * 1e6, 1e-6),
        Unit::Megahertz => within(value, 0.0, MOST_MEGAHERTZ, 1.0),
        Unit::Seconds => within(value, 0.0, MOST_SECONDS, 1e6),
        Unit::Count if BLANK_INT.contains(&value) => None,
        Unit::Count => within(value, 0.0, MOST_COUNT, 1.0),
        Unit::Counter => within(value, 0.0, MOST_COUNTED, 1.0),
        Unit::Flag => within(value, 0.0, 1.0, 1.0),
        Unit::One => Some(1),
    }
}

/// A share in thousandths; a float that is the whole but for its last digits is the whole.
fn share(value: f64) -> Option<i64> {
    within(value, 0.0, 1.0005, 1000.0).map(|share| share.min(1000))
}

/// DCGM 4.6 calls the integer in percent a ratio. Something that divides it on the way would give a fraction, so a fraction is
/// taken as a ratio, and a bare 1, which may mean a hundredth or the whole, as nothing.
fn percent_called_ratio(value: f64) -> Option<i64> {
    #[expect(
        clippy::float_cmp,
        reason = "exactly one is the case that cannot be told apart"
    )]
    if value == 1.0 {
        return None;
    }
    share(if value < 1.0 { value } else { value / 100.0 })
}

fn within(value: f64, least: f64, most: f64, factor: f64) -> Option<i64> {
    if value < least || value > most {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "every range above is within 64 bits after its factor, and the cast saturates"
    )]
    Some((value * factor).round() as i64)
}

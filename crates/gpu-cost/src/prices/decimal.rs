//! Dollars as the clouds write them, read and written without a float.

use std::fmt;

use gpu_model::NanoUsd;

/// Why a text is no amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    #[error("`{0}` is no amount in dollars: write digits with at most one point")]
    NotANumber(String),
    #[error("the amount `{0}` is over nine billion dollars: check its unit")]
    TooLarge(String),
}

/// Longest text that is looked at: a price has a handful of digits.
const LONGEST: usize = 64;

/// Reads `12.345`. More than nine decimals are rounded to the nearest, half up; an exponent (`1e-7`) is understood, because
/// some writers put small floats that way.
pub fn parse_usd(text: &str) -> Result<NanoUsd, DecimalError> {
    let wrong = || DecimalError::NotANumber(text.chars().take(LONGEST).collect());
    let text = text.trim();
    if text.len() > LONGEST {
        return Err(wrong());
    }
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| wrong())?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.len() + fraction.len();
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if digits == 0 || !all_digits(whole) || !all_digits(fraction) || exponent.abs() > 30 {
        return Err(wrong());
    }
    // Where the point stands, counted in digits from the front, in billionths.
    let point = i32::try_from(whole.len()).map_err(|_| wrong())? + exponent + 9;
    let mut nanos: i128 = 0;
    let mut round_up = false;
    for (place, digit) in (0i32..).zip(whole.bytes().chain(fraction.bytes())) {
        let value = i128::from(digit - b'0');
        if place < point {
            nanos = nanos.saturating_mul(10).saturating_add(value);
        } else if place == point {
            round_up = value >= 5;
        }
    }
    let written = i32::try_from(digits).map_err(|_| wrong())?;
    for _ in written..point {
        nanos = nanos.saturating_mul(10);
    }
    nanos = (nanos + i128::from(round_up)) * sign;
    i64::try_from(nanos)
        .map(NanoUsd)
        .map_err(|_| DecimalError::TooLarge(text.to_owned()))
}

/// Writes an amount with as many decimals as it has, at least one digit before the point.
pub fn write_usd(out: &mut impl fmt::Write, amount: NanoUsd) -> fmt::Result {
    let magnitude = amount.0.unsigned_abs();
    if amount.0 < 0 {
        out.write_char('-')?;
    }
    let (whole, fraction) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    if fraction == 0 {
        return write!(out, "{whole}");
    }
    let digits = format!("{fraction:09}");
    write!(out, "{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests;

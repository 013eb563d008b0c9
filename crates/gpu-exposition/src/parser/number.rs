//! Values and timestamps as Prometheus reads them, which is how Go's `ParseFloat` did before it knew hexadecimal.

use super::error::{Problem, excerpt};
use crate::TimestampMillis;

/// The powers of ten that a float holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// A sample's value.
pub(super) fn value(token: &str) -> Result<f64, Problem> {
    match short_decimal(token.as_bytes()) {
        Some(value) => Ok(value),
        None => any_float(token),
    }
}

/// Most values are a few digits. Up to 2^53 the digits and the power of ten are exact floats, so that one division is
/// rounded once and the result is the nearest float, as the long way would find it.
fn short_decimal(token: &[u8]) -> Option<f64> {
    /// So many digits never exceed 2^53.
    const DIGITS: usize = 15;
    let (negative, digits) = match token.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, token),
    };
    if digits.len() > DIGITS + 1 {
        return None;
    }
    let mut mantissa = 0_u64;
    let mut point = None;
    for (at, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => mantissa = mantissa * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let count = digits.len() - usize::from(point.is_some());
    if count == 0 || count > DIGITS {
        return None;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "fifteen digits stay below 2^53, where floats are exact"
    )]
    let whole = mantissa as f64;
    let decimals = point.map_or(0, |at| digits.len() - 1 - at);
    let size = whole / EXACT_POWERS[decimals];
    Some(if negative { -size } else { size })
}

#[cold]
fn any_float(token: &str) -> Result<f64, Problem> {
    let unsigned = token.strip_prefix(['+', '-']).unwrap_or(token);
    let is_word = unsigned.starts_with(|first: char| first.is_ascii_alphabetic());
    let signed_nan = unsigned.len() != token.len() && unsigned.eq_ignore_ascii_case("nan");
    match token.parse::<f64>() {
        Ok(value) if value.is_infinite() && !is_word => {
            Err(Problem::ValueOutOfRange { text: excerpt(token) })
        }
        // One NaN only: Prometheus keeps its payload bits for its own use.
        Ok(value) if value.is_nan() && !signed_nan => Ok(f64::NAN),
        Ok(value) if !value.is_nan() => Ok(value),
        _ => Err(Problem::Value { text: excerpt(token) }),
    }
}

/// A timestamp of a text page.
pub(super) fn millis(token: &str) -> Result<TimestampMillis, Problem> {
    match token.parse() {
        Ok(millis) => Ok(TimestampMillis(millis)),
        Err(_) => Err(Problem::TimestampMillis { text: excerpt(token) }),
    }
}

/// A timestamp of OpenMetrics, cut (not rounded) to milliseconds as Prometheus does.
pub(super) fn seconds(token: &str) -> Result<TimestampMillis, Problem> {
    let millis = decimal_seconds(token).or_else(|| float_seconds(token));
    millis
        .map(TimestampMillis)
        .ok_or_else(|| Problem::TimestampSeconds { text: excerpt(token) })
}

/// Digits with an optional fraction, without the detour over a float that would make 1.001 s into 1000 ms.
fn decimal_seconds(token: &str) -> Option<i64> {
    let (sign, digits) = match token.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, token),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mut millis = whole.parse::<i64>().ok()?.checked_mul(sign)?.checked_mul(1000)?;
    for (digit, weight) in fraction.bytes().zip([100, 10, 1]) {
        millis = millis.checked_add(sign * i64::from(digit - b'0') * weight)?;
    }
    Some(millis)
}

/// The spellings with an exponent.
fn float_seconds(token: &str) -> Option<i64> {
    /// 2^63: the first float that an `i64` does not hold.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let millis = any_float(token).ok()? * 1000.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range was checked, and cutting is what is wanted"
    )]
    (-BEYOND..BEYOND).contains(&millis).then_some(millis as i64)
}

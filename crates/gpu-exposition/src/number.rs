//! Values and timestamps, and how they are spelt on a page.

use std::fmt::Write as _;

use crate::Format;

/// A sample's value. Integers keep all their digits on the page, which a float beyond 2^53 would not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Uint(u64),
    Float(f64),
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Uint(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Uint(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

/// Milliseconds since 1970, the unit of a text page; OpenMetrics spells the same instant in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampMillis(pub i64);

/// Writing into a `String` only fails when memory does, and then it aborts instead of returning.
const STRING_TAKES_ALL: &str = "a String accepts every write";

pub(crate) fn push_value(page: &mut String, value: Value) {
    match value {
        Value::Int(value) => write!(page, "{value}").expect(STRING_TAKES_ALL),
        Value::Uint(value) => write!(page, "{value}").expect(STRING_TAKES_ALL),
        Value::Float(value) => push_float(page, value),
    }
}

/// The shortest digits that read back as the same float.
pub(crate) fn push_float(page: &mut String, value: f64) {
    /// Below this, and from its inverse on, the plain notation would be mostly zeros.
    const TINY: f64 = 1e-7;
    const HUGE: f64 = 1e21;

    let size = value.abs();
    if value.is_nan() {
        page.push_str("NaN");
    } else if value.is_infinite() {
        page.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
    } else if size != 0.0 && !(TINY..HUGE).contains(&size) {
        write!(page, "{value:e}").expect(STRING_TAKES_ALL);
    } else {
        write!(page, "{value}").expect(STRING_TAKES_ALL);
    }
}

/// A number inside an `le` or `quantile` label. OpenMetrics wants floats to look like floats there (`1.0`), and two
/// spellings of one bound would be two series; the text format has always been written without the fraction.
pub(crate) fn push_label_float(page: &mut String, value: f64, format: Format) {
    let start = page.len();
    push_float(page, value);
    let is_whole = page[start..]
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    if format == Format::OpenMetrics && is_whole {
        page.push_str(".0");
    }
}

pub(crate) fn push_timestamp(page: &mut String, TimestampMillis(millis): TimestampMillis, format: Format) {
    match format {
        Format::Text => write!(page, "{millis}").expect(STRING_TAKES_ALL),
        Format::OpenMetrics => {
            if millis < 0 {
                page.push('-');
            }
            let size = millis.unsigned_abs();
            write!(page, "{}.{:03}", size / 1000, size % 1000).expect(STRING_TAKES_ALL);
        }
    }
}

//! What tools print where a number is expected: a number with its unit, words for its absence, words for a failure.

use gpu_model::Reading;

/// What a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    Text(&'a str),
    /// This device does not have the value.
    Nothing,
    /// It could not be read now; the class is a word of a closed set.
    Failed(&'static str),
    /// The device is gone.
    Lost,
}

/// The tools' words for what is not there, in lower case and without brackets.
const NOTHING: &[&str] = &[
    "",
    "-",
    "n/a",
    "na",
    "none",
    "not supported",
    "not available",
    "not applicable",
    "unsupported",
    "not found",
    "function not found",
    "unknown",
    "requested functionality has been deprecated",
];

/// Their words for failures.
const FAILED: &[(&str, &str)] = &[
    ("insufficient permissions", "no_permission"),
    ("no permission", "no_permission"),
    ("permission denied", "no_permission"),
    ("timeout", "timeout"),
    ("gpu requires reset", "reset_required"),
    ("reset required", "reset_required"),
    ("insufficient external power", "no_external_power"),
    ("corrupted inforom", "corrupted_inforom"),
    ("driver not loaded", "uninitialized"),
    ("driver/library version mismatch", "version_mismatch"),
    ("err!", "other"),
    ("error", "other"),
    ("unknown error", "other"),
];

const LOST: &[&str] = &[
    "gpu is lost",
    "gpu access blocked by the operating system",
    "gpu not found",
];

/// Understands a text; one without a meaning of its own is given back.
pub fn said(text: &str) -> Said<'_> {
    let text = text.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text)
        .trim();
    let is = |word: &&str| bare.eq_ignore_ascii_case(word);
    if NOTHING.iter().any(is) {
        return Said::Nothing;
    }
    if LOST.iter().any(is) {
        return Said::Lost;
    }
    match FAILED.iter().find(|(word, _)| is(word)) {
        Some((_, class)) => Said::Failed(class),
        None => Said::Text(text),
    }
}

/// What kind of number is expected, which decides the units that are understood and the one that is meant without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Percent; a share of 1 comes out.
    Percent,
    /// Mebibytes where nothing is said.
    Mebibytes,
    /// Bytes where nothing is said.
    Bytes,
    Watts,
    Celsius,
    /// Megahertz where nothing is said.
    Megahertz,
    /// Kibibytes a second.
    KibibytesPerSecond,
    /// Microseconds where nothing is said; seconds come out.
    Microseconds,
    /// Joules.
    Joules,
    /// A plain number; what follows it (`16x`) has no meaning.
    Count,
}

impl Unit {
    /// By what to multiply a number with this unit behind it; none for a unit of something else.
    fn scale(self, unit: &str) -> Option<f64> {
        const KIB: f64 = 1024.0;
        let unit = unit.to_ascii_lowercase();
        let scale = match (self, unit.as_str()) {
            (Self::Percent, "%" | "") => 0.01,
            // The tools write MB and mean 2^20.
            (Self::Mebibytes, "mib" | "mb" | "") | (Self::Bytes, "mib" | "mb") => KIB * KIB,
            (Self::Mebibytes | Self::Bytes, "kib" | "kb") => KIB,
            (Self::Mebibytes | Self::Bytes, "gib" | "gb") => KIB * KIB * KIB,
            (Self::Mebibytes, "b" | "bytes") | (Self::Bytes, "b" | "bytes" | "") => 1.0,
            (Self::Watts, "w" | "") | (Self::Celsius, "c" | "°c" | "") | (Self::Joules, "j" | "") => 1.0,
            (Self::Watts, "mw") => 1e-3,
            (Self::Watts, "uw") | (Self::Joules, "uj") => 1e-6,
            (Self::Megahertz, "mhz" | "") => 1e6,
            (Self::Megahertz, "ghz") => 1e9,
            (Self::Megahertz, "khz") => 1e3,
            (Self::Megahertz, "hz") => 1.0,
            (Self::KibibytesPerSecond, "kb/s" | "kib/s" | "") => KIB,
            (Self::KibibytesPerSecond, "mb/s" | "mib/s") => KIB * KIB,
            (Self::Microseconds, "us" | "") => 1e-6,
            (Self::Microseconds, "ms") => 1e-3,
            (Self::Microseconds, "ns") => 1e-9,
            (Self::Microseconds, "s") => 1.0,
            (Self::Count, _) => 1.0,
            _ => return None,
        };
        Some(scale)
    }

    /// The number in a text, in base units. What is no number of this kind is none.
    pub fn read(self, text: &str) -> Option<f64> {
        let text = text.trim();
        let length = number_length(text)?;
        let number: f64 = text[..length].parse().ok()?;
        let scale = self.scale(text[length..].trim())?;
        // Thousandths have no exact double, thousands have: what divides exactly is divided.
        Some(if scale < 1.0 {
            number / (1.0 / scale).round()
        } else {
            number * scale
        })
    }
}

/// How much of a text is a number: a sign, digits, a point, an exponent. The words that stand for numbers elsewhere (`nan`,
/// `inf`) are none.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let whole = digits(at);
    at += whole;
    let mut seen = whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        seen += fraction;
        at += 1 + fraction;
    }
    if seen == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    Some(at)
}

/// A number from a text, with the class of what failed.
pub fn reading(text: &str, unit: Unit) -> Result<Reading<f64>, &'static str> {
    match said(text) {
        Said::Nothing => Ok(Reading::Unsupported),
        Said::Failed(class) => Err(class),
        Said::Lost => Err("lost"),
        Said::Text(text) => unit.read(text).map(Reading::Known).ok_or("unreadable"),
    }
}

#[cfg(test)]
mod tests;

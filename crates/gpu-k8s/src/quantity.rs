//! Kubernetes quantities, `100m`, `1.5Gi`, `3e2`, read exactly: no float, no rounding but the API's own, which is upwards.

/// Why a text is no quantity that we can count with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("`{text}` is no quantity: write a number with an optional suffix such as `m`, `k` or `Gi`")]
    Malformed { text: String },
    #[error("`{text}` is less than nothing")]
    Negative { text: String },
    #[error("`{text}` is more than can be counted")]
    TooLarge { text: String },
}

/// Quantities have at most 18 digits or so in practice; with more than this a product with a suffix could pass 128 bits.
const MOST_DIGITS: usize = 24;
/// What is shown of a text that cannot be read.
const SHOWN: usize = 40;

/// Thousandths, rounded up, as the scheduler counts processors.
pub fn thousandths(text: &str) -> Result<u64, QuantityError> {
    scaled(text, 3)
}

/// Units, rounded up, as the scheduler counts bytes and devices.
pub fn units(text: &str) -> Result<u64, QuantityError> {
    scaled(text, 0)
}

/// `text` times ten to the `places`, rounded up.
fn scaled(text: &str, places: i32) -> Result<u64, QuantityError> {
    let shown = || text.chars().take(SHOWN).collect::<String>();
    let malformed = || QuantityError::Malformed { text: shown() };
    let too_large = || QuantityError::TooLarge { text: shown() };
    let (is_negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(malformed());
    }
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    if whole.len() + fraction.len() > MOST_DIGITS {
        return Err(too_large());
    }
    let (tens, twos) = exponents(suffix).ok_or_else(malformed)?;
    let digits = whole.bytes().chain(fraction.bytes());
    let mantissa = digits.fold(0_u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    if mantissa == 0 {
        return Ok(0);
    }
    if is_negative {
        return Err(QuantityError::Negative { text: shown() });
    }
    let fraction = i32::try_from(fraction.len()).map_err(|_| too_large())?;
    let value = mantissa.checked_mul(1_u128 << twos).ok_or_else(too_large)?;
    let value = shift(value, tens + places - fraction).ok_or_else(too_large)?;
    u64::try_from(value).map_err(|_| too_large())
}

/// `value` times ten to the `tens`, rounded up.
fn shift(value: u128, tens: i32) -> Option<u128> {
    let power = 10_u128.checked_pow(tens.unsigned_abs());
    if tens >= 0 {
        return value.checked_mul(power?);
    }
    // Divided by more than fits, what is left is less than one, and rounds up to it.
    Some(power.map_or(1, |power| value.div_ceil(power)))
}

/// The powers of ten and of two that a suffix stands for.
fn exponents(suffix: &str) -> Option<(i32, u32)> {
    let powers = match suffix {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let exponent: i32 = exponent.parse().ok()?;
            (-60..=60).contains(&exponent).then_some((exponent, 0))?
        }
    };
    Some(powers)
}

#[cfg(test)]
mod tests;

//! Lengths of time as people write them: `30`, `30s`, `500ms`, `2m`.

use std::time::Duration;

/// Why a text is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a length of time; write seconds or a number with a unit, such as `30`, `30s`, `500ms` or `2m`"
)]
pub struct DurationError {
    text: String,
}

/// Reads a length of time; a number alone is seconds.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let refused = || DurationError {
        text: text.to_owned(),
    };
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let number: f64 = number.parse().map_err(|_| refused())?;
    let seconds = match unit.trim() {
        "" | "s" => number,
        "ms" => number / 1000.0,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(refused()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    //! What is read, and what is refused with words.

    use std::time::Duration;

    use super::parse;

    #[test]
    fn numbers_and_units_are_read() {
        for (text, millis) in [
            ("30", 30_000),
            ("30s", 30_000),
            ("500ms", 500),
            ("2m", 120_000),
            (" 1.5 s ", 1500),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1s", "1 day", "1e9h", "NaN", "1.2.3"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

//! The `window` parameter: how far back the history of an answer reaches.

use std::time::Duration;

/// A span of the past, bounded by what the history can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window(Duration);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no window: use a number with s, m or h, such as 10m, up to 24h")]
pub struct WindowError {
    text: String,
}

impl Window {
    /// Nothing keeps more than a day in memory.
    const LONGEST: u64 = 24 * 3600;

    pub fn parse(text: &str) -> Result<Self, WindowError> {
        let refused = || WindowError {
            text: text.chars().take(32).collect(),
        };
        let (digits, seconds) = match text.char_indices().next_back() {
            Some((at, 's')) => (&text[..at], 1),
            Some((at, 'm')) => (&text[..at], 60),
            Some((at, 'h')) => (&text[..at], 3600),
            _ => (text, 1),
        };
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(refused());
        }
        let span = digits
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(seconds));
        let span = span
            .filter(|span| (1..=Self::LONGEST).contains(span))
            .ok_or_else(refused)?;
        Ok(Self(Duration::from_secs(span)))
    }

    pub const fn duration(self) -> Duration {
        self.0
    }
}

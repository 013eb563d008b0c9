//! Texts that the driver wrote, made safe to print.

use std::ffi::c_char;

/// Longer than any name NVML documents (96), so that a longer one is seen whole.
pub(crate) const ROOM: usize = 128;

/// Up to the first NUL or the end, whichever comes first. What is not UTF-8 or would steer a terminal becomes `U+FFFD`;
/// an empty text is none.
pub(crate) fn decode(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text: String = String::from_utf8_lossy(&bytes[..end])
        .trim()
        .chars()
        .map(|c| {
            if c.is_control() {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect();
    (!text.is_empty()).then_some(text)
}

/// A text inside a struct. C's characters are signed on some machines and unsigned on others.
pub(crate) fn decode_chars<const N: usize>(chars: [c_char; N]) -> Option<String> {
    decode(&chars.map(|c| c.to_ne_bytes()[0]))
}

#[cfg(test)]
mod tests;

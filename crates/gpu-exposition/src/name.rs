//! The character sets of metric and label names.

/// Whether `name` is a metric name of the legacy character set, `[a-zA-Z_:][a-zA-Z0-9_:]*`.
///
/// It is `const`, so that a catalogue of families can be checked while it compiles.
pub const fn is_metric_name(name: &str) -> bool {
    has_charset(name.as_bytes(), Colon::Allowed)
}

/// Whether `name` is a label name of the legacy character set, `[a-zA-Z_][a-zA-Z0-9_]*`.
pub const fn is_label_name(name: &str) -> bool {
    has_charset(name.as_bytes(), Colon::Forbidden)
}

#[derive(Clone, Copy)]
enum Colon {
    Allowed,
    Forbidden,
}

const fn has_charset(name: &[u8], colon: Colon) -> bool {
    if name.is_empty() || name[0].is_ascii_digit() {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        let fits = match name[at] {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => true,
            b':' => matches!(colon, Colon::Allowed),
            _ => false,
        };
        if !fits {
            return false;
        }
        at += 1;
    }
    true
}

//! Escaping, once for both formats.

use std::borrow::Cow;

use crate::Format;

/// Appends a label value: `\`, `"` and line feed are escaped, in both formats alike.
pub(crate) fn push_label_value(page: &mut String, value: &str) {
    push_escaped(page, value, |byte| matches!(byte, b'\\' | b'"' | b'\n'));
}

/// Appends a help text: a text page escapes `\` and line feed, OpenMetrics also `"`.
pub(crate) fn push_help(page: &mut String, help: &str, format: Format) {
    match format {
        Format::Text => push_escaped(page, help, |byte| matches!(byte, b'\\' | b'\n')),
        Format::OpenMetrics => push_label_value(page, help),
    }
}

fn push_escaped(page: &mut String, text: &str, needs_escape: impl Fn(u8) -> bool) {
    let mut copied = 0;
    // The escaped bytes are ASCII, so each of their positions is a character boundary.
    for (at, byte) in text.bytes().enumerate().filter(|&(_, byte)| needs_escape(byte)) {
        page.push_str(&text[copied..at]);
        page.push_str(match byte {
            b'\n' => "\\n",
            b'"' => "\\\"",
            _ => "\\\\",
        });
        copied = at + 1;
    }
    page.push_str(&text[copied..]);
}

/// Which escapes a piece of a page may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    None,
    /// `\\` and `\n`: a text page's help.
    Help,
    /// `\\`, `\n` and `\"`: label values, quoted names, and the help of OpenMetrics.
    Quoted,
}

/// Undoes escapes. A backslash before anything else stands for itself, as it does in Prometheus.
pub(crate) fn unescape(raw: &str, escapes: Escapes) -> Cow<'_, str> {
    if escapes == Escapes::None {
        return Cow::Borrowed(raw);
    }
    let Some(first) = memchr::memchr(b'\\', raw.as_bytes()) else {
        return Cow::Borrowed(raw);
    };
    let mut text = String::with_capacity(raw.len());
    let (mut copied, mut at) = (0, first);
    loop {
        let replacement = match (raw.as_bytes().get(at + 1), escapes) {
            (Some(b'\\'), _) => Some('\\'),
            (Some(b'n'), _) => Some('\n'),
            (Some(b'"'), Escapes::Quoted) => Some('"'),
            _ => None,
        };
        let mut after = at + 1;
        if let Some(replacement) = replacement {
            text.push_str(&raw[copied..at]);
            text.push(replacement);
            after = at + 2;
            copied = after;
        }
        match memchr::memchr(b'\\', &raw.as_bytes()[after..]) {
            Some(offset) => at = after + offset,
            None => break,
        }
    }
    text.push_str(&raw[copied..]);
    Cow::Owned(text)
}

//! Escaping, once for both formats.

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

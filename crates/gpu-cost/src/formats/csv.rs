//! Lines of comma-separated values with quotes, read one at a time.

use std::io::{BufRead, Read};

use super::FormatError;

/// AWS's widest line has a hundred columns and stays under four kilobytes.
const LONGEST_LINE: usize = 64 * 1024;

/// The next line, split into its fields; none at the end.
pub(super) fn record(reader: &mut impl BufRead, fields: &mut Vec<String>) -> Result<bool, FormatError> {
    let mut line = Vec::new();
    let read = reader
        .by_ref()
        .take(LONGEST_LINE as u64 + 1)
        .read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(false);
    }
    if line.len() > LONGEST_LINE {
        return Err(FormatError::LongLine(LONGEST_LINE));
    }
    let text = String::from_utf8_lossy(&line);
    split(text.trim_end_matches(['\n', '\r']), fields);
    Ok(true)
}

fn split(line: &str, fields: &mut Vec<String>) {
    fields.clear();
    let mut field = String::new();
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
}

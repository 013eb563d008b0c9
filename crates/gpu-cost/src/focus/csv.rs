//! The format as comma-separated values.

use std::fmt;

use super::{Column, Record};

/// Writes the line of names and a line a record. Null is an empty field; the format has no empty texts.
pub fn write_csv(out: &mut impl fmt::Write, records: &[Record]) -> fmt::Result {
    let names: Vec<&str> = Column::ALL.iter().map(|column| column.id()).collect();
    writeln!(out, "{}", names.join(","))?;
    for record in records {
        for (place, column) in Column::ALL.iter().enumerate() {
            if place > 0 {
                out.write_char(',')?;
            }
            field(out, record.get(*column).unwrap_or(""))?;
        }
        out.write_char('\n')?;
    }
    Ok(())
}

fn field(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    if !text.contains([',', '"', '\n', '\r']) {
        return out.write_str(text);
    }
    write!(out, "\"{}\"", text.replace('"', "\"\""))
}

/// Reads what [`write_csv`] wrote; none where the first line is another or a line has another number of fields.
pub fn parse_csv(text: &str) -> Option<Vec<Record>> {
    let mut rows = split(text).into_iter();
    let names: Vec<&str> = Column::ALL.iter().map(|column| column.id()).collect();
    if rows.next()? != names {
        return None;
    }
    let mut records = Vec::new();
    for row in rows {
        if row.len() != names.len() {
            return None;
        }
        let mut record = Record::default();
        for (column, value) in Column::ALL.iter().zip(row) {
            record.set(*column, (!value.is_empty()).then_some(value));
        }
        records.push(record);
    }
    Some(records)
}

fn split(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    rows
}

//! A cursor over one line: the tokens that samples and metadata share.

use super::error::{Fault, Found, Problem};
use super::labels::Span;
use crate::Format;
use crate::escape::Escapes;

/// What a byte may be part of, so that a name is scanned by one look-up per byte.
mod class {
    pub(super) const LABEL: u8 = 1;
    pub(super) const METRIC: u8 = 2;
    pub(super) const DIGIT: u8 = 4;

    pub(super) const TABLE: [u8; 256] = table();

    const fn table() -> [u8; 256] {
        let mut table = [0; 256];
        let mut byte = 0_u8;
        loop {
            table[byte as usize] = match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => LABEL | METRIC,
                b'0'..=b'9' => LABEL | METRIC | DIGIT,
                b':' => METRIC,
                _ => 0,
            };
            if byte == u8::MAX {
                return table;
            }
            byte += 1;
        }
    }
}

/// The two kinds of bare names.
#[derive(Clone, Copy)]
pub(super) enum NameKind {
    Metric,
    Label,
}

#[derive(Clone, Copy)]
pub(super) struct Scanner<'l> {
    line: &'l str,
    at: usize,
    format: Format,
}

impl<'l> Scanner<'l> {
    pub(super) fn new(line: &'l str, format: Format) -> Self {
        Self { line, at: 0, format }
    }

    pub(super) fn line(&self) -> &'l str {
        self.line
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    /// Steps over `byte` if it is next.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// Steps over blanks where the format does not care about them: a text page. In OpenMetrics it does nothing.
    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        if self.format == Format::Text {
            while let Some(b' ' | b'\t') = self.peek() {
                self.at += 1;
            }
        }
    }

    /// The blank between two tokens: any number on a text page, one space in OpenMetrics.
    pub(super) fn blank(&mut self, expected: &'static str) -> Result<(), Fault> {
        let found = match self.format {
            Format::Text => matches!(self.peek(), Some(b' ' | b'\t')).then(|| self.skip_blanks()),
            Format::OpenMetrics => self.take(b' '),
        };
        found.ok_or_else(|| self.expected(expected))
    }

    /// A bare name, or `None` if the next byte cannot begin one.
    #[inline]
    pub(super) fn bare_name(&mut self, kind: NameKind) -> Option<Span> {
        let wanted = match kind {
            NameKind::Metric => class::METRIC,
            NameKind::Label => class::LABEL,
        };
        let rest = &self.line.as_bytes()[self.at..];
        let first = class::TABLE[usize::from(*rest.first()?)];
        if first & wanted == 0 || first & class::DIGIT != 0 {
            return None;
        }
        let fits = |&byte: &u8| class::TABLE[usize::from(byte)] & wanted != 0;
        let length = rest.iter().position(|byte| !fits(byte)).unwrap_or(rest.len());
        let start = self.at;
        self.at += length;
        Some(Span::new(start, self.at, Escapes::None))
    }

    /// A quoted string whose opening quote is next, or `None` if it is not. The span is without the quotes.
    #[inline]
    pub(super) fn quoted(&mut self) -> Result<Option<Span>, Fault> {
        let open = self.at;
        if self.take(b'"').is_none() {
            return Ok(None);
        }
        let bytes = self.line.as_bytes();
        let mut escapes = Escapes::None;
        loop {
            let Some(offset) = memchr::memchr2(b'"', b'\\', bytes.get(self.at..).unwrap_or_default()) else {
                return Err(Fault::new(open, Problem::UnclosedQuote));
            };
            let hit = self.at + offset;
            if bytes[hit] == b'"' {
                self.at = hit + 1;
                return Ok(Some(Span::new(open + 1, hit, escapes)));
            }
            // Whatever follows the backslash is part of the string; only then can the closing quote come.
            escapes = Escapes::Quoted;
            self.at = hit + 2;
        }
    }

    /// The bytes up to the next blank or the end of the line.
    #[inline]
    pub(super) fn token(&mut self, expected: &'static str) -> Result<(usize, &'l str), Fault> {
        let start = self.at;
        let rest = &self.line.as_bytes()[start..];
        let tab = self.format == Format::Text;
        let ends = |&byte: &u8| byte == b' ' || (tab && byte == b'\t');
        self.at += rest.iter().position(ends).unwrap_or(rest.len());
        if self.at == start {
            return Err(self.expected(expected));
        }
        Ok((start, &self.line[start..self.at]))
    }

    pub(super) fn end(&self, expected: &'static str) -> Result<(), Fault> {
        if self.peek().is_none() {
            Ok(())
        } else {
            Err(self.expected(expected))
        }
    }

    /// Everything that is left of the line.
    pub(super) fn rest(&self) -> &'l str {
        &self.line[self.at..]
    }

    #[cold]
    pub(super) fn expected(&self, expected: &'static str) -> Fault {
        let next = self.line.get(self.at..).and_then(|rest| rest.chars().next());
        let found = next.map_or(Found::EndOfLine, Found::Char);
        Fault::new(self.at, Problem::Expected { expected, found })
    }
}

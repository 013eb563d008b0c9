//! The parser for pages that arrive in pieces. It holds at most one line.

use std::io::{self, BufRead};

use super::machine::{Admission, Machine};
use super::{Event, ParseError, ParserOptions};

/// A push parser: give it the page in pieces of any size, cut anywhere, and it calls back for each line.
#[derive(Debug)]
pub struct StreamParser {
    machine: Machine,
    /// The beginning of a line whose end has not come; never more than the line limit.
    partial: Vec<u8>,
    /// The length of that line so far, incl. bytes that were discarded because it is too long.
    length: usize,
}

/// Whether more of the page is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Continue,
    /// An error ended the page; further pieces are ignored.
    Ended,
}

impl StreamParser {
    pub fn new(options: ParserOptions) -> Self {
        Self {
            machine: Machine::new(options),
            partial: Vec::new(),
            length: 0,
        }
    }

    /// Takes the next piece of the page.
    pub fn feed(&mut self, piece: &[u8], mut sink: impl FnMut(Result<Event<'_>, ParseError>)) -> Progress {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            if self.take(&rest[..end], LineEnd::Reached, &mut sink) == Progress::Ended {
                return Progress::Ended;
            }
            rest = &rest[end + 1..];
        }
        if rest.is_empty() {
            return self.progress();
        }
        self.take(rest, LineEnd::ToCome, &mut sink)
    }

    /// Ends the page: reads a last line without line feed, and misses what should have come.
    pub fn finish(mut self, mut sink: impl FnMut(Result<Event<'_>, ParseError>)) {
        if self.length > 0 {
            self.take(&[], LineEnd::Reached, &mut sink);
        }
        if !self.machine.has_ended()
            && let Some(error) = self.machine.end_of_page()
        {
            sink(Err(error));
        }
    }

    /// Reads a page from `reader` to its end, or to the error that ends it. Fails only if reading fails.
    pub fn read_all(
        mut self,
        mut reader: impl BufRead,
        mut sink: impl FnMut(Result<Event<'_>, ParseError>),
    ) -> io::Result<()> {
        loop {
            let piece = match reader.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                self.finish(sink);
                return Ok(());
            }
            let length = piece.len();
            if self.feed(piece, &mut sink) == Progress::Ended {
                return Ok(());
            }
            reader.consume(length);
        }
    }

    fn progress(&self) -> Progress {
        if self.machine.has_ended() {
            Progress::Ended
        } else {
            Progress::Continue
        }
    }

    /// Takes bytes of the current line.
    fn take(
        &mut self,
        bytes: &[u8],
        end: LineEnd,
        sink: &mut impl FnMut(Result<Event<'_>, ParseError>),
    ) -> Progress {
        if self.machine.has_ended() {
            return Progress::Ended;
        }
        self.length += bytes.len();
        let admission = loop {
            match self.machine.admit(self.length) {
                Ok(admission) => break admission,
                Err(error) => sink(Err(error)),
            }
            if self.machine.has_ended() {
                return Progress::Ended;
            }
        };
        match (admission, end) {
            (Admission::Discard, _) => self.partial.clear(),
            (Admission::Read, LineEnd::ToCome) => self.partial.extend_from_slice(bytes),
            (Admission::Read, LineEnd::Reached) if self.partial.is_empty() => {
                say(&mut self.machine, bytes, sink);
            }
            (Admission::Read, LineEnd::Reached) => {
                self.partial.extend_from_slice(bytes);
                say(&mut self.machine, &self.partial, sink);
                self.partial.clear();
            }
        }
        if end == LineEnd::Reached {
            self.machine.next_line(self.length);
            self.length = 0;
        }
        self.progress()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Reached,
    ToCome,
}

fn say(machine: &mut Machine, line: &[u8], sink: &mut impl FnMut(Result<Event<'_>, ParseError>)) {
    match machine.read(line) {
        Ok(None) => {}
        Ok(Some(worded)) => sink(Ok(worded.event(machine.spans()))),
        Err(error) => sink(Err(error)),
    }
}

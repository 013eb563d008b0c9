//! The parser: reads pages of any exporter, a line at a time, without copying and without recursion.
//!
//! It is as tolerant as Prometheus is. A text page may have blank lines, comments, any blanks between
//! tokens, samples without metadata, a comma after the last label or none between two, quoted names, and a last line
//! without line feed. OpenMetrics has exactly one space between tokens, no other comments, and ends in `# EOF`.
//! Carriage returns are bytes like others, so a page with Windows line ends fails here as it fails in Prometheus.
//!
//! It differs from Prometheus on purpose in few points. It refuses at once what Prometheus refuses later, a label given
//! twice or without a name, and a value glued to a bare name (`a0.5`), of which no two parsers make the same. It allows
//! blanks around the word of a `# TYPE` line. And it reads the decimals of an OpenMetrics timestamp exactly.

mod error;
mod event;
mod labels;
mod limits;
mod line;
mod machine;
mod number;
mod scanner;
mod stream;

pub use error::{Found, ParseError, Problem};
pub use event::{Event, ExemplarRef, LabelIter, LabelRef, SampleRef, Text};
pub use limits::Limits;
pub use stream::{Progress, StreamParser};

use crate::Format;
use machine::{Admission, Machine};

/// What to expect of a page, how much of it to take, and what to do with a line that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParserOptions {
    pub format: Format,
    pub limits: Limits,
    pub on_bad_line: OnBadLine,
}

impl ParserOptions {
    /// Default limits, and the first bad line ends the page, as it does in Prometheus.
    pub const fn new(format: Format) -> Self {
        Self {
            format,
            limits: Limits::DEFAULT,
            on_bad_line: OnBadLine::Stop,
        }
    }
}

/// What a bad line does to the rest of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBadLine {
    /// It is reported and the page ends there.
    Stop,
    /// It is reported and the next line is read, up to [`Limits::max_bad_lines`]. Limits of the page still end it.
    Skip,
}

/// A pull parser over a page in memory.
#[derive(Debug)]
pub struct Parser<'a> {
    rest: &'a [u8],
    machine: Machine,
}

impl<'a> Parser<'a> {
    pub fn new(page: &'a [u8], options: ParserOptions) -> Self {
        Self {
            rest: page,
            machine: Machine::new(options),
        }
    }

    /// The next thing the page says, or what is wrong with its next line; `None` when the page has ended.
    ///
    /// An event borrows from the page and from the parser, so it must be used before the next call.
    pub fn next_event(&mut self) -> Option<Result<Event<'_>, ParseError>> {
        loop {
            if self.machine.has_ended() {
                return None;
            }
            if self.rest.is_empty() {
                return self.machine.end_of_page().map(Err);
            }
            let end = memchr::memchr(b'\n', self.rest);
            let line = &self.rest[..end.unwrap_or(self.rest.len())];
            let admission = match self.machine.admit(line.len()) {
                Ok(admission) => admission,
                Err(error) => return Some(Err(error)),
            };
            self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
            let said = match admission {
                Admission::Read => self.machine.read(line),
                Admission::Discard => Ok(None),
            };
            self.machine.next_line(line.len());
            match said {
                Ok(None) => {}
                Ok(Some(said)) => return Some(Ok(said.event(self.machine.spans()))),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

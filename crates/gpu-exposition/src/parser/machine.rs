//! The state of a page between its lines: where it is, what it may still say, and whether it has ended.

use super::error::{Fault, ParseError, Problem};
use super::labels::{LabelSpan, Scratch};
use super::line::{self, Said, Worded};
use super::{OnBadLine, ParserOptions};
use crate::Format;

#[derive(Debug)]
pub(super) struct Machine {
    options: ParserOptions,
    scratch: Scratch,
    /// The current line, counted from 1.
    line: u64,
    /// Bytes of the page before the current line.
    before: u64,
    samples: u64,
    bad_lines: u64,
    stage: Stage,
    /// Whether the current line was already reported as too long.
    overlong: Overlong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Reading,
    /// OpenMetrics said `# EOF`.
    Closed,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overlong {
    No,
    Reported,
}

/// What to do with the bytes of a line so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Read,
    /// The line was reported as too long.
    Discard,
}

impl Machine {
    pub(super) fn new(options: ParserOptions) -> Self {
        Self {
            options,
            scratch: Scratch::default(),
            line: 1,
            before: 0,
            samples: 0,
            bad_lines: 0,
            stage: Stage::Reading,
            overlong: Overlong::No,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// Where the labels of the line read last stand in it.
    pub(super) fn spans(&self) -> &[LabelSpan] {
        &self.scratch.spans
    }

    /// Judges a line by its first `length` bytes, before it is read and, for a stream, before it is complete.
    ///
    /// The limit whose byte comes first is reported first, so that a page in pieces fails like the page in one.
    /// After an error that does not end the page, ask again: the line may pass the other limit too.
    pub(super) fn admit(&mut self, length: usize) -> Result<Admission, ParseError> {
        let limits = self.options.limits;
        if self.stage == Stage::Closed {
            return Err(self.fail(Fault::new(0, Problem::AfterEof)));
        }
        let line_ends_first = self.before.saturating_add(limits.max_line_bytes as u64) < limits.max_bytes;
        if length > limits.max_line_bytes && line_ends_first && self.overlong == Overlong::No {
            self.overlong = Overlong::Reported;
            let limit = limits.max_line_bytes;
            return Err(self.fail(Fault::new(limit, Problem::LineTooLong { limit })));
        }
        if self.before.saturating_add(length as u64) > limits.max_bytes {
            return Err(self.fail(Fault::new(
                0,
                Problem::PageTooLong {
                    limit: limits.max_bytes,
                },
            )));
        }
        Ok(match self.overlong {
            Overlong::No => Admission::Read,
            Overlong::Reported => Admission::Discard,
        })
    }

    /// Reads a complete, admitted line.
    pub(super) fn read<'l>(&mut self, line: &'l [u8]) -> Result<Option<Worded<'l>>, ParseError> {
        match line::read(line, &self.options, &mut self.scratch) {
            Ok(Said::Nothing) => Ok(None),
            Ok(Said::EndOfPage) => {
                self.stage = Stage::Closed;
                Ok(None)
            }
            Ok(Said::Something(worded)) => {
                if let Worded::Sample(_) = worded {
                    self.count_sample()?;
                }
                Ok(Some(worded))
            }
            Err(fault) => Err(self.fail(fault)),
        }
    }

    /// Steps over a line of `length` bytes and its line feed.
    pub(super) fn next_line(&mut self, length: usize) {
        self.line += 1;
        self.before = self.before.saturating_add(length as u64).saturating_add(1);
        self.overlong = Overlong::No;
    }

    /// Ends the page where its bytes end. OpenMetrics must have been closed by then.
    pub(super) fn end_of_page(&mut self) -> Option<ParseError> {
        let torn = self.stage == Stage::Reading && self.options.format == Format::OpenMetrics;
        let error = torn.then(|| self.fail(Fault::new(0, Problem::MissingEof)));
        self.stage = Stage::Ended;
        error
    }

    fn count_sample(&mut self) -> Result<(), ParseError> {
        let limit = self.options.limits.max_samples;
        if self.samples == limit {
            return Err(self.fail(Fault::new(0, Problem::TooManySamples { limit })));
        }
        self.samples += 1;
        Ok(())
    }

    /// Places a fault and decides whether the page goes on.
    #[cold]
    fn fail(&mut self, fault: Fault) -> ParseError {
        let limit = self.options.limits.max_bad_lines;
        let mut error = ParseError {
            line: self.line,
            column: fault.at + 1,
            problem: fault.problem,
        };
        if self.options.on_bad_line == OnBadLine::Stop || error.problem.ends_page() {
            self.stage = Stage::Ended;
        } else if self.bad_lines == limit {
            self.stage = Stage::Ended;
            error.problem = Problem::TooManyBadLines { limit };
        } else {
            self.bad_lines += 1;
        }
        error
    }
}

//! A page as it arrives: lines of families that are not read are passed over before anything is made of them.

use gpu_exposition::{Event, Format, Limits, OnBadLine, ParseError, ParserOptions, Progress, StreamParser};

use super::fields::{self, Field};
use super::{PageReader, Picked};

/// The longest lines seen carry pod labels copied by an exporter: a few kilobytes.
const LONGEST_LINE: usize = 64 * 1024;

/// Reads one page, given in pieces of any size.
#[derive(Debug)]
pub(crate) struct PageStream {
    parser: StreamParser,
    judge: Judge,
    /// The start of a line whose end has not come.
    partial: Vec<u8>,
    /// The current line is longer than any line may be and is passed over to its end.
    is_overlong: bool,
    is_given_up: bool,
}

/// What is made of a line.
#[derive(Debug)]
struct Judge {
    reader: PageReader,
    /// Families come in runs, so the name of the last line is most often that of the next.
    last_name: Vec<u8>,
    last_field: Option<&'static Field>,
    first_error: Option<ParseError>,
}

/// Why the page as a whole cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("too many lines cannot be read, the first at {0}")]
    TooManyBadLines(ParseError),
    #[error("no line can be read, the first at {0}")]
    NotAPage(ParseError),
    #[error("the page says nothing about GPUs in any vocabulary that is understood")]
    NoGpuMetrics,
}

impl PageStream {
    pub(crate) fn new(format: Format) -> Self {
        let options = ParserOptions {
            on_bad_line: OnBadLine::Skip,
            limits: Limits {
                max_line_bytes: LONGEST_LINE,
                ..Limits::DEFAULT
            },
            ..ParserOptions::new(format)
        };
        Self {
            parser: StreamParser::new(options),
            judge: Judge {
                reader: PageReader::default(),
                last_name: Vec::new(),
                last_field: None,
                first_error: None,
            },
            partial: Vec::new(),
            is_overlong: false,
            is_given_up: false,
        }
    }

    /// Takes the next piece of the page.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> Progress {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end + 1);
            self.end_line(line);
            rest = after;
        }
        self.hold(rest);
        if self.is_given_up {
            Progress::Ended
        } else {
            Progress::Continue
        }
    }

    /// Ends the page: what it said, or why it said nothing.
    pub(crate) fn finish(mut self) -> Result<PageReader, Unreadable> {
        if !self.partial.is_empty() {
            // A page ends in a line feed. Without it the line was cut, perhaps in the middle of a number.
            self.judge.reader.skip_line();
        }
        let Self {
            parser,
            judge: mut what,
            ..
        } = self;
        parser.finish(|event| what.hear(event));
        let reader = &what.reader;
        let has_values = !reader.tables.cells.is_empty() || reader.is_ours || reader.is_simulated();
        match (self.is_given_up, has_values, what.first_error) {
            (true, _, Some(error)) => Err(Unreadable::TooManyBadLines(error)),
            (_, true, _) => Ok(what.reader),
            (_, false, Some(error)) => Err(Unreadable::NotAPage(error)),
            (_, false, None) => Err(Unreadable::NoGpuMetrics),
        }
    }

    /// Takes the end of a line with its line feed.
    fn end_line(&mut self, end: &[u8]) {
        if self.is_overlong {
            self.is_overlong = false;
            return;
        }
        if self.partial.is_empty() {
            self.read(end);
            return;
        }
        self.hold(end);
        let line = std::mem::take(&mut self.partial);
        if !self.is_overlong {
            self.read(&line);
        }
        self.is_overlong = false;
        self.partial = line;
        self.partial.clear();
    }

    fn hold(&mut self, start: &[u8]) {
        if self.is_overlong || start.is_empty() {
            return;
        }
        if self.partial.len() + start.len() > LONGEST_LINE {
            self.is_overlong = true;
            self.partial.clear();
            self.judge.reader.skip_line();
            return;
        }
        self.partial.extend_from_slice(start);
    }

    fn read(&mut self, line: &[u8]) {
        if self.is_given_up || !self.judge.wants(line) {
            return;
        }
        let judge = &mut self.judge;
        let progress = self.parser.feed(line, |event| judge.hear(event));
        self.is_given_up = progress == Progress::Ended;
    }
}

impl Judge {
    /// Whether a line has to be read: it is of a family that we know, or so odd that it has to be counted.
    fn wants(&mut self, line: &[u8]) -> bool {
        let Some(first) = line.first() else { return false };
        match first {
            b'#' => return line.starts_with(b"# EOF"),
            b'\n' => return false,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b':' => {}
            _ => return true,
        }
        let end = line
            .iter()
            .position(|byte| matches!(byte, b'{' | b' ' | b'\t' | b'\n'));
        let name = &line[..end.unwrap_or(line.len())];
        if self.last_name != name {
            self.last_name.clear();
            self.last_name.extend_from_slice(name);
            self.last_field = fields::find(name);
        }
        self.last_field.is_some_and(|field| self.reader.wants(field))
    }

    fn hear(&mut self, event: Result<Event<'_>, ParseError>) {
        match event {
            Ok(Event::Sample(sample)) => {
                let name = sample.name.unescaped();
                let is_last = self.last_name == name.as_bytes();
                let field = if is_last {
                    self.last_field
                } else {
                    fields::find(name.as_bytes())
                };
                let Some(field) = field else { return };
                let mut labels = Picked::default();
                for label in sample.labels {
                    labels.set(label.name.raw(), label.value.unescaped());
                }
                let at = sample.timestamp.map(|at| at.0);
                self.reader.sample(field, &labels, sample.value, at);
            }
            Ok(_) => {}
            Err(error) => {
                self.reader.skip_line();
                self.first_error.get_or_insert(error);
            }
        }
    }
}

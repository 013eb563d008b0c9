//! Words for the person who started the program, on standard output.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

/// Standard output: styled for a person at a terminal, plain in a pipe or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    Styled,
    Plain,
}

impl Terminal {
    /// Looks at where standard output goes, and at `NO_COLOR`, by which people ask for plain text everywhere.
    pub fn stdout() -> Self {
        let wants_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if io::stdout().is_terminal() && !wants_plain {
            Self::Styled
        } else {
            Self::Plain
        }
    }

    /// Prints `text` as it is.
    ///
    /// That nobody reads any more (`program | head -1`) is no reason to end or to panic, so a failed write is
    /// only traced.
    pub fn say(self, text: impl fmt::Display) {
        let mut out = io::stdout().lock();
        if let Err(error) = write!(out, "{text}").and_then(|()| out.flush()) {
            tracing::debug!(%error, "nobody reads standard output");
        }
    }

    /// `text` in bold where that shows.
    pub fn bold(self, text: impl fmt::Display) -> String {
        self.style("1", text)
    }

    /// `text` as a warning, reversed on yellow where that shows.
    pub fn badge(self, text: impl fmt::Display) -> String {
        self.style("1;30;43", text)
    }

    /// `text` in the background where that shows.
    pub fn faint(self, text: impl fmt::Display) -> String {
        self.style("2", text)
    }

    fn style(self, code: &str, text: impl fmt::Display) -> String {
        match self {
            Self::Styled => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain => text.to_string(),
        }
    }
}

/// Says on standard error why the program ends; a closed standard error is no reason for another failure.
pub fn complain(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "error: {text}");
}

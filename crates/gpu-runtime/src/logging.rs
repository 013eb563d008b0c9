//! Where log lines go and how they look. The level and the form come from the caller; nothing here reads the
//! environment.

use std::io::{self, IsTerminal as _};
use std::str::FromStr;

use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// One readable line each, with colours when standard error is a terminal.
    #[default]
    Text,
    /// One JSON object each, for machines that collect logs.
    Json,
}

impl FromStr for LogFormat {
    type Err = LoggingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(LoggingError::Format {
                given: text.to_owned(),
            }),
        }
    }
}

/// How much to log: a level such as `info`, or directives such as `info,hyper=warn`. By level and module alone: a filter that
/// also knows fields needs regular expressions, which are a tenth of the exporter's program.
#[derive(Debug, Clone)]
pub struct LogLevel(Targets);

impl FromStr for LogLevel {
    type Err = LoggingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A bare word that is no level would be read as the name of a module, and silently log nothing.
        if text.is_empty() || !text.contains(['=', ',']) && text.parse::<LevelFilter>().is_err() {
            return Err(LoggingError::Level {
                given: text.to_owned(),
            });
        }
        let refused = |source| LoggingError::Directives {
            given: text.to_owned(),
            source,
        };
        text.parse().map(Self).map_err(refused)
    }
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    #[error("unknown log format `{given}`: say `text` or `json`")]
    Format { given: String },
    #[error("unknown log level `{given}`: say `error`, `warn`, `info`, `debug`, `trace` or `off`")]
    Level { given: String },
    #[error("failed to read the log levels `{given}`: say them like `info,hyper=warn`")]
    Directives { given: String, source: ParseError },
    #[error("failed to start logging a second time in one process")]
    Twice {
        source: tracing_subscriber::util::TryInitError,
    },
}

/// Sends log lines to standard error.
///
/// Standard output stays free for what the program was asked to print.
pub fn start_logging(level: LogLevel, format: LogFormat) -> Result<(), LoggingError> {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        // A closed standard error must not end the program: the subscriber's own complaint would panic there.
        .log_internal_errors(false);
    let registry = tracing_subscriber::registry();
    let started = match format {
        LogFormat::Text => registry
            .with(lines.with_ansi(io::stderr().is_terminal()).with_filter(level.0))
            .try_init(),
        LogFormat::Json => registry
            .with(lines.json().flatten_event(true).with_filter(level.0))
            .try_init(),
    };
    started.map_err(|source| LoggingError::Twice { source })
}

#[cfg(test)]
mod tests;

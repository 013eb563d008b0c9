//! Why an answer was not had, in a few classes that metrics and retries can tell apart.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Method, StatusCode};

/// Whom was asked, without anything secret: `GET https://host/path`.
#[derive(Clone, PartialEq, Eq)]
pub struct Target(Box<str>);

/// Longer addresses are cut in messages; the start says enough.
const TARGET_CHARACTERS: usize = 200;

impl Target {
    pub(super) fn new(method: &Method, shown: &str) -> Self {
        let end = shown
            .char_indices()
            .nth(TARGET_CHARACTERS)
            .map_or(shown.len(), |(at, _)| at);
        Self(format!("{method} {}", &shown[..end]).into())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.0)
    }
}

/// Why an answer was not had.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nobody listens, no way leads there, or the name is not known.
    #[error("found no connection for {target}")]
    Refused {
        /// Whom was asked.
        target: Target,
        /// What the network said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// No answer, or no more of it, in the time allowed.
    #[error("{target} did not answer within {after:?}")]
    Timeout {
        /// Whom was asked.
        target: Target,
        /// The time that was allowed.
        after: Duration,
    },
    /// The peer's certificate is not trusted, or it does not trust ours.
    #[error("found no trusted connection for {target}")]
    Tls {
        /// Whom was asked.
        target: Target,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The answer is larger than it may be.
    #[error("{target} answers with more than {limit} bytes")]
    TooLarge {
        /// Whom was asked.
        target: Target,
        /// What is allowed.
        limit: u64,
    },
    /// An answer, but not the one that was hoped for. Only `success()` makes it an error.
    #[error("{target} answered {status}")]
    Status {
        /// Whom was asked.
        target: Target,
        /// The answer's status.
        status: StatusCode,
        /// When the server wants to be asked again, where it says so in seconds.
        retry_after: Option<Duration>,
    },
    /// Everything else, such as a connection that broke in the middle of the answer.
    #[error("{target} failed")]
    Other {
        /// Whom was asked.
        target: Target,
        /// What happened.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl FetchError {
    /// One word of a closed set, for labels of metrics.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::Timeout { .. } => "timeout",
            Self::Tls { .. } => "tls",
            Self::TooLarge { .. } => "too_large",
            Self::Status { .. } => "status",
            Self::Other { .. } => "other",
        }
    }

    /// The status of an answer that was not hoped for.
    pub fn status_code(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    pub(super) fn status(target: Target, status: StatusCode, headers: &HeaderMap) -> Self {
        let retry_after = headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        Self::Status {
            target,
            status,
            retry_after,
        }
    }

    /// Sorts what the inner client says. Its own words hold the whole address, so they go without it.
    pub(super) fn sort(target: Target, connect_timeout: Duration, error: reqwest::Error) -> Self {
        let error = error.without_url();
        if error.is_timeout() {
            // Only connecting is timed by the inner client.
            return Self::Timeout {
                target,
                after: connect_timeout,
            };
        }
        let connecting = error.is_connect();
        let signs = Signs::of(&error);
        let source = Box::new(error);
        if signs.tls {
            return Self::Tls { target, source };
        }
        if connecting || signs.refused {
            return Self::Refused { target, source };
        }
        Self::Other { target, source }
    }
}

/// What the causes of an error speak of.
#[derive(Default)]
struct Signs {
    tls: bool,
    refused: bool,
}

/// A chain of causes is a handful of links; the bound keeps a cyclic one from holding us.
const CAUSES: usize = 16;

impl Signs {
    fn of(error: &(dyn Error + 'static)) -> Self {
        let mut signs = Self::default();
        let mut cause = Some(error);
        for _ in 0..CAUSES {
            let Some(current) = cause else { break };
            signs.tls |= current.is::<rustls::Error>();
            cause = current.source();
            if let Some(io) = current.downcast_ref::<io::Error>() {
                signs.refused |= io.kind() == io::ErrorKind::ConnectionRefused;
                // An io::Error names as its source the source of what it wraps, and so skips one link.
                if let Some(inner) = io.get_ref() {
                    cause = Some(inner);
                }
            }
        }
        signs
    }
}

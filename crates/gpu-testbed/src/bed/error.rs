//! What can go wrong with a bed, in words that name the part.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::warden::protocol::End;

/// A failure of the bed itself, never of what a test checks.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    /// A part ended although nobody asked it to.
    #[error("part `{name}` of the test bed died by {end}; the end of its log:\n{log_tail}")]
    PartDied {
        /// The part.
        name: String,
        /// How it ended.
        end: End,
        /// Its last lines.
        log_tail: String,
    },
    /// A part did not become ready in time.
    #[error("part `{name}` was not ready within {within:?}: {why}; the end of its log:\n{log_tail}")]
    NotReady {
        /// The part.
        name: String,
        /// The bound.
        within: Duration,
        /// What the last probe said.
        why: String,
        /// Its last lines.
        log_tail: String,
    },
    /// A command did not end in time.
    #[error("`{name}` did not end within {within:?}; the end of its log:\n{log_tail}")]
    NotEnded {
        /// The part.
        name: String,
        /// The bound.
        within: Duration,
        /// Its last lines.
        log_tail: String,
    },
    /// A command failed.
    #[error("`{name}` failed with {end}; the end of its log:\n{log_tail}")]
    CommandFailed {
        /// The command's name in the bed.
        name: String,
        /// How it ended.
        end: End,
        /// Its last lines.
        log_tail: String,
    },
    /// The warden ended although the bed had not.
    #[error("the warden of the test bed died; every part died with it")]
    WardenDied,
    /// The warden's program could not be found or built.
    #[error("failed to build the warden: {why}")]
    WardenMissing {
        /// What the build said.
        why: String,
    },
    /// The warden's program did not start.
    #[error("failed to start the warden by `{command}`")]
    WardenStart {
        /// The words used.
        command: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The warden does not answer.
    #[error("the warden did not answer within {within:?} when asked to {act}")]
    WardenSilent {
        /// What it was asked.
        act: String,
        /// The bound.
        within: Duration,
    },
    /// The warden did not do what it was asked.
    #[error("the warden could not {act}: {why}")]
    Refused {
        /// What it was asked.
        act: String,
        /// Its answer.
        why: String,
    },
    /// The whole test took too long.
    #[error("the test was not done within {within:?}")]
    Overdue {
        /// The bound.
        within: Duration,
    },
    /// A file of the bed could not be written.
    #[error("failed to write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

//! The commands for people: ask the control plane, and answer in the form that was asked for.

mod ask;
mod cost;
mod explain;
mod optimize;
mod output;
mod pause;
mod status;
mod table;

pub(crate) use cost::cost;
pub(crate) use explain::explain;
pub(crate) use optimize::optimize;
pub(crate) use pause::{pause, resume};
pub(crate) use status::status;

/// How a command for people ended, apart from errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// Findings at or above the score of `--fail-on`.
    Findings,
}

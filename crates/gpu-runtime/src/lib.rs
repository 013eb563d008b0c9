//! Logging, clock, supervised tasks, HTTP serving and shutdown of a program.
//!
//! Every program of the project starts through this crate, so that all of them log, restart, stop and refuse
//! alike. It knows nothing of GPUs, clusters or clouds.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets the world outside"
)]

mod chain;
mod clock;
mod logging;
mod program;
mod shutdown;
mod signals;
mod terminal;

pub mod http;
pub mod tasks;

pub use chain::Chain;
pub use clock::{Clock, ManualClock, SystemClock};
pub use logging::{LogFormat, LogLevel, LoggingError, start_logging};
pub use program::{run, run_on_one_thread};
pub use shutdown::Shutdown;
pub use signals::{SignalError, stop_on_signals};
pub use tasks::Tasks;
pub use terminal::{Terminal, complain};

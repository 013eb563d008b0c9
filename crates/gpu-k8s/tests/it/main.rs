//! Our kinds as the chart carries them and as a real API server judges them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test reads the chart and starts programs"
)]

mod definitions;
mod server;

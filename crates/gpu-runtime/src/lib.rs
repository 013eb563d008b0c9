//! Logging, clock, supervised tasks, HTTP serving and shutdown of a program.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets the world outside"
)]

//! The real program, driven as people and scrapers drive it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a test of the program: it starts processes, speaks HTTP and reads the clock"
)]

mod command_line;
mod lead;
mod ledger;
mod pages;
mod program;
mod real_parts;
mod serve;
mod soak;
mod sources;
mod stopping;
mod tell;
mod watch;

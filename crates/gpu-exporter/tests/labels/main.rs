//! Labels from the API server, in the build that has a client: against answers of our own, and against the real server.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests wait for real programs, and end at the first surprise"
)]

mod answers;
mod pages;
mod scrape;
mod server;
mod settings;

use std::time::Duration;

/// Every step takes a second or two; a machine that compiles beside it takes longer.
const SOON: Duration = Duration::from_secs(60);

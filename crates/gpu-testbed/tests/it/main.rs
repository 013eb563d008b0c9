//! The test bed against the real programs. One binary, because linking is the slow part.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of an edge crate meet the world outside"
)]

mod bed;
mod chromium;
mod fleet;
mod leftovers;
mod moto;
mod page_server;
mod postgres;
mod prometheus;
mod real_node;
mod skipping;

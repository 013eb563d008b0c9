//! The control plane, the command line and the demo of gpu-autoscaler: the rooms of the program, which `main.rs` enters.

#![allow(
    clippy::disallowed_methods,
    reason = "an edge crate: it meets the world outside"
)]

mod api;
mod catalog;
mod cli;
mod commands;
mod control;
mod decisions;
mod demo;
mod explain;
mod fleet;
mod kubernetes;
pub mod lead;
pub mod ledger;
mod names;
mod own_metrics;
mod pages;
mod program;
mod rates;
mod replay;
mod serve;
pub mod sources;
pub mod tell;
mod ui;
pub mod watch;
pub mod wire;

pub use program::main;

//! The control plane, the command line and the demo of gpu-autoscaler: the rooms of the program, which `main.rs` enters.

mod api;
mod catalog;
mod cli;
mod demo;
mod fleet;
pub mod lead;
mod pages;
mod program;
pub mod sources;
mod ui;

pub use program::main;

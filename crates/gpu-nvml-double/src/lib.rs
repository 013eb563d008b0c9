//! A test double of NVIDIA's management library. Never shipped.
//!
//! The shared library has NVML's C interface and is loaded the way the real one is; a [scenario] file says what machine
//! it pretends to be, and changes it while a program runs. The Rust side writes scenarios and finds the shared library.
//!
//! The file is named by `NVML_DOUBLE_SCENARIO`, or is `scenario.json` beside the library. How often each function was
//! called is written to the file named by `NVML_DOUBLE_CALLS`, or to `calls.json` beside the scenario.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it reads its scenario from a file and waits as a driver would"
)]

mod abi;
mod clockwork;
mod install;
mod tally;
mod world;

pub mod scenario;

pub use install::{Installed, LocateError, shared_library};
pub use tally::Tally;

//! The layer against the test double, loaded through the real dynamic linker.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "integration tests write scenarios, start programs, wait, and fail by panicking"
)]

mod allocations;
mod events;
mod faults;
mod gpm;
mod hostile;
mod loading;
mod machine;
mod mig;
mod presets;
mod processes;
mod running;

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

/// Workers move to threads of their own, and a session is shared by all of them.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}
    shared::<gpu_nvml::Nvml>();
    shared::<gpu_nvml::Device>();
    moved::<gpu_nvml::EventSet>();
    moved::<gpu_nvml::GpmSample>();
    moved::<gpu_nvml::GpmQuery>();
    moved::<gpu_nvml::FieldBatch>();
    moved::<gpu_nvml::ProcessList>();
};

//! What NVIDIA's driver says of its GPUs: a small, safe, read-only layer over NVML.
//!
//! The library is loaded at run time, so that a program starts without a driver and says so. Only the functions in
//! [`SYMBOLS`] are ever called, and none of them changes the state of a GPU. A missing function, an old driver and an
//! unable GPU are the same to a caller: [`Fault::Unsupported`].
//!
//! Any call may block for as long as the driver likes, even for ever: callers give every device a thread of its own and
//! watch its age. Calls that a sampling loop repeats fill buffers of the caller and allocate nothing. Everything the driver
//! writes is treated as hostile: texts without an end, counts beyond what was asked for, values out of range.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it looks for the driver's library and loads it"
)]

mod clocks;
mod device;
mod events;
mod fabric;
mod fault;
mod fields;
mod gauges;
mod gpm;
mod health;
mod identity;
mod links;
mod load;
mod mig;
mod nvml;
mod processes;
mod raw;
mod symbols;
mod text;

pub use clocks::{Clock, ClockReason, ClockReasons, PerfPolicy, PerformanceState};
pub use device::Device;
pub use events::{EventSet, Xid};
pub use fabric::{Fabric, FabricState, Licence};
pub use fault::{Answer, AnswerExt, Fault};
pub use fields::{ALL_LINKS, Field, FieldBatch, FieldQuery, FieldValue};
pub use gauges::{Bar1, Engine, MemoryInfo, Percent, PowerLimits, Threshold, Utilization};
pub use gpm::{GpmMetric, GpmQuery, GpmSample, GpmSupport};
pub use health::{EccCounter, EccKind, EccLocation, EccMode, EccState, RemappedRows, RetiredCause};
pub use identity::{Architecture, Brand, ComputeCapability, Identity};
pub use links::{
    CommonAncestor, Direction, KibPerSecond, LinkError, LinkRemote, LinkState, P2p, PcieLink, Peer,
};
pub use load::LoadError;
pub use mig::{MigAttributes, MigDevice, MigInstance, MigMode, Sliced};
pub use nvml::{CudaVersion, DriverVersion, Nvml};
pub use processes::{Process, ProcessKind, ProcessList, ProcessSample, ProcessSamples};
pub use symbols::{LOOKED_FOR, SYMBOLS};

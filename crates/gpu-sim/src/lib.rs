//! A deterministic simulated GPU fleet with a virtual clock.
//!
//! The same seed gives the same fleet on every platform, and the same instant looks the same however it was reached: the
//! world moves on a grid of whole seconds, all arithmetic is on integers, and every draw is a hash of the seed, of the
//! thing it is about and of the time, never of how many draws came before.
//!
//! What an outsider could measure is in [`World::observe`]; what only the simulator knows is in [`World::truth`], and
//! nothing of it may show in the names, labels or shapes of the former.

mod behaviour;
mod fates;
mod hardware;
mod naming;
mod noise;
mod observe;
mod physics;
mod picture;
mod placement;
mod shapes;
mod slots;
mod spec;
mod streams;
mod trouble;
mod truth;
mod world;

pub use spec::{FleetSpec, SpecError};
pub use truth::{Condition, GpuTruth, Health, Misreport, Need, PodTruth, Truth, WorkloadKind};
pub use world::World;

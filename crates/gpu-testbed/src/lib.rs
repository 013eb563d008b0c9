//! Starts the real programs that the tests run against, and leaves nothing behind.
//!
//! A [`Bed`] is a temporary directory and a warden (see [`warden`]) through which programs are started:
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use gpu_testbed::{Bed, PartSpec};
//! use std::time::Duration;
//!
//! let bed = Bed::new()?;
//! let part = bed.spawn(PartSpec::new("sleeper", "/bin/sleep").arg("1000"))?;
//! bed.guard(Duration::from_secs(60), async {
//!     part.ready(Duration::from_secs(5), || async { Ok(()) }).await?;
//!     Ok(())
//! })
//! .await?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Bed::spawn`] and [`Bed::start`] start a part, [`Bed::run`] a command that ends; the log is in `logs/`.
//! - [`Bed::guard`] runs a test's work and fails at once, naming the part, when any part dies; it has a time limit.
//! - [`Bed::with_warden_prefix`] puts the whole bed into namespaces of its own.
//! - [`Fleet`] is a cluster; [`prometheus`], [`alertmanager`], [`postgres`], [`moto`] and [`chromium`] are single parts.
//! - [`RealNode`] is a cluster of one real kubelet with real containers and GPUs offered by a device plugin of ours.
//! - [`require!`] ends a test as skipped when a [`Program`] or another [`Need`] is missing.
//! - [`free_port`] gives loopback ports; [`Leftovers`] proves that nothing stayed and [`sweep`] removes what did.
//! - [`Bed::own_directory`] and [`Bed::own_cgroup`] add to what is removed at the end.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets the world outside"
)]

pub mod alertmanager;
pub mod bed;
pub mod cache_layout;
pub mod chromium;
pub mod control_plane;
mod eventually;
pub mod fleet;
pub mod foreign;
pub mod http;
pub mod leftovers;
pub mod moto;
pub mod pki;
mod ports;
pub mod postgres;
pub mod programs;
pub mod prometheus;
pub mod real_node;
pub mod requirement;
pub mod warden;

pub use bed::{Bed, BedError, BedId, Part, PartSpec, StopBy};
pub use eventually::eventually;
pub use fleet::Fleet;
pub use leftovers::{Leftovers, sweep};
pub use ports::free_port;
pub use programs::Program;
pub use real_node::RealNode;
pub use requirement::Need;
pub use warden::protocol::{End, UserIds};

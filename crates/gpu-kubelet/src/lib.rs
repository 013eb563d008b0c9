//! The kubelet's gRPC interfaces: pod-resources and device plugin.
//!
//! Holds the wire types and how to reach or serve them over a unix socket. It never decides what a device id means:
//! that is the work of the exporter and of the test bed's device plugin.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets the world outside"
)]

mod socket;

pub mod deviceplugin;
pub mod podresources;

pub use socket::{ConnectError, ListenError, connect, listen};

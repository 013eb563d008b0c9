//! The node agent: reads every GPU of its node, joins each figure with who caused it, and serves the result. It never
//! changes the state of a GPU, holds no API token in its default build, and never touches a driver while serving.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets the driver, the kubelet and the network"
)]

pub mod api;
pub mod applications;
pub mod collect;
pub mod kmsg;
pub mod owners;
pub mod page;
pub mod program;
pub mod readings;
pub mod settings;
pub mod snapshot;
pub mod source;
pub mod web;

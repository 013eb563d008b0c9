//! The kubelet's gRPC interfaces: pod-resources and device plugin.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets the world outside"
)]

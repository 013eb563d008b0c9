//! Kubernetes as this product knows it: every name once, our own kinds, and objects of others turned into the model's values.
//!
//! Text of an object in, value out. Nothing here talks to an API server, waits or logs; watching is the control plane's.

pub mod convert;
pub mod kinds;
pub mod names;
pub mod owners;
pub mod quantity;

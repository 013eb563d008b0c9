//! Speaks both interfaces over real unix sockets, and pins the bytes of the wire.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "integration tests open sockets and files, and a failed step is a failed test"
)]

mod podresources;
mod wire;

//! The contract of a store, held to it on every store there is, and what each of them promises beyond it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "integration tests meet files, processes and servers, and fail by panicking"
)]

mod contract;
mod sample;

#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
mod postgres;

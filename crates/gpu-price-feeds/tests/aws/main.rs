//! AWS: credentials from each of their givers, and spot prices from moto and from a server that has its bad days.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests meet the world outside, and an unwrap is an assertion"
)]

mod credentials;
mod moto;
#[path = "../it/server.rs"]
mod server;
mod spot;

use gpu_runtime::http::client::{ClientSettings, Proxies};

/// A client to which the proxies of this machine mean nothing.
fn local() -> ClientSettings {
    ClientSettings {
        proxies: Proxies::Never,
        ..ClientSettings::default()
    }
}

//! Taking the port.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use gpu_runtime::http::{BindError, Listener};

/// How people name the setting.
const SETTING: &str = "--address or --port";

/// Binds the address. All addresses means those of IPv4 alone on a machine that has no IPv6.
pub(super) async fn bind(address: SocketAddr) -> Result<Listener, BindError> {
    let first = Listener::bind(address, SETTING).await;
    match first {
        Err(BindError::Other { .. } | BindError::NotLocal { .. })
            if address.ip() == Ipv6Addr::UNSPECIFIED =>
        {
            Listener::bind((Ipv4Addr::UNSPECIFIED, address.port()).into(), SETTING).await
        }
        other => other,
    }
}

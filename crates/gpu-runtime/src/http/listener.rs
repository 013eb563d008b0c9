//! A bound port, and the words for a port that cannot be had.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections that wait to be accepted. The usual 128 overflow when a thousand scrapers come at once, and the kernel then
/// resets some of them; it cuts this down to its own limit.
const BACKLOG: u32 = 4096;

/// A port that accepts connections.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// Why a port cannot be had; every message names the setting that changes it.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error(
        "failed to listen on {address}: another program holds this port; stop that program, or choose another \
         port with {setting} (port 0 takes any free one)"
    )]
    Taken {
        address: SocketAddr,
        setting: &'static str,
    },
    #[error(
        "failed to listen on {address}: ports below 1024 need the right to bind them; choose a higher port with \
         {setting}, or grant CAP_NET_BIND_SERVICE"
    )]
    Privileged {
        address: SocketAddr,
        setting: &'static str,
    },
    #[error(
        "failed to listen on {address}: this machine has no such address; give {setting} one of its own, \
         127.0.0.1 for this machine alone or 0.0.0.0 for all networks"
    )]
    NotLocal {
        address: SocketAddr,
        setting: &'static str,
    },
    #[error("failed to listen on {address}, given by {setting}")]
    Other {
        address: SocketAddr,
        setting: &'static str,
        source: io::Error,
    },
}

impl Listener {
    /// Takes the port at `address`, inside a runtime; `setting` is how people name the flag that chose it.
    pub async fn bind(address: SocketAddr, setting: &'static str) -> Result<Self, BindError> {
        let bound = listen(address).and_then(|socket| {
            let address = socket.local_addr()?;
            Ok(Self { socket, address })
        });
        bound.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::Taken { address, setting },
            io::ErrorKind::PermissionDenied => BindError::Privileged { address, setting },
            io::ErrorKind::AddrNotAvailable => BindError::NotLocal { address, setting },
            _ => BindError::Other {
                address,
                setting,
                source,
            },
        })
    }

    /// The address that was bound, with the real port where port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) async fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _) = self.socket.accept().await?;
        // Answers are written whole; waiting to fill a packet would only delay their last one.
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // A program that is started again must not wait for the connections of its predecessor to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

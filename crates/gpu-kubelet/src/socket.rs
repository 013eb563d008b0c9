//! Unix sockets for gRPC: one way to reach a server and one way to be one.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::{Channel, Endpoint};

/// A kubelet on the same machine answers at once or hangs; five seconds is far beyond a busy one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a server could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The path cannot be written as an address.
    #[error("cannot address the socket `{path}`: its path is not plain text")]
    Path { path: PathBuf },
    /// Nobody answered.
    #[error("failed to reach the gRPC server on `{path}`; is the kubelet running and the socket mounted?")]
    Connect {
        path: PathBuf,
        source: tonic::transport::Error,
    },
}

/// Why a socket could not be served.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on `{path}`")]
pub struct ListenError {
    path: PathBuf,
    source: io::Error,
}

/// Connects to the gRPC server on `socket`.
pub async fn connect(socket: &Path) -> Result<Channel, ConnectError> {
    let path = || socket.to_path_buf();
    let text = socket
        .to_str()
        .ok_or_else(|| ConnectError::Path { path: path() })?;
    let endpoint = Endpoint::from_shared(format!("unix:{text}"))
        .map_err(|source| ConnectError::Connect { path: path(), source })?
        .connect_timeout(CONNECT_TIMEOUT);
    endpoint
        .connect()
        .await
        .map_err(|source| ConnectError::Connect { path: path(), source })
}

/// Listens on `socket`, which a predecessor that was killed may have left behind.
/// The stream goes to `tonic::transport::Server::serve_with_incoming` beside the one service of this socket.
pub fn listen(socket: &Path) -> Result<UnixListenerStream, ListenError> {
    let failed = |source| ListenError {
        path: socket.to_path_buf(),
        source,
    };
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    UnixListener::bind(socket)
        .map(UnixListenerStream::new)
        .map_err(failed)
}

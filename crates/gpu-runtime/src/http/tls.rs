//! Serving HTTPS with a configuration that can be exchanged while connections are open, so that a renewed
//! certificate needs no restart. What the configuration says is the caller's business.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use axum::Router;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::debug;

use super::{Limits, Listener, serve_prepared};
use crate::{Chain, Shutdown};

/// The configuration of TLS, or none for plain HTTP; clones share it.
///
/// A connection keeps the configuration it was accepted under; the next one gets the newest.
#[derive(Debug, Clone, Default)]
pub struct TlsSlot {
    config: Arc<ArcSwapOption<ServerConfig>>,
}

impl TlsSlot {
    /// A slot with its first content.
    pub fn new(config: Option<Arc<ServerConfig>>) -> Self {
        Self {
            config: Arc::new(ArcSwapOption::new(config)),
        }
    }

    /// Takes a new configuration for all connections that are accepted from now on.
    pub fn exchange(&self, config: Option<Arc<ServerConfig>>) {
        self.config.store(config);
    }
}

/// Like [`super::serve`], with TLS as `tls` says at the moment a connection is accepted. A client that does not finish its
/// handshake within [`Limits::header_time`] loses the connection.
pub async fn serve_secured(
    listener: &Listener,
    app: Router,
    limits: &Limits,
    tls: &TlsSlot,
    shutdown: &Shutdown,
) {
    let patience = limits.header_time;
    serve_prepared(listener, app, limits, shutdown, |stream| {
        secure(stream, tls.config.load_full(), patience)
    })
    .await;
}

async fn secure(stream: TcpStream, tls: Option<Arc<ServerConfig>>, patience: Duration) -> Option<Stream> {
    let Some(config) = tls else {
        return Some(Stream::Plain(stream));
    };
    match timeout(patience, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => Some(Stream::Secured(Box::new(stream))),
        Ok(Err(error)) => {
            // Scanners, plain HTTP and missing client certificates: the client is told by the alert.
            debug!(error = %Chain(&error), "a TLS handshake failed");
            None
        }
        Err(_) => {
            debug!("a TLS handshake took too long");
            None
        }
    }
}

/// A connection with or without TLS.
enum Stream {
    Plain(TcpStream),
    /// Boxed, because its state is some hundred times larger.
    Secured(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Secured(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Secured(stream) => Pin::new(stream.as_mut()).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Secured(stream) => Pin::new(stream.as_mut()).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Secured(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secured(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secured(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests;

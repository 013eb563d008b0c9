//! HTTP/1.1, served and asked: every connection, header, body, request and answer has a bound.

mod bounds;
#[cfg(feature = "client")]
pub mod client;
mod listener;
mod refusal;
mod stall;
#[cfg(feature = "tls")]
mod tls;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::{Chain, Shutdown};
pub use listener::{BindError, Listener};
pub use refusal::Refusal;
use stall::ImpatientIo;
#[cfg(feature = "tls")]
pub use tls::{TlsSlot, serve_secured};

/// What a server grants its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Open connections; further ones wait in the kernel's queue until one ends.
    pub connections: usize,
    /// Requests worked on at the same time; further ones are answered 503 at once.
    pub requests: usize,
    /// From the start of the wait for a request to the last byte of its header. It also ends idle connections,
    /// so that clients who dribble or sleep cannot hold all of them.
    pub header_time: Duration,
    /// From the header to the answer.
    pub request_time: Duration,
    /// How long a client may take no byte of an answer that waits for it.
    pub stall_time: Duration,
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// How long open requests may go on after the shutdown.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Dashboards, scrapers and a few dozen people; each connection costs some 20 KB.
            connections: 512,
            requests: 128,
            header_time: Duration::from_secs(15),
            request_time: Duration::from_secs(10),
            stall_time: Duration::from_secs(30),
            // Larger than any object that Kubernetes accepts would be by mistake only.
            body_bytes: 2 * 1024 * 1024,
            drain_time: Duration::from_secs(5),
        }
    }
}

/// Sixteen KB of header hold every cookie and token that a proxy adds; hyper's own bound is 400 KB.
const HEADER_BYTES: usize = 16 * 1024;

/// Out of file descriptors: waiting this long lets some connections end instead of spinning on the error.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `app` until the shutdown, then lets open requests end for at most [`Limits::drain_time`].
pub async fn serve(listener: &Listener, app: Router, limits: &Limits, shutdown: &Shutdown) {
    serve_prepared(listener, app, limits, shutdown, |stream| {
        std::future::ready(Some(stream))
    })
    .await;
}

/// Serves every connection after `prepare` made a stream of it that speaks HTTP; the preparation runs in the
/// connection's own task, so that a slow client delays nobody else.
async fn serve_prepared<P, F, S>(
    listener: &Listener,
    app: Router,
    limits: &Limits,
    shutdown: &Shutdown,
    prepare: P,
) where
    P: Fn(TcpStream) -> F,
    F: Future<Output = Option<S>> + Send + 'static,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let app = bounds::apply(app, limits);
    let slots = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.triggered() => break,
            Some(_) = connections.join_next() => {}
            (stream, slot) = accept(listener, &slots) => {
                let prepared = prepare(stream);
                connections.spawn(converse(prepared, slot, app.clone(), limits.clone(), shutdown.clone()));
            }
        }
    }
    let drained = timeout(limits.drain_time, async {
        while connections.join_next().await.is_some() {}
    });
    if drained.await.is_err() {
        debug!(
            connections = connections.len(),
            "closed connections that were still open"
        );
    }
}

async fn accept(listener: &Listener, slots: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    let slot = slots
        .clone()
        .acquire_owned()
        .await
        .expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok(stream) => return (stream, slot),
            Err(error) => {
                warn!(error = %Chain(&error), address = %listener.address(), "failed to accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Speaks with one client until it leaves, breaks a limit, or the shutdown ends the conversation.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    prepared: impl Future<Output = Option<S>>,
    _slot: OwnedSemaphorePermit,
    app: Router,
    limits: Limits,
    shutdown: Shutdown,
) {
    let stream = tokio::select! {
        stream = prepared => stream,
        () = shutdown.triggered() => None,
    };
    let Some(stream) = stream else { return };
    let io = TokioIo::new(ImpatientIo::new(stream, limits.stall_time));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(io, TowerToHyperService::new(app));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.triggered() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // A client that went away or was too slow: its business, and of no interest to anybody else.
        debug!(error = %Chain(&error), "a connection ended early");
    }
}

#[cfg(test)]
mod tests;

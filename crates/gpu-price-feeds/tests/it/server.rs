//! A server on loopback whose answers are a function of the request and of how many came before.
#![allow(
    dead_code,
    reason = "each of the test programs that share it uses a part of it"
)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use gpu_runtime::Shutdown;
use gpu_runtime::http::client::Url;
use gpu_runtime::http::{Limits, Listener, serve};

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Decoded.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    /// A field of a posted form.
    pub(crate) fn form(&self, name: &str) -> Option<String> {
        let body = std::str::from_utf8(&self.body).unwrap();
        let address: Url = format!("http://here/?{body}").parse().unwrap();
        let found = address.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    shutdown: Shutdown,
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(usize, &Seen) -> Response + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), answer).await
    }

    pub(crate) async fn at(
        address: SocketAddr,
        answer: impl Fn(usize, &Seen) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = Listener::bind(address, "--listen").await.unwrap();
        let url = format!("http://{}", listener.address());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&seen), Arc::new(answer));
        let app = Router::new().fallback(async move |request: Request| {
            let address: Url = format!("http://here{}", request.uri()).parse().unwrap();
            let (parts, body) = request.into_parts();
            let asked = Seen {
                method: parts.method.to_string(),
                body: axum::body::to_bytes(body, 1024 * 1024).await.unwrap(),
                path: parts.uri.path().to_owned(),
                query: address.query_pairs().into_owned().collect(),
                headers: parts.headers,
            };
            let before = {
                let mut log = log.lock().unwrap();
                log.push(asked.clone());
                log.len() - 1
            };
            answer(before, &asked)
        });
        let shutdown = Shutdown::new();
        let until = shutdown.clone();
        let limits = Limits {
            stall_time: Duration::from_secs(60),
            drain_time: Duration::ZERO,
            ..Limits::default()
        };
        tokio::spawn(async move { serve(&listener, app, &limits, &until).await });
        Self { url, seen, shutdown }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Nobody answers any more.
    pub(crate) fn stop(&self) {
        self.shutdown.trigger();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.trigger();
    }
}

pub(crate) fn status(code: u16) -> Response {
    StatusCode::from_u16(code).unwrap().into_response()
}

pub(crate) fn busy(retry_after: &'static str) -> Response {
    (StatusCode::TOO_MANY_REQUESTS, [("retry-after", retry_after)]).into_response()
}

pub(crate) fn json(text: impl Into<String>) -> Response {
    ([("content-type", "application/json")], text.into()).into_response()
}

/// The first half of a text, and then the connection breaks.
pub(crate) fn truncated(text: &str) -> Response {
    let half = Bytes::copy_from_slice(&text.as_bytes()[..text.len() / 2]);
    let pieces = [Ok(half), Err(std::io::Error::other("cut"))];
    Body::from_stream(futures::stream::iter(pieces)).into_response()
}

/// The first half of a text, and then nothing, for ever.
pub(crate) fn hanging(text: &str) -> Response {
    let half = Bytes::copy_from_slice(&text.as_bytes()[..text.len() / 2]);
    let first = futures::stream::iter([Ok::<_, std::io::Error>(half)]);
    Body::from_stream(first.chain(futures::stream::pending())).into_response()
}

//! Asking others over HTTP: every request has a deadline, every answer a bound that holds for the bytes after
//! decompression, and every failure is sorted into one of a few classes. Certificates, keys and tokens are read again
//! when their files change, so that a renewed one needs no restart.
//!
//! No message of this module holds a secret: addresses are printed without users, passwords and queries.

mod authorization;
mod error;
mod files;
mod request;
mod settings;
mod tls;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::redirect::{Attempt, Policy};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::Chain;
pub use error::{FetchError, Target};
pub use request::Request;
use reqwest::RequestBuilder;
pub use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
pub use reqwest::{Method, StatusCode, Url};
pub use settings::{Authorization, ClientCertificate, ClientSettings, Proxies, Secret, SettingsError, Trust};

use authorization::Authorizer;
use files::Stamps;

/// What one request may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the start of the connection to the last byte of the answer.
    pub timeout: Duration,
    /// How long the answer may stand still: before its header, and between two pieces of its body.
    pub stall_time: Duration,
    /// Bytes of the answer's body after decompression.
    pub max_bytes: u64,
}

/// A peer that sends nothing for this long has gone away; long downloads may take longer as a whole.
const STALL_TIME: Duration = Duration::from_secs(30);

/// A moved resource takes one or two steps; more is a loop.
const REDIRECTS: usize = 3;

impl Limits {
    /// Bounds of a request whose answer may stand still for at most 30 seconds.
    pub const fn new(timeout: Duration, max_bytes: u64) -> Self {
        Self {
            timeout,
            stall_time: STALL_TIME,
            max_bytes,
        }
    }
}

/// An answer with its whole body, of whatever status.
#[derive(Debug, Clone)]
pub struct Response {
    /// What the server thinks of the request.
    pub status: StatusCode,
    /// As sent, apart from those about a compression that is undone already.
    pub headers: HeaderMap,
    /// The decompressed body.
    pub body: Bytes,
    target: Target,
}

impl Response {
    /// The answer if its status is 2xx, else an error that says the status.
    pub fn success(self) -> Result<Self, FetchError> {
        if self.status.is_success() {
            return Ok(self);
        }
        Err(FetchError::status(self.target, self.status, &self.headers))
    }
}

/// An answer whose body is still on its way.
#[derive(Debug)]
pub struct Chunks {
    /// What the server thinks of the request.
    pub status: StatusCode,
    /// As sent, apart from those about a compression that is undone already.
    pub headers: HeaderMap,
    answer: reqwest::Response,
    exchange: Exchange,
    received: u64,
}

impl Chunks {
    /// The next piece of the body, or `None` after the last. An error is final.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        let chunk = self.exchange.step(self.answer.chunk()).await?;
        if let Some(bytes) = &chunk {
            self.received = self.received.saturating_add(length(bytes));
            if self.received > self.exchange.limits.max_bytes {
                return Err(self.exchange.too_large());
            }
        }
        Ok(chunk)
    }

    /// The stream if its status is 2xx, else an error that says the status.
    pub fn success(self) -> Result<Self, FetchError> {
        if self.status.is_success() {
            return Ok(self);
        }
        Err(FetchError::status(
            self.exchange.target,
            self.status,
            &self.headers,
        ))
    }

    /// Reads the rest into memory.
    async fn collect(mut self) -> Result<Response, FetchError> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.next().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(Response {
            status: self.status,
            headers: self.headers,
            body: body.freeze(),
            target: self.exchange.target,
        })
    }
}

/// A client for one peer or one kind of peers; clones share its connections.
#[derive(Debug, Clone)]
pub struct Client {
    settings: Arc<ClientSettings>,
    authorizer: Arc<Authorizer>,
    current: Arc<Mutex<Built>>,
}

/// The inner client, made of certificate files in the state that `stamps` recorded.
#[derive(Debug)]
struct Built {
    stamps: Stamps,
    client: reqwest::Client,
}

impl Client {
    /// Reads the files that `settings` names; one that is missing or wrong is an error.
    pub fn new(settings: ClientSettings) -> Result<Self, SettingsError> {
        let authorizer = Authorizer::new(&settings.authorization)?;
        let built = Built::from(&settings)?;
        Ok(Self {
            settings: Arc::new(settings),
            authorizer: Arc::new(authorizer),
            current: Arc::new(Mutex::new(built)),
        })
    }

    /// Sends a request and reads the whole answer, of whatever status.
    pub async fn fetch(&self, request: Request, limits: Limits) -> Result<Response, FetchError> {
        self.stream(request, limits).await?.collect().await
    }

    /// Sends a request and gives the answer, of whatever status, piece by piece.
    pub async fn stream(&self, request: Request, limits: Limits) -> Result<Chunks, FetchError> {
        let exchange = Exchange {
            target: request.target(),
            limits,
            deadline: Instant::now() + limits.timeout,
            connect_timeout: self.settings.connect_timeout,
        };
        let answer = exchange.step(self.prepare(request).send()).await?;
        // Said before the body is read, where the server says it; the bound itself holds in any case.
        if answer.content_length() > Some(limits.max_bytes) {
            return Err(exchange.too_large());
        }
        Ok(Chunks {
            status: answer.status(),
            headers: answer.headers().clone(),
            answer,
            exchange,
            received: 0,
        })
    }

    /// Adds the headers of the settings; those of the request itself win.
    fn prepare(&self, request: Request) -> RequestBuilder {
        let mut headers = self.settings.headers.clone();
        if let Some(value) = self.authorizer.header() {
            headers.insert(header::AUTHORIZATION, value);
        }
        request.addressed(&self.client(), headers)
    }

    /// The inner client, made anew after a change of its files. While the new ones are wrong, the old client goes on:
    /// a certificate that is half written must not cut us off.
    fn client(&self) -> reqwest::Client {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = Stamps::of(self.settings.files());
        if stamps != current.stamps {
            match Built::from(&self.settings) {
                Ok(built) => *current = built,
                Err(error) => {
                    warn!(error = %Chain(&error), "kept the certificates that were read before");
                    current.stamps = stamps;
                }
            }
        }
        current.client.clone()
    }
}

impl Built {
    fn from(settings: &ClientSettings) -> Result<Self, SettingsError> {
        let stamps = Stamps::of(settings.files());
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::configuration(settings)?)
            .user_agent(concat!("gpu-autoscaler/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.connect_timeout)
            .redirect(Policy::custom(redirect))
            .referer(false);
        let builder = match settings.proxies {
            Proxies::FromEnvironment => builder,
            Proxies::Never => builder.no_proxy(),
        };
        let client = builder.build().map_err(SettingsError::Build)?;
        Ok(Self { stamps, client })
    }
}

/// Follows within the same origin alone: elsewhere nobody is entitled to our headers.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let same = attempt
        .previous()
        .first()
        .is_some_and(|first| first.origin() == attempt.url().origin());
    if !same {
        return attempt.stop();
    }
    if attempt.previous().len() > REDIRECTS {
        return attempt.error("redirected too often");
    }
    attempt.follow()
}

/// One question and its answer, on their way.
#[derive(Debug)]
struct Exchange {
    target: Target,
    limits: Limits,
    deadline: Instant,
    connect_timeout: Duration,
}

impl Exchange {
    /// Waits for one step, at most until the deadline and at most for the time that it may stand still.
    async fn step<T>(&self, step: impl Future<Output = reqwest::Result<T>>) -> Result<T, FetchError> {
        let stalled = Instant::now() + self.limits.stall_time;
        match timeout_at(self.deadline.min(stalled), step).await {
            Ok(done) => {
                done.map_err(|error| FetchError::sort(self.target.clone(), self.connect_timeout, error))
            }
            Err(_) => Err(FetchError::Timeout {
                target: self.target.clone(),
                after: if self.deadline <= stalled {
                    self.limits.timeout
                } else {
                    self.limits.stall_time
                },
            }),
        }
    }

    fn too_large(&self) -> FetchError {
        FetchError::TooLarge {
            target: self.target.clone(),
            limit: self.limits.max_bytes,
        }
    }
}

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;

//! What is asked, and how it is named in messages.

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Url};

use super::error::Target;

/// One request. Nothing of it but the method and the address without its secrets ever reaches a message.
#[derive(Clone)]
pub struct Request {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Bytes,
    path: Path,
}

/// Whether the path of the address may be printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Shown,
    Hidden,
}

impl Request {
    /// A request without a body.
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            path: Path::Shown,
        }
    }

    /// A question.
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// A message with its content type.
    pub fn post(url: Url, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, url)
            .header(
                reqwest::header::CONTENT_TYPE,
                HeaderValue::from_static(content_type),
            )
            .body(body)
    }

    /// Sets a header, in place of one of the client's settings.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Keeps the path out of messages, for addresses whose path is the secret, as those of chat webhooks.
    #[must_use]
    pub fn hide_path(mut self) -> Self {
        self.path = Path::Hidden;
        self
    }

    pub(super) fn target(&self) -> Target {
        let mut shown = self.url.origin().ascii_serialization();
        if self.path == Path::Shown {
            shown.push_str(self.url.path());
        }
        Target::new(&self.method, &shown)
    }

    /// The request as `client` sends it, with `defaults` where it says nothing of its own. A user and a password in the address
    /// are credentials where no others are given, and do not stay in the address.
    pub(super) fn addressed(self, client: &reqwest::Client, mut defaults: HeaderMap) -> RequestBuilder {
        for (name, value) in &self.headers {
            defaults.insert(name, value.clone());
        }
        let request = client.request(self.method, self.url).headers(defaults);
        if self.body.is_empty() {
            request
        } else {
            request.body(self.body)
        }
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Request({})", self.target())
    }
}

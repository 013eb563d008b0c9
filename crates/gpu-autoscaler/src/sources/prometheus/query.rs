//! What is asked, in the words of PromQL and of the HTTP API.

use std::time::Duration;

use gpu_runtime::http::client::{Request, Url};
use jiff::Timestamp;

use super::super::dialects::names;

/// Why a text is no address of a Prometheus.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no address of a Prometheus: give one such as `http://prometheus.monitoring:9090`")]
pub struct UrlError;

/// The address without `/api/v1` and what follows it.
pub(super) fn base(text: &str) -> Result<Url, UrlError> {
    let mut url: Url = text.trim().parse().map_err(|_| UrlError)?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(UrlError);
    }
    let path = url.path().trim_end_matches('/');
    let path = path
        .split_once("/api/v1")
        .map_or(path, |(before, _)| before)
        .to_owned();
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

/// One question.
#[derive(Debug, Clone)]
pub(super) struct Question {
    path: &'static str,
    pairs: Vec<(&'static str, String)>,
}

/// The newest samples, with their times.
pub(super) fn newest(lookback: Duration, matchers: &[String], timeout: Duration) -> Question {
    let selector = selector(matchers);
    Question {
        path: "api/v1/query",
        pairs: vec![
            ("query", format!("{selector}[{}]", millis(lookback))),
            ("timeout", millis(timeout)),
        ],
    }
}

/// What there was at several instants of the past.
pub(super) fn past(
    first: Timestamp,
    last: Timestamp,
    step: Duration,
    matchers: &[String],
    timeout: Duration,
) -> Question {
    let time = |at: Timestamp| {
        let millis = at.as_millisecond();
        format!("{}.{:03}", millis.div_euclid(1000), millis.rem_euclid(1000))
    };
    Question {
        path: "api/v1/query_range",
        pairs: vec![
            ("query", selector(matchers)),
            ("start", time(first)),
            ("end", time(last)),
            ("step", millis(step)),
            ("timeout", millis(timeout)),
        ],
    }
}

/// `up` tells which labels are the target's own, so that the exporter's pod is not taken for the holder of a GPU.
fn selector(matchers: &[String]) -> String {
    let mut selector = String::from("{__name__=~\"up");
    for name in names() {
        selector.push('|');
        selector.push_str(name);
    }
    selector.push('"');
    for matcher in matchers {
        selector.push(',');
        selector.push_str(matcher);
    }
    selector.push('}');
    selector
}

/// PromQL's durations are whole numbers.
fn millis(duration: Duration) -> String {
    format!("{}ms", duration.as_millis())
}

impl Question {
    /// In the body, because the query is longer than some proxies let an address be.
    pub(super) fn post(&self, base: &Url) -> Request {
        let url = self.address(base);
        let encoded = self.encoded(&url);
        Request::post(url, "application/x-www-form-urlencoded", encoded)
    }

    /// In the address, for servers behind something that lets nobody post.
    pub(super) fn get(&self, base: &Url) -> Request {
        let mut url = self.address(base);
        let encoded = self.encoded(&url);
        url.set_query(Some(&encoded));
        Request::get(url)
    }

    fn address(&self, base: &Url) -> Url {
        let mut url = base.clone();
        url.set_path(&format!("{}/{}", base.path().trim_end_matches('/'), self.path));
        url
    }

    fn encoded(&self, url: &Url) -> String {
        let mut scratch = url.clone();
        scratch.query_pairs_mut().clear().extend_pairs(&self.pairs);
        scratch.query().unwrap_or_default().to_owned()
    }
}

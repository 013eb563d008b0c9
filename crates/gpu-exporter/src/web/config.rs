//! Prometheus' web configuration: TLS, client certificates, passwords, headers and a rate, in the file format that its
//! exporters share. Whatever is not understood is refused by its name: a server that silently drops a rule about who may
//! read it is worse than one that does not start. No message repeats a value of the file, because values are secrets.

mod clients;
mod shape;
mod tls;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::settings::{FileError, duration, read_text};
pub use shape::{Shape, parse};

/// What the file asks for, ready to be used.
#[derive(Debug, Default)]
pub struct WebConfig {
    /// Absent: plain HTTP.
    pub tls: Option<Tls>,
    /// Password hashes by user; empty: everybody may read.
    pub users: BTreeMap<String, String>,
    /// Headers of every answer.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub rate: Option<Rate>,
    /// What was accepted and has no effect here, in words for the log.
    pub notes: Vec<String>,
    /// Every file that was read, so that a change of any of them is noticed.
    pub files: Vec<PathBuf>,
}

/// The server's side of TLS.
#[derive(Debug)]
pub struct Tls {
    pub server: Arc<ServerConfig>,
    /// The certificate that is shown, with those of its issuers, and its key: `fetch` knows the server by it.
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

/// So many requests at once, and one more every interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub interval: Duration,
    pub burst: u32,
}

/// Why a web configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum WebConfigError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{key}`: {problem}")]
    Value { key: &'static str, problem: String },
    #[error("`{key}`: failed to read the certificate or key: {problem}")]
    Pem { key: &'static str, problem: String },
    #[error("the certificate and its key were refused: {problem}")]
    Tls { problem: String },
}

/// A check of cost 18 takes some twenty seconds of one core, once; examples in use have it. Beyond, nobody would wait.
const HIGHEST_COST: u32 = 18;
/// More than a team has; each costs a check for a caller who guesses.
const MOST_USERS: usize = 256;

/// The headers that Prometheus' own exporters let a file set.
const HEADERS: [&str; 5] = [
    "content-security-policy",
    "strict-transport-security",
    "x-content-type-options",
    "x-frame-options",
    "x-xss-protection",
];

impl WebConfig {
    /// Reads the file and every file it names; paths in it are relative to it.
    pub fn load(path: &Path) -> Result<Self, WebConfigError> {
        let text = read_text(path)?;
        let shape = parse(&text).map_err(|problem| FileError::Invalid {
            path: path.to_owned(),
            problem,
        })?;
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut config = Self::from_shape(shape, directory)?;
        config.files.push(path.to_owned());
        Ok(config)
    }

    /// Checks what was written; `directory` is where relative paths begin.
    pub fn from_shape(shape: Shape, directory: &Path) -> Result<Self, WebConfigError> {
        let mut config = Self {
            users: users(shape.basic_auth_users.unwrap_or_default())?,
            rate: rate(shape.rate_limit.as_ref())?,
            ..Self::default()
        };
        if let Some(http) = shape.http_server_config {
            config.headers = headers(http.headers.unwrap_or_default())?;
            if http.http2 == Some(true) {
                config.note("`http2` is on, and this server speaks HTTP/1.1 alone");
            }
        }
        if let Some(section) = &shape.tls_server_config {
            let mut files = tls::Files::new(directory);
            config.tls = Some(tls::build(section, &mut files, &mut config.notes)?);
            config.files.append(&mut files.read);
        }
        Ok(config)
    }

    fn note(&mut self, words: &str) {
        self.notes.push(words.to_owned());
    }
}

fn users(written: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, WebConfigError> {
    let refused = |problem| WebConfigError::Value {
        key: "basic_auth_users",
        problem,
    };
    if written.len() > MOST_USERS {
        return Err(refused(format!("more than {MOST_USERS} users")));
    }
    for (user, hash) in &written {
        if user.contains(':') {
            return Err(refused("a user's name may not contain a colon".to_owned()));
        }
        let cost = cost(hash).ok_or_else(|| {
            refused(format!(
                "what is given for `{user}` is no bcrypt hash; make one with `htpasswd -nBC 10 {user}`"
            ))
        })?;
        if cost > HIGHEST_COST {
            return Err(refused(format!(
                "the hash of `{user}` has cost {cost}, and checking it would take too long; use {HIGHEST_COST} or less"
            )));
        }
    }
    Ok(written)
}

/// The cost of a well-formed hash. The rest of the hash is checked by using it as one.
fn cost(hash: &str) -> Option<u32> {
    hash.parse::<bcrypt::HashParts>().ok()?;
    let cost = hash.split('$').nth(2)?.parse().ok()?;
    (4..=31).contains(&cost).then_some(cost)
}

fn headers(written: BTreeMap<String, String>) -> Result<Vec<(HeaderName, HeaderValue)>, WebConfigError> {
    let refused = |problem| WebConfigError::Value {
        key: "http_server_config.headers",
        problem,
    };
    let mut headers = Vec::new();
    for (name, value) in written {
        if value.is_empty() {
            continue;
        }
        let lower = name.to_ascii_lowercase();
        if !HEADERS.contains(&lower.as_str()) {
            let all = HEADERS.join(", ");
            return Err(refused(format!(
                "the header `{name}` cannot be set; it may be one of {all}"
            )));
        }
        let parsed = (
            HeaderName::from_bytes(lower.as_bytes()),
            HeaderValue::from_str(&value),
        );
        let (Ok(name), Ok(value)) = parsed else {
            return Err(refused(format!(
                "the value of `{name}` has characters that no header may have"
            )));
        };
        headers.push((name, value));
    }
    Ok(headers)
}

fn rate(written: Option<&shape::RateLimit>) -> Result<Option<Rate>, WebConfigError> {
    let Some(written) = written else {
        return Ok(None);
    };
    let interval = written.interval.as_deref().unwrap_or("0");
    let refused = |problem: String| WebConfigError::Value {
        key: "rate_limit",
        problem,
    };
    let interval = duration::parse(interval).map_err(|error| refused(error.to_string()))?;
    let burst = written.burst.unwrap_or(0);
    // An interval of zero is how the format says that there is no limit.
    if interval.is_zero() {
        return Ok(None);
    }
    if burst == 0 {
        let problem =
            "`burst` is 0, which would refuse every request; use 1 or more, or leave `rate_limit` out";
        return Err(refused(problem.to_owned()));
    }
    Ok(Some(Rate { interval, burst }))
}

#[cfg(test)]
mod tests;

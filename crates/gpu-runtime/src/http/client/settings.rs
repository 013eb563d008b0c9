//! How a client presents itself and whom it trusts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};

/// How a client presents itself and whom it trusts.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// Whose certificates are believed.
    pub trust: Trust,
    /// Our own certificate, where the peer asks for one.
    pub certificate: Option<ClientCertificate>,
    /// Our credentials.
    pub authorization: Authorization,
    /// Sent with every request.
    pub headers: HeaderMap,
    /// For the connection alone, names and TLS included.
    pub connect_timeout: Duration,
    /// Whether a proxy may stand in between.
    pub proxies: Proxies,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            trust: Trust::System,
            certificate: None,
            authorization: Authorization::None,
            headers: HeaderMap::new(),
            // Three lost packets at the usual intervals of repetition (1, 2 and 4 s), and a little.
            connect_timeout: Duration::from_secs(10),
            proxies: Proxies::FromEnvironment,
        }
    }
}

/// Whose certificates are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The roots of this machine (or of `SSL_CERT_FILE` and `SSL_CERT_DIR`).
    System,
    /// The certificates of this file in PEM, and no others.
    CaFile(PathBuf),
    /// Every certificate: anybody on the way can read and change what is said.
    InsecureSkipVerify,
}

/// Our own certificate: chain and key, each in PEM. They may be the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate and those that lead to its root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Our credentials.
#[derive(Debug, Clone, Default)]
pub enum Authorization {
    /// None.
    #[default]
    None,
    /// A bearer token.
    Bearer(Secret),
    /// A bearer token in a file that is read again when it changes, as the tokens of service accounts do.
    BearerFile(PathBuf),
    /// A user and a password.
    Basic {
        /// The user's name.
        user: String,
        /// The user's password.
        password: Secret,
    },
}

/// Whether a proxy may stand in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxies {
    /// As `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say.
    FromEnvironment,
    /// Never: for addresses that mean this machine, as a cloud's metadata.
    Never,
}

/// A word that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `word` from being printed.
    pub fn new(word: impl Into<String>) -> Self {
        Self(word.into())
    }

    /// The word as the value of a header that is not printed either; none where it holds characters that a header cannot.
    pub fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&self.0).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The word itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Why a client cannot be made of its settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("failed to read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("`{path}` holds no {expected}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What was looked for in it.
        expected: &'static str,
    },
    /// The certificate and the key do not belong together, or cannot be used.
    #[error("the client certificate cannot be used")]
    Certificate(#[source] rustls::Error),
    /// A token or password has characters that no header can hold.
    #[error("the credentials hold characters that a header cannot")]
    Credentials,
    /// The client itself.
    #[error("failed to make the HTTP client")]
    Build(#[source] reqwest::Error),
}

impl ClientSettings {
    /// The files whose change calls for a new TLS configuration.
    pub(super) fn files(&self) -> Vec<&Path> {
        let mut files = Vec::new();
        if let Trust::CaFile(path) = &self.trust {
            files.push(path.as_path());
        }
        if let Some(certificate) = &self.certificate {
            files.extend([certificate.certificate.as_path(), certificate.key.as_path()]);
        }
        files
    }
}

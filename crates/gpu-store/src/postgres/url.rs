//! The parameters of a PostgreSQL URL, those for TLS included, in the meaning that libpq gives them.

use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::error::StoreError;

/// How far the server is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Verify {
    /// Encrypted, to whomever; as libpq does for `prefer` and `require` without a root certificate.
    #[default]
    Nothing,
    /// Signed by a root that is trusted.
    Chain,
    /// Signed, and named as it was called.
    Full,
}

/// What the URL says about TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TlsSettings {
    pub(super) verify: Verify,
    /// None takes the system's.
    pub(super) roots: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Parts {
    pub(super) config: Config,
    pub(super) tls: TlsSettings,
}

/// Reads the URL. Errors do not repeat it: it may hold a password.
pub(super) fn parse(url: &str) -> Result<Parts, StoreError> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let mut tls = TlsSettings::default();
    let mut mode = SslMode::Prefer;
    let mut rest = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match name {
            "sslmode" => (mode, tls.verify) = ssl_mode(value)?,
            "sslrootcert" if value == "system" => tls.roots = None,
            "sslrootcert" => tls.roots = Some(path(value)),
            "sslcert" => tls.certificate = Some(path(value)),
            "sslkey" => tls.key = Some(path(value)),
            _ => rest.push(pair),
        }
    }
    if tls.verify == Verify::Nothing && tls.roots.is_some() && mode == SslMode::Require {
        // As libpq does: whoever names a root wants it to be looked at.
        tls.verify = Verify::Chain;
    }
    if tls.certificate.is_some() != tls.key.is_some() {
        return Err(wrong("`sslcert` and `sslkey` come together"));
    }
    let plain = if rest.is_empty() {
        base.to_owned()
    } else {
        format!("{base}?{}", rest.join("&"))
    };
    let mut config = Config::from_str(&plain).map_err(|_| {
        wrong("check its host, port and parameters, and write special characters of the password as %XX")
    })?;
    config.ssl_mode(mode);
    Ok(Parts { config, tls })
}

fn ssl_mode(value: &str) -> Result<(SslMode, Verify), StoreError> {
    match value {
        "disable" => Ok((SslMode::Disable, Verify::Nothing)),
        "allow" | "prefer" => Ok((SslMode::Prefer, Verify::Nothing)),
        "require" => Ok((SslMode::Require, Verify::Nothing)),
        "verify-ca" => Ok((SslMode::Require, Verify::Chain)),
        "verify-full" => Ok((SslMode::Require, Verify::Full)),
        _ => Err(wrong(
            "`sslmode` is one of disable, prefer, require, verify-ca and verify-full",
        )),
    }
}

fn wrong(detail: &'static str) -> StoreError {
    StoreError::failed("read the address of the database", detail)
}

/// A path with its %XX undone.
fn path(value: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let decoded = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match decoded {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

//! The `tls_server_config` section: certificate and key, versions, suites and curves, with Go's names for them, as
//! Prometheus' exporters write them. TLS 1.2 and 1.3 alone; ring does the cryptography.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{NamedGroup, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion, version};

use super::shape::TlsServer;
use super::{Tls, WebConfigError, clients};
use crate::settings::read_text;

/// Reads the files that a section names and remembers which.
pub(super) struct Files<'a> {
    directory: &'a Path,
    pub(super) read: Vec<PathBuf>,
}

impl<'a> Files<'a> {
    pub(super) fn new(directory: &'a Path) -> Self {
        Self {
            directory,
            read: Vec::new(),
        }
    }

    /// The text given in place, or that of the file; both at once contradict each other.
    fn text(
        &mut self,
        key: &'static str,
        file: Option<&Path>,
        inline: Option<&str>,
    ) -> Result<Option<String>, WebConfigError> {
        match (file, inline) {
            (Some(_), Some(_)) => {
                let problem = "it is given both in place and as a file; keep one of them".to_owned();
                Err(WebConfigError::Value { key, problem })
            }
            (Some(file), None) => {
                let path = self.directory.join(file);
                self.read.push(path.clone());
                Ok(Some(read_text(&path)?))
            }
            (None, inline) => Ok(inline.map(str::to_owned)),
        }
    }
}

/// Makes the server's configuration.
pub(super) fn build(
    section: &TlsServer,
    files: &mut Files<'_>,
    notes: &mut Vec<String>,
) -> Result<Tls, WebConfigError> {
    let chain = files.text("cert_file", section.cert_file.as_deref(), section.cert.as_deref())?;
    let key = files.text("key_file", section.key_file.as_deref(), section.key.as_deref())?;
    let chain = certificates("cert_file", chain.as_deref())?;
    let key = private_key(key.as_deref())?;
    let authority = files.text(
        "client_ca_file",
        section.client_ca_file.as_deref(),
        section.client_ca.as_deref(),
    )?;
    let provider = Arc::new(provider(section)?);
    let policy = clients::Policy {
        kind: section.client_auth_type.as_deref().unwrap_or_default(),
        authority: authority
            .map(|text| certificates("client_ca_file", Some(&text)))
            .transpose()?,
        allowed: section.client_allowed_sans.as_deref().unwrap_or_default(),
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(section, notes)?)
        .map_err(refused)?;
    let builder = match clients::verifier(&policy, &provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut server = builder
        .with_single_cert(chain.clone(), key.clone_key())
        .map_err(refused)?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    server.ignore_client_order = section.prefer_server_cipher_suites.unwrap_or(true);
    Ok(Tls {
        server: Arc::new(server),
        chain,
        key,
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is used as a function in map_err"
)]
fn refused(error: rustls::Error) -> WebConfigError {
    WebConfigError::Tls {
        problem: error.to_string(),
    }
}

fn missing(key: &'static str) -> WebConfigError {
    WebConfigError::Value {
        key,
        problem: "it is missing; TLS needs a certificate and its key".to_owned(),
    }
}

fn certificates(
    key: &'static str,
    pem: Option<&str>,
) -> Result<Vec<CertificateDer<'static>>, WebConfigError> {
    let pem = pem.ok_or_else(|| missing(key))?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let certificates = read.map_err(|error| WebConfigError::Pem {
        key,
        problem: error.to_string(),
    })?;
    if certificates.is_empty() {
        let problem = "there is no certificate in it; it must be in PEM format".to_owned();
        return Err(WebConfigError::Pem { key, problem });
    }
    Ok(certificates)
}

fn private_key(pem: Option<&str>) -> Result<PrivateKeyDer<'static>, WebConfigError> {
    let pem = pem.ok_or_else(|| missing("key_file"))?;
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|error| WebConfigError::Pem {
        key: "key_file",
        problem: error.to_string(),
    })
}

/// The oldest and the newest version that may be spoken.
fn versions(
    section: &TlsServer,
    notes: &mut Vec<String>,
) -> Result<Vec<&'static SupportedProtocolVersion>, WebConfigError> {
    let oldest = match section.min_version.as_deref() {
        None | Some("TLS12") => 12,
        Some("TLS13") => 13,
        Some(old @ ("TLS10" | "TLS11")) => {
            notes.push(format!(
                "`min_version` is {old}, and nothing older than TLS12 is spoken here"
            ));
            12
        }
        Some(_) => return Err(unknown("min_version", "TLS12 or TLS13")),
    };
    let newest = match section.max_version.as_deref() {
        None | Some("TLS13") => 13,
        Some("TLS12") => 12,
        Some(_) => return Err(unknown("max_version", "TLS12 or TLS13")),
    };
    if oldest > newest {
        let problem = "it is newer than `max_version`".to_owned();
        return Err(WebConfigError::Value {
            key: "min_version",
            problem,
        });
    }
    let both = [(12, &version::TLS12), (13, &version::TLS13)];
    let wanted = both
        .into_iter()
        .filter(|(number, _)| (oldest..=newest).contains(number));
    Ok(wanted.map(|(_, version)| version).collect())
}

fn unknown(key: &'static str, known: &str) -> WebConfigError {
    WebConfigError::Value {
        key,
        problem: format!("this server does not know that value; use {known}"),
    }
}

fn provider(section: &TlsServer) -> Result<CryptoProvider, WebConfigError> {
    let mut provider = ring::default_provider();
    if let Some(names) = section.cipher_suites.as_deref().filter(|names| !names.is_empty()) {
        provider.cipher_suites = suites(names, &provider.cipher_suites)?;
    }
    if let Some(names) = section
        .curve_preferences
        .as_deref()
        .filter(|names| !names.is_empty())
    {
        provider.kx_groups = curves(names, &provider.kx_groups)?;
    }
    Ok(provider)
}

/// As in Go, the list chooses among the suites of TLS 1.2; those of TLS 1.3 are always on.
fn suites(
    names: &[String],
    all: &[SupportedCipherSuite],
) -> Result<Vec<SupportedCipherSuite>, WebConfigError> {
    let name_of = |suite: &SupportedCipherSuite| format!("{:?}", suite.suite()).replace("TLS13_", "TLS_");
    let known = |name: &String| all.iter().any(|suite| name_of(suite) == *name);
    if !names.iter().all(known) {
        let all: Vec<String> = all.iter().map(name_of).collect();
        return Err(unknown("cipher_suites", &all.join(", ")));
    }
    let is_newer = |suite: &&SupportedCipherSuite| suite.tls13().is_some();
    let mut chosen: Vec<SupportedCipherSuite> = all.iter().filter(is_newer).copied().collect();
    for name in names {
        let named = all.iter().find(|suite| name_of(suite) == *name);
        chosen.extend(named.filter(|suite| suite.tls13().is_none()).copied());
    }
    Ok(chosen)
}

fn curves(
    names: &[String],
    all: &[&'static dyn SupportedKxGroup],
) -> Result<Vec<&'static dyn SupportedKxGroup>, WebConfigError> {
    let known = "X25519, CurveP256 or CurveP384";
    let find = |name: &String| {
        let group = match name.as_str() {
            "X25519" => NamedGroup::X25519,
            "CurveP256" => NamedGroup::secp256r1,
            "CurveP384" => NamedGroup::secp384r1,
            _ => return Err(unknown("curve_preferences", known)),
        };
        let supported = all.iter().copied().find(|one| one.name() == group);
        supported.ok_or_else(|| unknown("curve_preferences", known))
    };
    names.iter().map(find).collect()
}

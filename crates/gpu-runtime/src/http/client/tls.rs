//! The client's side of TLS: rustls with ring, made of the settings.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::files;
use super::{ClientSettings, SettingsError, Trust};

/// What rustls needs to know.
pub(super) fn configuration(settings: &ClientSettings) -> Result<ClientConfig, SettingsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(SettingsError::Certificate)?;
    let builder = match &settings.trust {
        Trust::System => builder.with_root_certificates(system_roots()),
        Trust::CaFile(path) => builder.with_root_certificates(file_roots(path)?),
        Trust::InsecureSkipVerify => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider))),
    };
    let Some(own) = &settings.certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates(&own.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&files::read(&own.key)?).map_err(|_| SettingsError::Content {
        path: own.key.clone(),
        expected: "private key in PEM",
    })?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(SettingsError::Certificate)
}

/// The roots of the machine. There may be none, as in an image without certificates: plain HTTP then still works, and
/// HTTPS fails as not trusted.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        tracing::warn!(
            "found no trusted certificates on this machine; name a CA file, or set SSL_CERT_FILE, to ask over HTTPS"
        );
    }
    roots
}

fn file_roots(path: &Path) -> Result<RootCertStore, SettingsError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates(path)?);
    if added == 0 {
        return Err(no_certificate(path));
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
    let content = files::read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(no_certificate(path)),
    }
}

fn no_certificate(path: &Path) -> SettingsError {
    SettingsError::Content {
        path: path.to_path_buf(),
        expected: "certificate in PEM",
    }
}

/// Believes everybody, as `insecure-skip-verify` asks; the signatures of the handshake are still checked.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

//! TLS: whom we trust, who we are, and files that change while we run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::http::client::{ClientCertificate, Trust};

/// An authority that gives out certificates, with its files.
struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn sign(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// Writes a certificate for a client.
    fn client_files(&self) -> ClientCertificate {
        let (certificate, key) = self.sign("prices");
        let paths = ClientCertificate {
            certificate: self.folder.path().join("client.pem"),
            key: self.folder.path().join("client.key"),
        };
        std::fs::write(&paths.certificate, certificate.pem()).unwrap();
        std::fs::write(&paths.key, key.serialize_pem()).unwrap();
        paths
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        Arc::new(roots)
    }
}

/// Serves one word over TLS; with `clients`, only to those whom that authority knows.
async fn start_secured(authority: &Authority, clients: Option<&Authority>) -> Url {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(known) => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(known.roots(), provider)
                .build()
                .unwrap(),
        ),
    };
    let (certificate, key) = authority.sign("localhost");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = builder
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        }
    });
    format!("https://localhost:{port}/").parse().unwrap()
}

/// `hi`, or the class of the failure.
async fn ask(client: &Client, url: &Url) -> String {
    match client.fetch(Request::get(url.clone()), GENEROUS).await {
        Ok(response) => String::from_utf8(response.body.to_vec()).unwrap(),
        Err(error) => error.class().to_owned(),
    }
}

fn trusting(trust: Trust, certificate: Option<ClientCertificate>) -> Client {
    Client::new(ClientSettings {
        trust,
        certificate,
        ..local()
    })
    .unwrap()
}

#[tokio::test]
async fn only_the_named_authority_is_trusted() {
    let (ours, other) = (Authority::new(), Authority::new());
    let url = start_secured(&ours, None).await;
    assert_eq!(ask(&trusting(Trust::CaFile(ours.file()), None), &url).await, "hi");
    assert_eq!(
        ask(&trusting(Trust::CaFile(other.file()), None), &url).await,
        "tls"
    );
    assert_eq!(ask(&trusting(Trust::System, None), &url).await, "tls");
    assert_eq!(ask(&trusting(Trust::InsecureSkipVerify, None), &url).await, "hi");
}

#[tokio::test]
async fn a_client_certificate_is_shown_where_it_is_asked_for() {
    let ours = Authority::new();
    let url = start_secured(&ours, Some(&ours)).await;
    let trust = Trust::CaFile(ours.file());
    assert_eq!(ask(&trusting(trust.clone(), None), &url).await, "tls");
    assert_eq!(ask(&trusting(trust, Some(ours.client_files())), &url).await, "hi");
}

#[tokio::test]
async fn a_renewed_authority_needs_no_restart_and_a_broken_file_changes_nothing() {
    let (old, new) = (Authority::new(), Authority::new());
    let (old_url, new_url) = (start_secured(&old, None).await, start_secured(&new, None).await);
    let client = trusting(Trust::CaFile(old.file()), None);
    assert_eq!(ask(&client, &old_url).await, "hi");
    assert_eq!(ask(&client, &new_url).await, "tls");
    replace(&old.file(), "nothing of use");
    assert_eq!(ask(&client, &old_url).await, "hi");
    replace(&old.file(), &new.issuer.pem());
    assert_eq!(ask(&client, &new_url).await, "hi");
    assert_eq!(ask(&client, &old_url).await, "tls");
}

#[test]
fn files_without_certificates_or_keys_are_said() {
    let ours = Authority::new();
    let own = ours.client_files();
    std::fs::write(&own.key, "no key").unwrap();
    let settings = |trust, certificate| ClientSettings {
        trust,
        certificate,
        ..local()
    };
    let key = Client::new(settings(Trust::System, Some(own.clone()))).unwrap_err();
    assert!(
        key.to_string()
            .ends_with("client.key` holds no private key in PEM"),
        "{key}"
    );
    let no_authority = Client::new(settings(Trust::CaFile(own.key), None)).unwrap_err();
    assert!(
        no_authority.to_string().ends_with("holds no certificate in PEM"),
        "{no_authority}"
    );
}

fn replace(path: &Path, content: &str) {
    let next = path.with_extension("next");
    std::fs::write(&next, content).unwrap();
    std::fs::rename(next, path).unwrap();
}

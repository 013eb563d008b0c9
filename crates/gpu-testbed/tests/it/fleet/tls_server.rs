//! A small TLS server of the test itself, which the API server calls as it would call a webhook or an aggregated API.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use gpu_testbed::pki::Identity;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

/// Serves until it is dropped.
pub(super) struct TlsServer {
    address: SocketAddr,
    task: AbortHandle,
}

impl TlsServer {
    pub(super) async fn start(identity: &Identity, router: Router) -> anyhow::Result<Self> {
        let certificates =
            CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("a free port on loopback")?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(serve(listener, acceptor, router)).abort_handle();
        Ok(Self { address, task })
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, router: Router) {
    // The connections end with this future, so that a stopped server also stops answering on open ones.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        let service = TowerToHyperService::new(router.clone());
        connections.spawn(async move {
            // A client that does not trust us closes the connection; its own error is the test's concern.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

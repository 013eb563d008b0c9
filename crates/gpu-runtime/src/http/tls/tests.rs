//! TLS over real loopback sockets: an exchanged certificate is served at once, and a silent client delays nobody.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{TlsSlot, serve_secured};
use crate::Shutdown;
use crate::http::{Limits, Listener};

struct Certificate {
    der: CertificateDer<'static>,
    server: Arc<ServerConfig>,
}

fn certificate() -> Certificate {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let der = made.cert.der().clone();
    let server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![der.clone()], key)
        .unwrap();
    Certificate {
        der,
        server: Arc::new(server),
    }
}

async fn start(tls: TlsSlot, limits: Limits) -> SocketAddr {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), "--listen")
        .await
        .unwrap();
    let address = listener.address();
    let app = Router::new().route("/", get(async || "hello"));
    tokio::spawn(async move { serve_secured(&listener, app, &limits, &tls, &Shutdown::new()).await });
    address
}

/// Asks for `/`, trusting `trusted` alone.
async fn ask(address: SocketAddr, trusted: &Certificate) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der.clone()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TcpStream::connect(address).await?;
    let mut stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    let mut answer = Vec::new();
    // The server may end without a farewell of its own; what it said counts.
    let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut answer))
        .await
        .unwrap();
    Ok(String::from_utf8(answer).unwrap())
}

#[tokio::test]
async fn an_exchanged_certificate_is_the_next_connections() {
    let (first, second) = (certificate(), certificate());
    let slot = TlsSlot::new(Some(Arc::clone(&first.server)));
    let address = start(slot.clone(), Limits::default()).await;
    assert!(ask(address, &first).await.unwrap().ends_with("hello"));
    slot.exchange(Some(Arc::clone(&second.server)));
    assert!(ask(address, &second).await.unwrap().ends_with("hello"));
    assert!(ask(address, &first).await.is_err());
}

#[tokio::test]
async fn a_client_that_never_shakes_hands_delays_nobody_and_is_dropped() {
    let known = certificate();
    let limits = Limits {
        header_time: Duration::from_millis(150),
        ..Limits::default()
    };
    let address = start(TlsSlot::new(Some(Arc::clone(&known.server))), limits).await;
    let mut silent = TcpStream::connect(address).await.unwrap();
    assert!(ask(address, &known).await.unwrap().ends_with("hello"));
    let end = timeout(Duration::from_secs(20), silent.read(&mut [0; 1]))
        .await
        .unwrap();
    assert_eq!(end.unwrap(), 0);
}

#[tokio::test]
async fn without_a_configuration_it_speaks_plain_http() {
    let address = start(TlsSlot::default(), Limits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("hello"), "{answer}");
}

//! `fetch`: one GET from the exporter that runs on this machine, for images that have no curl. It goes by the same settings
//! as the exporter, so that it finds the port and speaks TLS where the exporter does.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gpu_runtime::Terminal;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme,
    StreamOwned,
};

use crate::settings::{Settings, read_text};
use crate::web::config::{Tls, WebConfig};

/// The exporter answers in milliseconds; whoever does not within this hangs.
const PATIENCE: Duration = Duration::from_secs(10);
/// Far above the largest page; a stranger on the port may send without end.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Prints the body; an answer that is not a success is an error with its status.
pub(super) fn fetch(
    settings: &Settings,
    path: Option<&str>,
    caller: Option<(&str, &Path)>,
) -> anyhow::Result<()> {
    let path = path.unwrap_or(&settings.metrics_path);
    let answer = get(settings, path, caller)?;
    Terminal::Plain.say(String::from_utf8_lossy(&answer.body));
    if answer.status != 200 {
        bail!("the exporter answered {} for `{path}`", answer.status);
    }
    Ok(())
}

/// An answer without its headers.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// One GET from the exporter of this machine.
pub(super) fn get(settings: &Settings, path: &str, caller: Option<(&str, &Path)>) -> anyhow::Result<Answer> {
    if !path.starts_with('/') || path.contains(|c: char| c.is_ascii_control() || c == ' ') {
        bail!("`{path}` is not a path; write one that begins with `/`, such as `/metrics`");
    }
    let web = match &settings.web_config_file {
        Some(file) => WebConfig::load(file).context("web configuration")?,
        None => WebConfig::default(),
    };
    let mut request = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\nuser-agent: gpu-exporter-fetch\r\n");
    if let Some((user, file)) = caller {
        let password = read_text(file)?;
        let pair = format!("{user}:{}", password.trim_end_matches(['\r', '\n']));
        request.push_str(&format!("authorization: Basic {}\r\n", STANDARD.encode(pair)));
    }
    request.push_str("\r\n");
    let (stream, address) = connect(settings.address)?;
    let answer = match &web.tls {
        None => converse(stream, &request),
        Some(tls) => secure(stream, address, tls).and_then(|stream| converse(stream, &request)),
    };
    let answer = answer.with_context(|| format!("failed to talk with the exporter on {address}"))?;
    parse(&answer).with_context(|| format!("what listens on {address} does not answer as an exporter does"))
}

/// All addresses includes this machine's own.
fn connect(address: SocketAddr) -> anyhow::Result<(TcpStream, SocketAddr)> {
    let hosts = if address.ip().is_unspecified() {
        vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
    } else {
        vec![address.ip()]
    };
    let mut outcome = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
    for host in &hosts {
        let target = SocketAddr::new(*host, address.port());
        outcome = TcpStream::connect_timeout(&target, PATIENCE).map(|stream| (stream, target));
        if outcome.is_ok() {
            break;
        }
    }
    let (stream, target) = outcome.with_context(|| {
        format!(
            "failed to reach an exporter on {address}; is it running, and with the same --address or --port?"
        )
    })?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok((stream, target))
}

fn converse(mut stream: impl Read + Write, request: &str) -> io::Result<Vec<u8>> {
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    match stream.take(MOST_BYTES).read_to_end(&mut answer) {
        // A server that closes without TLS' farewell; the length in the header tells whether all came.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(answer),
        Err(error) => Err(error),
        Ok(_) => Ok(answer),
    }
}

fn parse(answer: &[u8]) -> anyhow::Result<Answer> {
    let end = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .context("there is no end of the header")?;
    let header = std::str::from_utf8(&answer[..end]).context("the header is no text")?;
    let mut lines = header.lines();
    let status = lines
        .next()
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|status| status.parse().ok())
        .context("there is no status")?;
    let body = answer[end + 4..].to_vec();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.eq_ignore_ascii_case("content-length") && value.trim() != body.len().to_string() {
            bail!("the answer was cut off");
        }
    }
    Ok(Answer { status, body })
}

fn secure(
    stream: TcpStream,
    address: SocketAddr,
    own: &Tls,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = OwnServer {
        certificate: own.chain.first().cloned(),
        reached_by: if address.ip().is_loopback() {
            Reached::Loopback
        } else {
            Reached::Network
        },
        provider: Arc::clone(&provider),
    };
    // Where clients need a certificate, the exporter's own is the only one at hand; whether it will do is the exporter's
    // decision.
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
                .with_client_auth_cert(own.chain.clone(), own.key.clone_key())
        })
        .map_err(io::Error::other)?;
    let name = ServerName::IpAddress(address.ip().into());
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(connection, stream))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    Loopback,
    Network,
}

/// Knows the exporter by the very certificate in its configuration. On the loopback any certificate will do, because nobody
/// but this machine is there and the file may be newer than what the exporter has loaded.
#[derive(Debug)]
struct OwnServer {
    certificate: Option<CertificateDer<'static>>,
    reached_by: Reached,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OwnServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.reached_by == Reached::Loopback || self.certificate.as_ref() == Some(end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

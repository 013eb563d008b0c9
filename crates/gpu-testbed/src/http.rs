//! A small HTTP client for probes and questions to the parts of a bed: plain HTTP/1.1 on loopback, one request a
//! connection.

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// An answer that was read to its end.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body, with anything that is not UTF-8 replaced.
    pub body: String,
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address names no host and port.
    #[error("`{uri}` is no address of the form http://HOST:PORT/PATH")]
    Address {
        /// The address.
        uri: String,
    },
    /// Nobody accepts connections there.
    #[error("failed to connect to {authority}")]
    Connect {
        /// Host and port.
        authority: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The connection broke.
    #[error("failed to ask {authority}")]
    Exchange {
        /// Host and port.
        authority: String,
        /// What broke.
        source: hyper::Error,
    },
}

/// Asks for a page.
pub async fn get(uri: &str) -> Result<Answer, HttpError> {
    let request = Request::get(uri).body(Full::default());
    send(request.map_err(|_| HttpError::Address { uri: uri.to_owned() })?).await
}

/// Sends any request whose address names host and port.
pub async fn send(request: Request<Full<Bytes>>) -> Result<Answer, HttpError> {
    send_by(request, async |authority: String| {
        TcpStream::connect(authority).await
    })
    .await
}

/// As [`send`], over the connection that `connect` makes to the given host and port.
pub async fn send_by(
    mut request: Request<Full<Bytes>>,
    connect: impl AsyncFnOnce(String) -> std::io::Result<TcpStream>,
) -> Result<Answer, HttpError> {
    let address = || HttpError::Address {
        uri: request.uri().to_string(),
    };
    let authority = request
        .uri()
        .authority()
        .filter(|found| found.port().is_some())
        .ok_or_else(address)?;
    let authority = authority.as_str().to_owned();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path
        .parse::<Uri>()
        .expect("the path was parsed as a part of an address before");
    if let Ok(host) = authority.parse() {
        request.headers_mut().entry(http::header::HOST).or_insert(host);
    }

    let stream = connect(authority.clone())
        .await
        .map_err(|source| HttpError::Connect {
            authority: authority.clone(),
            source,
        })?;
    let exchange = |source| HttpError::Exchange {
        authority: authority.clone(),
        source,
    };
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(exchange)?;
    // Its error, if any, comes out of the request as well.
    let driver = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(exchange)?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(exchange)?.to_bytes();
    driver.abort();
    Ok(Answer {
        status,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// A probe for [`crate::Part::ready`]: success when the page answers with a status of success.
pub async fn probe(uri: &str) -> Result<(), String> {
    match get(uri).await {
        Ok(answer) if answer.status.is_success() => Ok(()),
        Ok(answer) => Err(format!("{uri} answers {}: {}", answer.status, answer.body.trim())),
        Err(error) => Err(error.to_string()),
    }
}

/// The fields of a form, encoded for an address or a body.
pub fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect();
    pairs.join("&")
}

/// Everything but letters, digits and four marks becomes a percent sign and two digits.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

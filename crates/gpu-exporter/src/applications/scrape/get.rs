//! One page over HTTP, from a server that nobody vouches for: every wait ends, every size has a limit, and what is not a page of
//! metrics is not read. Redirects are not followed, so that a pod cannot send the exporter elsewhere.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use gpu_exposition::Format;
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::super::content::MOST_BYTES;
use super::super::{Content, Refusal};
use super::target::{Host, Target, is_of_pod};
use crate::applications::Rules;

/// A pod of the same node connects in microseconds.
const CONNECT: Duration = Duration::from_secs(2);
/// For everything: a page that takes longer would be scraped too often.
const WHOLE: Duration = Duration::from_secs(5);
/// What is read of a server's head at most; pages of metrics have a few hundred bytes.
const HEAD_BYTES: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;
/// Addresses of one name that are tried.
const MOST_ADDRESSES: usize = 4;

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScrapeProblem {
    #[error("its name cannot be looked up")]
    Resolve,
    #[error(
        "its name leads to this machine or its link, where no pod is; write the address in the rule if it is meant"
    )]
    Address,
    #[error("it does not accept a connection")]
    Connect,
    #[error("it did not answer within {} seconds", WHOLE.as_secs())]
    Timeout,
    #[error("it answered with a redirect, which is not followed; name the page itself")]
    Redirect,
    #[error("it answered {0}")]
    Status(u16),
    #[error(
        "it answered something else than metrics; its Content-Type must be text/plain or application/openmetrics-text, without encoding"
    )]
    ContentType,
    #[error("it does not speak HTTP as a page of metrics does")]
    Protocol,
    #[error(transparent)]
    Refused(Refusal),
}

impl ScrapeProblem {
    /// Its class in metrics.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Address => "address",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Redirect => "redirect",
            Self::Status(_) => "status",
            Self::ContentType => "content_type",
            Self::Protocol => "protocol",
            Self::Refused(refusal) => refusal.class(),
        }
    }
}

/// Asks for a page and reads it.
pub(super) async fn get(target: &Target, rules: &Arc<Rules>) -> Result<Content, ScrapeProblem> {
    let (format, page) = timeout(WHOLE, fetch(target))
        .await
        .unwrap_or(Err(ScrapeProblem::Timeout))?;
    Content::read(&page, format, rules).map_err(ScrapeProblem::Refused)
}

async fn fetch(target: &Target) -> Result<(Format, Vec<u8>), ScrapeProblem> {
    let stream = connect(target).await?;
    let protocol = |_| ScrapeProblem::Protocol;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_BYTES)
        .max_headers(MOST_HEADERS)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(protocol)?;
    let asked = async {
        let response = sender.send_request(request(target)?).await.map_err(protocol)?;
        let format = judge(&response)?;
        let page = body(response).await?;
        Ok((format, page))
    };
    // Both in this one task: when it is dropped, so is the connection.
    tokio::pin!(connection, asked);
    tokio::select! {
        outcome = &mut asked => outcome,
        _ = &mut connection => asked.await,
    }
}

async fn connect(target: &Target) -> Result<TcpStream, ScrapeProblem> {
    let addresses: Vec<SocketAddr> = match &target.host {
        Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
        Host::Name(name) => {
            let found = look_up(name.clone(), target.port).await?;
            let of_pods = found.iter().copied().filter(|found| is_of_pod(found.ip()));
            let of_pods: Vec<SocketAddr> = of_pods.take(MOST_ADDRESSES).collect();
            if of_pods.is_empty() {
                return Err(ScrapeProblem::Address);
            }
            of_pods
        }
    };
    let connected = timeout(CONNECT, TcpStream::connect(addresses.as_slice())).await;
    connected
        .map_err(|_| ScrapeProblem::Timeout)?
        .map_err(|_| ScrapeProblem::Connect)
}

/// Looking up a name blocks a thread for as long as it likes, so that few may do it; those who wait for them run out of time.
async fn look_up(name: String, port: u16) -> Result<Vec<SocketAddr>, ScrapeProblem> {
    static LOOKUPS: Semaphore = Semaphore::const_new(2);
    let permit = LOOKUPS.acquire().await.map_err(|_| ScrapeProblem::Resolve)?;
    let found = spawn_blocking(move || {
        let _until_found = permit;
        (name.as_str(), port).to_socket_addrs().map(Vec::from_iter)
    });
    let found = found.await.map_err(|_| ScrapeProblem::Resolve)?;
    found.map_err(|_| ScrapeProblem::Resolve)
}

fn request(target: &Target) -> Result<Request<Empty<Bytes>>, ScrapeProblem> {
    let host = match &target.host {
        Host::Address(IpAddr::V6(address)) => format!("[{address}]:{}", target.port),
        Host::Address(IpAddr::V4(address)) => format!("{address}:{}", target.port),
        Host::Name(name) => format!("{name}:{}", target.port),
    };
    let accept = "text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.5";
    Request::get(&*target.path)
        .header(HOST, host)
        .header(ACCEPT, accept)
        .header(USER_AGENT, concat!("gpu-exporter/", env!("CARGO_PKG_VERSION")))
        .body(Empty::new())
        .map_err(|_| ScrapeProblem::Protocol)
}

/// The format of an answer whose body is worth reading.
fn judge(response: &Response<Incoming>) -> Result<Format, ScrapeProblem> {
    let status = response.status();
    if status.is_redirection() {
        return Err(ScrapeProblem::Redirect);
    }
    if status != StatusCode::OK {
        return Err(ScrapeProblem::Status(status.as_u16()));
    }
    format_of(response.headers()).ok_or(ScrapeProblem::ContentType)
}

/// Small servers send no type; what they send is text, or is refused by the parser.
fn format_of(headers: &HeaderMap) -> Option<Format> {
    if headers
        .get(CONTENT_ENCODING)
        .is_some_and(|packing| packing != "identity")
    {
        return None;
    }
    let Some(kind) = headers.get(CONTENT_TYPE) else {
        return Some(Format::Text);
    };
    let kind = kind.to_str().ok()?;
    let media_type = kind.split(';').next().unwrap_or_default().trim();
    let is_page = ["text/plain", "application/openmetrics-text"]
        .iter()
        .any(|known| media_type.eq_ignore_ascii_case(known));
    is_page.then(|| Format::of_content_type(kind))
}

async fn body(response: Response<Incoming>) -> Result<Vec<u8>, ScrapeProblem> {
    let collected = Limited::new(response.into_body(), MOST_BYTES).collect().await;
    let collected = collected.map_err(|error| {
        if error.is::<LengthLimitError>() {
            ScrapeProblem::Refused(Refusal::TooLarge)
        } else {
            ScrapeProblem::Protocol
        }
    })?;
    let mut page = Vec::from(collected.to_bytes());
    // The transport tells whether all came; the line feed at the end, which Prometheus does not miss, need not.
    if page.last().is_some_and(|last| *last != b'\n') {
        page.push(b'\n');
    }
    Ok(page)
}

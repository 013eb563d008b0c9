//! Against servers on loopback: our own where they behave, bare sockets where they do not.

mod credentials;
mod secured;

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::http::HeaderMap as Headers;
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{Client, ClientSettings, FetchError, Limits, Proxies, Request, Url};
use crate::http::{Limits as ServerLimits, Listener, serve};
use crate::{Chain, Shutdown};

const KILO: usize = 1024;
const GENEROUS: Limits = Limits::new(Duration::from_secs(20), 1024 * 1024);

/// The proxies of the machine that runs the tests have no part in them.
fn local() -> ClientSettings {
    ClientSettings {
        proxies: Proxies::Never,
        ..ClientSettings::default()
    }
}

fn client() -> Client {
    Client::new(local()).unwrap()
}

fn url(address: SocketAddr, rest: &str) -> Url {
    format!("http://{address}{rest}").parse().unwrap()
}

/// A server of ours with a few pages.
async fn start() -> SocketAddr {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), "--listen")
        .await
        .unwrap();
    let address = listener.address();
    let app = Router::new()
        .route("/headers", get(say_headers))
        .route(
            "/bomb",
            get(async || (gzip_header(), compressed(&vec![0; 512 * KILO]))),
        )
        .route("/text", get(async || (gzip_header(), compressed(b"hello"))))
        .route("/large", get(async || "x".repeat(2 * KILO)))
        .route(
            "/busy",
            get(async || (axum::http::StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")])),
        )
        .route("/moved", get(async || Redirect::temporary("/headers")))
        .route("/loop", get(async || Redirect::temporary("/loop")))
        .route(
            "/away",
            get(async || Redirect::temporary("http://127.0.0.2:9/headers")),
        );
    tokio::spawn(async move { serve(&listener, app, &ServerLimits::default(), &Shutdown::new()).await });
    address
}

async fn say_headers(headers: Headers) -> impl IntoResponse {
    let mut said = String::new();
    for (name, value) in &headers {
        said += &format!("{name}: {}\n", value.to_str().unwrap());
    }
    said
}

fn gzip_header() -> [(&'static str, &'static str); 1] {
    [("content-encoding", "gzip")]
}

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A socket that takes a request, says `answer`, and then closes or keeps silent.
async fn start_raw(answer: &'static [u8], then_close: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await.unwrap();
            stream.write_all(answer).await.unwrap();
            if !then_close {
                held.push(stream);
            }
        }
    });
    address
}

async fn failure(address: SocketAddr, path: &str, limits: Limits) -> FetchError {
    let outcome = client().fetch(Request::get(url(address, path)), limits).await;
    match outcome {
        Ok(response) => response.success().unwrap_err(),
        Err(error) => error,
    }
}

async fn body(address: SocketAddr, path: &str) -> String {
    let response = client().fetch(Request::get(url(address, path)), GENEROUS).await;
    String::from_utf8(response.unwrap().success().unwrap().body.to_vec()).unwrap()
}

#[tokio::test]
async fn an_answer_comes_with_status_headers_and_decompressed_body() {
    let address = start().await;
    assert_eq!(body(address, "/text").await, "hello");
    let said = body(address, "/headers").await;
    let agent = format!("user-agent: gpu-autoscaler/{}\n", env!("CARGO_PKG_VERSION"));
    assert!(said.contains(&agent), "{said}");
}

#[tokio::test]
async fn the_bound_holds_for_the_decompressed_bytes() {
    let address = start().await;
    let limits = Limits::new(GENEROUS.timeout, 64 * 1024);
    // Half a megabyte of zeros is half a kilobyte on the wire.
    assert!(compressed(&vec![0; 512 * KILO]).len() < KILO);
    assert_eq!(failure(address, "/bomb", limits).await.class(), "too_large");
    let limits = Limits::new(GENEROUS.timeout, 512 * 1024);
    let whole = client()
        .fetch(Request::get(url(address, "/bomb")), limits)
        .await
        .unwrap();
    assert_eq!(whole.body.len(), 512 * KILO);
}

#[tokio::test]
async fn an_answer_that_announces_too_much_is_not_read() {
    let address = start().await;
    let error = failure(address, "/large", Limits::new(GENEROUS.timeout, 1024)).await;
    assert_eq!(error.class(), "too_large");
    assert!(
        error
            .to_string()
            .ends_with("/large answers with more than 1024 bytes")
    );
}

#[tokio::test]
async fn a_stream_gives_all_pieces_and_keeps_the_bound() {
    let address = start().await;
    let request = Request::get(url(address, "/bomb"));
    let mut chunks = client().stream(request.clone(), GENEROUS).await.unwrap();
    let mut sum = 0;
    while let Some(chunk) = chunks.next().await.unwrap() {
        sum += chunk.len();
    }
    assert_eq!(sum, 512 * KILO);
    let mut chunks = client()
        .stream(request, Limits::new(GENEROUS.timeout, 100_000))
        .await
        .unwrap();
    let error = loop {
        match chunks.next().await {
            Ok(chunk) => assert!(chunk.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.class(), "too_large");
}

#[tokio::test]
async fn a_status_says_when_to_come_back() {
    let address = start().await;
    match failure(address, "/busy", GENEROUS).await {
        FetchError::Status {
            status, retry_after, ..
        } => {
            assert_eq!(
                (status.as_u16(), retry_after),
                (429, Some(Duration::from_secs(7)))
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn redirects_stay_with_the_same_server() {
    let address = start().await;
    assert!(body(address, "/moved").await.contains("user-agent"));
    assert_eq!(failure(address, "/loop", GENEROUS).await.class(), "other");
    let away = failure(address, "/away", GENEROUS).await;
    assert_eq!(away.status_code().map(|status| status.as_u16()), Some(307));
}

#[tokio::test]
async fn nobody_there_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_eq!(failure(address, "/", GENEROUS).await.class(), "refused");
    let unknown = Request::get("http://no-such-name.invalid/".parse().unwrap());
    assert_eq!(
        client().fetch(unknown, GENEROUS).await.unwrap_err().class(),
        "refused"
    );
}

#[tokio::test]
async fn silence_is_a_timeout_before_and_within_the_answer() {
    let brief = Limits {
        stall_time: Duration::from_millis(200),
        ..GENEROUS
    };
    let silent = start_raw(b"", false).await;
    assert_eq!(failure(silent, "/", brief).await.class(), "timeout");
    let halfway = start_raw(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", false).await;
    assert_eq!(failure(halfway, "/", brief).await.class(), "timeout");
    let whole = Limits::new(Duration::from_millis(200), 1024);
    assert_eq!(failure(halfway, "/", whole).await.class(), "timeout");
}

#[tokio::test]
async fn a_truncated_answer_is_an_error_and_never_an_answer() {
    let cut = start_raw(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", true).await;
    assert_eq!(failure(cut, "/", GENEROUS).await.class(), "other");
    let nonsense = start_raw(b"SSH-2.0-OpenSSH_9.2\r\n", true).await;
    assert_eq!(failure(nonsense, "/", GENEROUS).await.class(), "other");
}

#[tokio::test]
async fn no_message_holds_a_secret() {
    let address = start().await;
    let secret = format!("http://joe:hunter2@{address}/busy?key=hunter2&x=1#hunter2");
    let request = Request::get(secret.parse().unwrap());
    assert!(!format!("{request:?}").contains("hunter2"));
    let answered = client().fetch(request, GENEROUS).await.unwrap();
    let said = format!(
        "{:?} {}",
        answered.clone(),
        Chain(&answered.success().unwrap_err())
    );
    assert!(!said.contains("hunter2"), "{said}");
    let nobody = "http://joe:hunter2@127.0.0.1:1/a?key=hunter2".parse().unwrap();
    let error = client().fetch(Request::get(nobody), GENEROUS).await.unwrap_err();
    let said = format!("{error:?} {}", Chain(&error));
    assert!(
        !said.contains("hunter2") && said.contains("127.0.0.1:1/a"),
        "{said}"
    );
    let hook = "http://127.0.0.1:1/services/hunter2".parse().unwrap();
    let error = client()
        .fetch(Request::get(hook).hide_path(), GENEROUS)
        .await
        .unwrap_err();
    let said = format!("{error:?} {}", Chain(&error));
    assert!(
        !said.contains("hunter2") && said.contains("127.0.0.1:1"),
        "{said}"
    );
}

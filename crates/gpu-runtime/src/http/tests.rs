//! The server over real loopback sockets: limits, refusals and the end.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::{BindError, Limits, Listener, serve};
use crate::Shutdown;

struct Server {
    address: SocketAddr,
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

const LOOPBACK: &str = "127.0.0.1:0";

async fn start(limits: Limits) -> Server {
    let app = Router::new()
        .route("/", get(async || "hello"))
        .route("/slow", get(async || sleep(Duration::from_secs(3600)).await))
        .route("/panic", get(async || -> &str { panic!("poison") }))
        .route("/large", get(async || vec![b'x'; 64 * 1024 * 1024]))
        .route("/echo", post(async |body: Bytes| body));
    let listener = Listener::bind(LOOPBACK.parse().unwrap(), "--listen")
        .await
        .unwrap();
    let (address, shutdown) = (listener.address(), Shutdown::new());
    let stop = shutdown.clone();
    let task = tokio::spawn(async move { serve(&listener, app, &limits, &stop).await });
    Server {
        address,
        shutdown,
        task,
    }
}

/// Sends `request` and returns everything until the server closes the connection.
async fn ask(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(Duration::from_secs(20), stream.read_to_end(&mut answer))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(answer).unwrap()
}

fn quick() -> Limits {
    let short = Duration::from_millis(150);
    Limits {
        header_time: short,
        request_time: short,
        stall_time: short,
        drain_time: short,
        ..Limits::default()
    }
}

async fn check(limits: Limits, request: &str, status: &str, body: &str) {
    let server = start(limits).await;
    let answer = ask(&server, request).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
    assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
}

#[tokio::test]
async fn an_ordinary_request_is_answered() {
    check(
        quick(),
        "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        "200 OK",
        "hello",
    )
    .await;
}

#[tokio::test]
async fn a_slow_answer_is_given_up() {
    let body = r#"{"error":"service unavailable","details":"no answer was ready within 0.15 seconds; try again later"}"#;
    let request = "GET /slow HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    check(quick(), request, "503 Service Unavailable", body).await;
}

#[tokio::test]
async fn a_panic_answers_500() {
    let body = r#"{"error":"internal server error","details":"the request hit a defect of the program; its log has the details"}"#;
    let request = "GET /panic HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    check(quick(), request, "500 Internal Server Error", body).await;
}

#[tokio::test]
async fn a_body_that_says_it_is_too_long_is_refused_unread() {
    let limits = Limits {
        body_bytes: 4,
        ..quick()
    };
    let body =
        r#"{"error":"payload too large","details":"the body is longer than the 4 bytes that are accepted"}"#;
    let request = "POST /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 5\r\n\r\n";
    check(limits, request, "413 Payload Too Large", body).await;
}

#[tokio::test]
async fn a_chunked_body_is_cut_at_the_limit() {
    let server = start(Limits {
        body_bytes: 4,
        ..quick()
    })
    .await;
    let request = "POST /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n\
                   5\r\nhello\r\n0\r\n\r\n";
    let answer = ask(&server, request).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn more_requests_than_allowed_are_told_to_wait() {
    let server = start(Limits {
        requests: 0,
        ..quick()
    })
    .await;
    let answer = ask(&server, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
}

#[tokio::test]
async fn a_client_that_dribbles_its_header_loses_the_connection() {
    let server = start(Limits {
        connections: 1,
        ..quick()
    })
    .await;
    let mut loris = TcpStream::connect(server.address).await.unwrap();
    loris.write_all(b"GET / HT").await.unwrap();
    // The only connection is taken; an honest client is served as soon as the header time is over.
    let answer = ask(&server, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn a_client_that_never_reads_loses_the_connection() {
    let server = start(Limits {
        connections: 1,
        ..quick()
    })
    .await;
    let mut deaf = TcpStream::connect(server.address).await.unwrap();
    deaf.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let answer = ask(&server, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn the_shutdown_closes_idle_connections_at_once_and_busy_ones_at_the_deadline() {
    let limits = Limits {
        drain_time: Duration::from_millis(150),
        ..Limits::default()
    };
    let server = start(limits).await;
    let mut idle = TcpStream::connect(server.address).await.unwrap();
    idle.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let mut first = [0; 8];
    idle.read_exact(&mut first).await.unwrap();
    let mut busy = TcpStream::connect(server.address).await.unwrap();
    busy.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let begun = Instant::now();
    server.shutdown.trigger();
    timeout(Duration::from_secs(5), server.task)
        .await
        .unwrap()
        .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    assert!(String::from_utf8(rest).unwrap().ends_with("hello"));
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_way_out() {
    let first = Listener::bind(LOOPBACK.parse().unwrap(), "--listen")
        .await
        .unwrap();
    let refused = Listener::bind(first.address(), "--listen").await.unwrap_err();
    assert!(matches!(refused, BindError::Taken { .. }), "{refused:?}");
    let words = format!(
        "failed to listen on {}: another program holds this port; stop that program, or choose another port \
         with --listen (port 0 takes any free one)",
        first.address()
    );
    assert_eq!(refused.to_string(), words);
}

#[tokio::test]
async fn an_address_of_another_machine_is_named_as_such() {
    // 192.0.2.0/24 is set aside for documentation: no machine has it.
    let refused = Listener::bind("192.0.2.1:0".parse().unwrap(), "--listen")
        .await
        .unwrap_err();
    assert!(matches!(refused, BindError::NotLocal { .. }), "{refused:?}");
}

//! Clients that mean harm or simply come all at once: the page is served throughout, and nothing grows.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::exporter::{Answer, DEADLINE, Exporter};

/// What the allocator may keep after a storm.
const SLACK: u64 = 8 * 1024 * 1024;

#[track_caller]
fn check_alive(exporter: &mut Exporter, resident_before: u64) {
    assert!(exporter.is_running(), "{}", exporter.log());
    assert_eq!(exporter.get("/metrics").status, 200);
    assert_eq!(exporter.get("/healthz").status, 200);
    let grown = exporter.resident().saturating_sub(resident_before);
    assert!(grown < SLACK, "resident memory grew by {grown} bytes");
}

async fn scrape(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request = b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

#[test]
fn a_thousand_scrapes_at_once_are_all_answered() {
    let mut exporter = Exporter::start(&[]);
    assert_eq!(exporter.get("/metrics").status, 200);
    let before = exporter.resident();
    let address = exporter.address;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let answers = runtime.block_on(async {
        let scrapes: Vec<_> = (0..1000).map(|_| tokio::spawn(scrape(address))).collect();
        let mut answers = Vec::new();
        for scrape in scrapes {
            answers.push(
                tokio::time::timeout(DEADLINE, scrape)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap(),
            );
        }
        answers
    });
    let statuses: Vec<u16> = answers
        .iter()
        .map(|answer| Answer::parse(answer).status)
        .collect();
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    check_alive(&mut exporter, before);
}

#[test]
fn ten_megabytes_of_header_are_refused_and_not_kept() {
    let mut exporter = Exporter::start(&[]);
    assert_eq!(exporter.get("/metrics").status, 200);
    let before = exporter.resident();
    let mut stream = TcpStream::connect(exporter.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let heard = std::thread::spawn(move || {
        let mut answer = Vec::new();
        // The connection may be reset under what is still being sent; what was heard before counts.
        let _ = reader.read_to_end(&mut answer);
        answer
    });
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\nx-long: ")
        .unwrap();
    let piece = [b'x'; 64 * 1024];
    for _ in 0..160 {
        if stream.write_all(&piece).is_err() {
            break;
        }
    }
    let answer = heard.join().unwrap();
    if !answer.is_empty() {
        assert_eq!(Answer::parse(&answer).status, 431);
    }
    check_alive(&mut exporter, before);
}

#[test]
fn a_header_just_beyond_the_limit_is_told_so() {
    let exporter = Exporter::start(&[]);
    let long = "x".repeat(20 * 1024);
    let answer = exporter.ask("GET", "/metrics", &[("x-long", &long)]);
    assert_eq!(answer.status, 431);
}

#[test]
fn a_client_that_asks_without_end_and_never_reads_delays_nobody() {
    let mut exporter = Exporter::start(&[]);
    assert_eq!(exporter.get("/metrics").status, 200);
    let before = exporter.resident();
    let mut deaf = TcpStream::connect(exporter.address).unwrap();
    deaf.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let requests = "GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1000);
    // Ends when the exporter takes no more, because nobody takes its answers.
    let mut sent = 0;
    while sent < 10_000 && deaf.write_all(requests.as_bytes()).is_ok() {
        sent += 1;
    }
    assert!(
        sent < 10_000,
        "the exporter took ten million requests of a client that reads nothing"
    );
    check_alive(&mut exporter, before);
}

#[test]
fn a_full_table_of_file_descriptors_is_survived() {
    let mut command = Command::new("/bin/sh");
    command.env_clear().args([
        "-c",
        "ulimit -n 48; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_gpu-exporter"),
        "--address",
        "127.0.0.1:0",
        "--sample-interval",
        "100ms",
    ]);
    let mut exporter = Exporter::spawn(command);
    assert_eq!(exporter.get("/metrics").status, 200);
    let before = exporter.resident();
    let crowd: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(exporter.address).unwrap())
        .collect();
    exporter.wait_for_log("failed to accept a connection");
    drop(crowd);
    exporter.wait_for_page("/metrics", |answer| answer.status == 200);
    check_alive(&mut exporter, before);
}

//! What a round over a large fleet costs: a child process serves one page of gpu-exporter for each node, each on an address of its
//! own, and this process scrapes all of them and says how much processor time and memory that took.
//!
//! `cargo bench -p gpu-autoscaler --bench scrape -- [NODES] [ROUNDS]`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a measurement: it starts a process, reads the clock and files of the kernel"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use gpu_autoscaler::sources::direct::DirectSettings;
use gpu_autoscaler::sources::{MetricsSource as _, standalone};
use gpu_runtime::Shutdown;
use gpu_runtime::http::{Limits, Listener, serve};
use jiff::Timestamp;

/// The default page of a node with eight H100, as the exporter's own tests hold it.
const PAGE: &str = include_str!("../../gpu-exporter/tests/golden/8xh100.prom");
const GPUS: usize = 8;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if words.first().is_some_and(|word| word == "serve") {
        runtime.block_on(serve_all(number(1).unwrap()));
        return;
    }
    runtime.block_on(measure(number(0).unwrap_or(1000), number(1).unwrap_or(5)));
}

/// Node `number` on the loopback network: 127.1.0.0 and on.
fn address(number: u32, port: u16) -> SocketAddr {
    let first = u32::from(Ipv4Addr::new(127, 1, 0, 0));
    SocketAddr::from((Ipv4Addr::from(first + number), port))
}

fn page(number: u32) -> Vec<u8> {
    let page = PAGE
        .replace("h100-node-1", &format!("h100-node-{number:04}"))
        .replace("GPU-0b8a5f1c", &format!("GPU-{number:08x}"))
        .replace("llm-", &format!("llm-{number}-"));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(page.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Serves the pages until the parent goes away.
async fn serve_all(nodes: u32) {
    let first = Listener::bind(address(0, 0), "--listen").await.unwrap();
    let port = first.address().port();
    let mut listeners = vec![first];
    for number in 1..nodes {
        listeners.push(Listener::bind(address(number, port), "--listen").await.unwrap());
    }
    for (number, listener) in listeners.into_iter().enumerate() {
        let page = Bytes::from(page(u32::try_from(number).unwrap()));
        // Exporters close idle connections before the next round comes, so every round connects anew.
        let answer = async move || {
            let headers = [
                (CONTENT_TYPE, "text/plain; version=0.0.4"),
                (CONTENT_ENCODING, "gzip"),
                (CONNECTION, "close"),
            ];
            (headers, page.clone())
        };
        let app = Router::new().route("/metrics", get(answer));
        tokio::spawn(async move { serve(&listener, app, &Limits::default(), &Shutdown::new()).await });
    }
    println!("{port}");
    // The parent's end of the pipe closes with the parent.
    let _ = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await;
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn measure(nodes: u32, rounds: u32) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["serve", &nodes.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut server = Server(child);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let port: u16 = line.trim().parse().unwrap();
    let targets: Vec<String> = (0..nodes)
        .map(|number| address(number, port).to_string())
        .collect();
    let mut source = standalone(&targets.join(","), DirectSettings::default()).unwrap();
    println!("{nodes} nodes, {} bytes a page", PAGE.len());
    for round in 1..=rounds {
        let (began, used) = (Instant::now(), processor_seconds());
        let harvest = source.collect(Timestamp::now()).await;
        let failed = harvest
            .targets
            .iter()
            .filter(|target| target.failure.is_some())
            .count();
        assert_eq!(
            failed,
            0,
            "{:?}",
            harvest.targets.iter().find(|target| target.failure.is_some())
        );
        assert_eq!(harvest.gpus.len(), usize::try_from(nodes).unwrap() * GPUS);
        println!(
            "round {round}: {} GPUs, {:.2} s of processor time, {:.2} s, {} MiB resident, {} MiB at most",
            harvest.gpus.len(),
            processor_seconds() - used,
            began.elapsed().as_secs_f64(),
            status_mib("VmRSS:"),
            status_mib("VmHWM:"),
        );
    }
}

/// User and system time of this process.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after.split_whitespace().collect();
    // Fields 14 and 15 of the file, in hundredths of a second.
    let ticks: u32 = fields[11].parse::<u32>().unwrap() + fields[12].parse::<u32>().unwrap();
    f64::from(ticks) / 100.0
}

fn status_mib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

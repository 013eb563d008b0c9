//! Metrics sources against exporters on loopback, a real Prometheus and a real API server.

mod direct;
mod endpoints;
mod hostile;
mod prometheus;
mod query_api;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use axum::Router;
use axum::routing::get;
use gpu_model::{GpuReport, Harvest, TargetReport};
use gpu_runtime::Shutdown;
use gpu_runtime::http::{Limits, Listener, serve};

/// A page that gpu-exporter's own tests hold it to.
fn golden(name: &str) -> String {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu-exporter/tests/golden");
    std::fs::read_to_string(pages.join(name)).unwrap()
}

/// Serves a page until the end of the test.
async fn exporter(page: impl Into<String>) -> SocketAddr {
    let page = page.into();
    let app = Router::new().route("/metrics", get(async move || page.clone()));
    serve_app(app).await
}

async fn serve_app(app: Router) -> SocketAddr {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), "--listen")
        .await
        .unwrap();
    let address = listener.address();
    tokio::spawn(async move { serve(&listener, app, &Limits::default(), &Shutdown::new()).await });
    address
}

/// What two sources have to agree on: everything but the time.
fn timeless(gpus: &[GpuReport]) -> String {
    let mut text = String::new();
    for gpu in gpus {
        let (node, device, sample, parts) = (&gpu.node, &gpu.device, &gpu.sample, &gpu.parts);
        writeln!(text, "{node} {device:?} {sample:?} {parts:?}").unwrap();
    }
    text
}

#[track_caller]
fn target(harvest: &Harvest, name: impl ToString) -> &TargetReport {
    let name = name.to_string();
    let found = harvest.targets.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target {name} in {:?}", harvest.targets))
}

#[track_caller]
fn class(harvest: &Harvest, name: impl ToString) -> Option<&'static str> {
    target(harvest, name)
        .failure
        .as_ref()
        .map(|failure| failure.class)
}

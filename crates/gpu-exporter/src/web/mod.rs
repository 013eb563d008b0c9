//! What is served: the metrics page, the JSON answer, the probes and an index. Everything is made from the newest snapshot;
//! no request touches a driver, the kubelet or a file, and no answer names a path of this machine or a secret.

pub mod config;
mod door;
mod encoding;
mod metrics;
mod passwords;
mod probes;

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use gpu_runtime::http::Refusal;
use serde::Deserialize;

use crate::api::{History, Window, gpu_metrics};
use crate::page::{PageCache, index_page};
use crate::snapshot::NodeSnapshot;
pub use door::Door;
pub use probes::{Pulse, first_collection};

/// Paths that are taken; the metrics page has to be elsewhere.
pub const OWN_PATHS: [&str; 3] = [GPU_METRICS, HEALTH, READY];

const GPU_METRICS: &str = "/api/v1/monitoring/gpu-metrics";
const HEALTH: &str = "/healthz";
const READY: &str = "/readyz";

/// Gives the newest snapshot.
pub type Newest = Arc<dyn Fn() -> Arc<NodeSnapshot> + Send + Sync>;

/// What the answers are made from.
#[derive(Clone)]
pub struct Site {
    pub newest: Newest,
    pub pages: Arc<PageCache>,
    pub history: Arc<Mutex<History>>,
    pub pulse: Arc<Pulse>,
    pub door: Arc<Door>,
    pub metrics_path: Arc<str>,
}

impl Site {
    /// Every route. Passwords and rates are asked of all but the probes: the kubelet has no password to show, and what they
    /// tell is whether the exporter works. A demand for client certificates holds for the whole port, probes included; the
    /// kubelet then has to look at the port alone.
    pub fn router(self) -> Router {
        let path = Arc::clone(&self.metrics_path);
        let mut router = Router::new()
            .route(&path, get(metrics::answer))
            .route(GPU_METRICS, get(answer_json));
        if &*path != "/" {
            router = router.route("/", get(index));
        }
        let door = Arc::clone(&self.door);
        router
            .fallback(not_found)
            .method_not_allowed_fallback(wrong_method)
            .layer(from_fn_with_state(Arc::clone(&door), door::admit))
            .route(HEALTH, get(probes::health))
            .route(READY, get(probes::ready))
            .method_not_allowed_fallback(wrong_method)
            .layer(from_fn_with_state(door, door::add_headers))
            .with_state(self)
    }
}

#[derive(Deserialize)]
struct JsonQuery {
    window: Option<String>,
}

async fn answer_json(State(site): State<Site>, Query(query): Query<JsonQuery>) -> Response {
    let window = match query.window.as_deref().map(Window::parse).transpose() {
        Ok(window) => window,
        Err(error) => return Refusal::new(StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let snapshot = (site.newest)();
    let history = site.history.lock().unwrap_or_else(PoisonError::into_inner);
    let body = gpu_metrics(&snapshot, window.map(|window| (&*history, window))).to_json();
    drop(history);
    match body {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => {
            tracing::error!(%error, "failed to write the JSON answer");
            let details = "the answer could not be written; the exporter's log says why";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, details).into_response()
        }
    }
}

async fn index(State(site): State<Site>) -> Html<String> {
    Html(index_page(&(site.newest)(), &site.metrics_path))
}

async fn not_found() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "there is no such page; `/` lists those there are",
    )
}

async fn wrong_method() -> Refusal {
    let details = "pages are only read here: use GET or HEAD";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, details)
}

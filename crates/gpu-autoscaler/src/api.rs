//! The routes that every server of this program has: metrics, JSON, probes and the page.

mod cost;
mod documents;
mod health;
mod openapi;

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gpu_exposition::Format;
use gpu_model::Source;
use gpu_runtime::http::Refusal;
use gpu_runtime::{Chain, Clock};
use tracing::error;

pub(crate) use health::Health;

use crate::control::Control;
use crate::decisions::DecisionLog;
use crate::own_metrics::OwnMetrics;
use crate::pages::{Pages, Snapshot};
use crate::ui;

/// What the routes read.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) pages: Arc<Pages>,
    pub(crate) health: Arc<Health>,
    pub(crate) control: Arc<Control>,
    pub(crate) decisions: Arc<DecisionLog>,
    pub(crate) metrics: Metrics,
    pub(crate) clock: Arc<dyn Clock>,
}

/// What `/metrics` tells.
#[derive(Clone)]
pub(crate) enum Metrics {
    /// Every GPU, in place of the exporters that a simulated fleet does not have.
    Fleet,
    /// The control plane itself; exporters tell of GPUs.
    Own(Arc<OwnMetrics>),
}

/// All routes, with JSON refusals for what is not there.
pub(crate) fn router(served: Served) -> Router {
    let source = match served.metrics {
        Metrics::Fleet => Source::Simulated,
        Metrics::Own(_) => Source::Measured,
    };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/api/v1/monitoring/gpu-metrics", get(gpu_metrics))
        .route("/api/v1/cluster", get(cluster))
        .route("/api/v1/status", get(documents::status))
        .route("/api/v1/waste", get(documents::waste))
        .route("/api/v1/explain", get(documents::explain))
        .route("/api/v1/decisions", get(documents::decisions))
        .route("/api/v1/prices", get(documents::prices))
        .route("/api/v1/cost", get(cost::cost))
        .route("/api/v1/openapi.json", get(openapi::document))
        .route("/livez", get(health::livez))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/readyz/serving", get(health::serving))
        .merge(ui::routes(source))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(served)
}

async fn metrics(State(served): State<Served>, headers: HeaderMap) -> Result<Response, Refusal> {
    let accept = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let format = Format::negotiate(accept);
    let page = match &served.metrics {
        Metrics::Fleet => newest(&served)?.metrics(format).await.map_err(defect)?,
        Metrics::Own(own) => {
            let snapshot = served.pages.current();
            let round = snapshot.as_ref().map(|snapshot| snapshot.round().as_ref());
            let page = own.page(round, &served.control, served.clock.now(), format);
            page.map_err(|error| defect(error.into()))?.into()
        }
    };
    let headers = [
        (CONTENT_TYPE, format.content_type()),
        (CACHE_CONTROL, "no-store"),
        (VARY, "accept"),
    ];
    Ok((headers, page).into_response())
}

async fn gpu_metrics(State(served): State<Served>, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    if query.is_some_and(|query| {
        query
            .split('&')
            .any(|pair| pair.split('=').next() == Some("window"))
    }) {
        let details = "this server keeps no history of the fleet; leave `window` out for the newest values";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, details));
    }
    newest(&served)?.gpu_metrics().await.map(json).map_err(defect)
}

async fn cluster(State(served): State<Served>) -> Result<Response, Refusal> {
    newest(&served)?.cluster().await.map(json).map_err(defect)
}

fn newest(served: &Served) -> Result<Arc<Snapshot>, Refusal> {
    let details = "the first look at the fleet is not done; try again in a second";
    served
        .pages
        .current()
        .ok_or_else(|| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, details))
}

fn json(document: impl IntoResponse) -> Response {
    (
        [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")],
        document,
    )
        .into_response()
}

fn defect(error: anyhow::Error) -> Refusal {
    error!(error = %Chain(error.as_ref()), "failed to render a document");
    let details = "the document could not be rendered; the program's log says why";
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, details)
}

async fn not_found(uri: Uri) -> Refusal {
    let details = format!(
        "there is nothing at {}; try /, /metrics, /api/v1/openapi.json, /api/v1/waste, /api/v1/cluster or /healthz",
        uri.path()
    );
    Refusal::new(StatusCode::NOT_FOUND, details)
}

async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    let details = format!("{} answers GET and HEAD, not {method}", uri.path());
    (
        [("allow", "GET, HEAD")],
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, details),
    )
        .into_response()
}

//! The route of the ledger's answers.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse as _, Response};
use gpu_runtime::Chain;
use gpu_runtime::http::Refusal;
use tracing::warn;

use super::Served;
use crate::wire::cost::{CostQuestion, CostRefusal, cost_document};

pub(super) async fn cost(
    State(served): State<Served>,
    question: Result<Query<CostQuestion>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(question) = question.map_err(|error| {
        let known = "from, to, last, by, namespace, team, step and limit";
        let details = format!(
            "the query cannot be read ({}); it takes {known}",
            error.body_text()
        );
        Refusal::new(StatusCode::BAD_REQUEST, details)
    })?;
    let Some(store) = served.decisions.store() else {
        let details = "this server keeps no ledger: a simulated fleet has no bill";
        return Err(Refusal::new(StatusCode::NOT_FOUND, details));
    };
    let now = served.clock.now();
    let answer = cost_document(store.clone(), served.decisions.cluster(), &question, now).await;
    match answer {
        Ok(document) => Ok(([(CACHE_CONTROL, "no-store")], Json(document)).into_response()),
        Err(CostRefusal::Question(details)) => Err(Refusal::new(StatusCode::BAD_REQUEST, details)),
        Err(CostRefusal::Store(error)) => {
            warn!(error = %Chain(&error), "failed to read costs");
            let details = "the store does not answer; /readyz says more";
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, details))
        }
    }
}

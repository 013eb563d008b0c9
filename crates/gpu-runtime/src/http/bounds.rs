//! The bounds of a single request: how many at once, how long, how large, and what a panic does.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use http_body_util::Limited;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{error, warn};

use super::{Limits, Refusal};
use crate::tasks::panic_words;

/// Puts the bounds around every route and the fallback of `app`.
pub(super) fn apply(app: Router, limits: &Limits) -> Router {
    let gate = Gate {
        slots: Arc::new(Semaphore::new(limits.requests)),
        limits: Arc::new(limits.clone()),
    };
    app.layer(from_fn_with_state(gate, bound))
}

#[derive(Clone)]
struct Gate {
    slots: Arc<Semaphore>,
    limits: Arc<Limits>,
}

async fn bound(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let Ok(_slot) = gate.slots.try_acquire() else {
        return busy(gate.limits.requests);
    };
    let most = gate.limits.body_bytes;
    if request.body().size_hint().lower() > most as u64 {
        let details = format!("the body is longer than the {most} bytes that are accepted");
        return Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, details).into_response();
    }
    let path = request.uri().path().to_owned();
    let request = request.map(|body| Body::new(Limited::new(body, most)));
    // A panic unwinds out of one request; the state that requests share is read-only or locks against poison.
    match timeout(
        gate.limits.request_time,
        AssertUnwindSafe(next.run(request)).catch_unwind(),
    )
    .await
    {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => {
            error!(path, panic = panic_words(panic.as_ref()), "a request panicked");
            let details = "the request hit a defect of the program; its log has the details";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, details).into_response()
        }
        Err(_) => {
            let seconds = gate.limits.request_time.as_secs_f64();
            warn!(path, seconds, "gave up a request that took too long");
            let details = format!("no answer was ready within {seconds} seconds; try again later");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, details).into_response()
        }
    }
}

fn busy(requests: usize) -> Response {
    let details = format!("{requests} requests are being answered already; try again in a second");
    let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, details);
    ([("retry-after", "1")], refusal).into_response()
}

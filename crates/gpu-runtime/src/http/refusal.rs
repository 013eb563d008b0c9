//! The one shape of an answer that says no: `{"error", "details"}`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// An error answer. `error` is a fixed phrase that programs may compare, `details` are words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    status: StatusCode,
    details: String,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    details: &'a str,
}

impl Refusal {
    /// Refuses with `status` and says why.
    pub fn new(status: StatusCode, details: impl Into<String>) -> Self {
        Self {
            status,
            details: details.into(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let phrase = self
            .status
            .canonical_reason()
            .unwrap_or("error")
            .to_ascii_lowercase();
        (
            self.status,
            Json(Body {
                error: &phrase,
                details: &self.details,
            }),
        )
            .into_response()
    }
}

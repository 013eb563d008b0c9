//! The metrics page: the format by `Accept`, packed by `Accept-Encoding`, the subset by `?families=`. The bytes are those of
//! the kept page, shared and not copied, so that a scrape allocates the same few bytes whatever the number of series.

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use gpu_exposition::Format;
use gpu_runtime::http::Refusal;
use serde::Deserialize;

use super::Site;
use super::encoding;
use crate::page::{Encoding, PageRequest, Subset};

#[derive(Deserialize)]
pub(super) struct MetricsQuery {
    families: Option<String>,
}

pub(super) async fn answer(
    State(site): State<Site>,
    Query(query): Query<MetricsQuery>,
    headers: HeaderMap,
) -> Response {
    let Some(subset) = Subset::parse(query.families.as_deref().unwrap_or_default()) else {
        let details = "`families` may be `core` or `all`";
        return Refusal::new(StatusCode::BAD_REQUEST, details).into_response();
    };
    let request = PageRequest {
        format: Format::negotiate(&all(&headers, header::ACCEPT)),
        subset,
        encoding: encoding::negotiate(&all(&headers, header::ACCEPT_ENCODING)),
    };
    match site.pages.page(&(site.newest)(), request) {
        Ok(page) => {
            let mut response = Response::new(Body::from(Bytes::from_owner(page)));
            let headers = response.headers_mut();
            let format = HeaderValue::from_static(request.format.content_type());
            headers.insert(header::CONTENT_TYPE, format);
            headers.insert(header::VARY, HeaderValue::from_static("accept, accept-encoding"));
            if request.encoding == Encoding::Gzip {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            response
        }
        Err(error) => {
            tracing::error!(%error, "failed to write the metrics page");
            let details = "the page could not be written; the exporter's log says why";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, details).into_response()
        }
    }
}

/// The values of a header as one list; a value that is no text is left out.
fn all(headers: &HeaderMap, name: HeaderName) -> String {
    let mut list = String::new();
    for value in headers.get_all(name) {
        if let Ok(value) = value.to_str() {
            if !list.is_empty() {
                list.push(',');
            }
            list.push_str(value);
        }
    }
    list
}

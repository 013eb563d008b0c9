//! The web page: files compiled into the program, served under a policy that lets nothing else in.

use axum::Router;
use axum::http::HeaderName;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::IntoResponse;
use axum::routing::get;

use crate::api::Served;

const HTML: &str = include_str!("ui/index.html");
const CSS: &str = include_str!("ui/app.css");

/// The modules of the page by path: asking and figures, tiles, one GPU, and the joined documents.
const SCRIPTS: [(&str, &str); 4] = [
    ("/ui/app.js", include_str!("ui/app.js")),
    ("/ui/fleet.js", include_str!("ui/fleet.js")),
    ("/ui/detail.js", include_str!("ui/detail.js")),
    ("/ui/model.js", include_str!("ui/model.js")),
];

/// Scripts, styles and data from this server alone, no inline code, and no frame around the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page and its files.
pub(crate) fn routes() -> Router<Served> {
    let page = Router::new()
        .route("/", get(async || file("text/html; charset=utf-8", HTML)))
        .route("/ui/app.css", get(async || file("text/css; charset=utf-8", CSS)));
    SCRIPTS.into_iter().fold(page, |page, (path, script)| {
        page.route(
            path,
            get(async move || file("text/javascript; charset=utf-8", script)),
        )
    })
}

fn file(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    let headers: [(HeaderName, &'static str); 5] = [
        (CONTENT_TYPE, content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        // Asked for again each time: a page of an older program must not meet the API of a newer one.
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, text)
}

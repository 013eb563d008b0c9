//! The web page: files compiled into the program, served under a policy that lets nothing else in.

use axum::Router;
use axum::http::HeaderName;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::IntoResponse;
use axum::routing::get;
use gpu_model::Source;

use crate::api::Served;

const HTML: &str = include_str!("ui/index.html");
const CSS: &str = include_str!("ui/app.css");

/// The modules of the page by path: asking and figures, tiles, one GPU, findings, and the joined documents.
const SCRIPTS: [(&str, &str); 5] = [
    ("/ui/app.js", include_str!("ui/app.js")),
    ("/ui/fleet.js", include_str!("ui/fleet.js")),
    ("/ui/detail.js", include_str!("ui/detail.js")),
    ("/ui/model.js", include_str!("ui/model.js")),
    ("/ui/waste.js", include_str!("ui/waste.js")),
];

/// Scripts, styles and data from this server alone, no inline code, and no frame around the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page and its files. The page of a simulated fleet says so before any script runs.
pub(crate) fn routes(source: Source) -> Router<Served> {
    let html = match source {
        Source::Simulated => HTML.to_owned(),
        Source::Measured => without_marked(HTML),
    };
    let page = Router::new()
        .route("/", get(async move || file("text/html; charset=utf-8", html)))
        .route("/ui/app.css", get(async || file("text/css; charset=utf-8", CSS)));
    SCRIPTS.into_iter().fold(page, |page, (path, script)| {
        page.route(
            path,
            get(async move || file("text/javascript; charset=utf-8", script)),
        )
    })
}

/// The page without what is between the marks of simulation.
fn without_marked(html: &str) -> String {
    let mut rest = html;
    let mut text = String::with_capacity(html.len());
    while let Some((before, marked)) = rest.split_once("<!-- sim -->") {
        text.push_str(before);
        rest = marked.split_once("<!-- /sim -->").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

fn file(content_type: &'static str, text: impl IntoResponse) -> impl IntoResponse {
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

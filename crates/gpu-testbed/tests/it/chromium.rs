//! The browser runs a page's scripts and draws it.

use std::time::Duration;

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use gpu_testbed::{Bed, chromium, require};

use crate::page_server::PageServer;

const WHOLE: Duration = Duration::from_secs(240);

/// The words that are looked for are not in the page; only its script makes them.
const PAGE: &str = "<!doctype html><title>gpu</title><body style='margin:0;background:#ff0000'><p id=p></p>
<script>document.getElementById('p').textContent = ['drawn', 'by', 'a', 'script'].join(' ')</script>";

#[tokio::test]
async fn a_page_is_run_and_drawn() -> anyhow::Result<()> {
    require!(chromium::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = PageServer::start(Router::new().route("/", get(|| async { Html(PAGE) }))).await?;
        let url = format!("http://{}/", server.address);
        let document = chromium::dump_dom(&bed, &url).await?;
        assert!(
            document.contains("<p id=\"p\">drawn by a script</p>"),
            "{document}"
        );
        let picture = std::fs::read(chromium::screenshot(&bed, &url, 320, 200).await?)?;
        assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
        // Width and height are the first two numbers of the first chunk of a PNG file.
        let number = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().expect("four bytes"));
        assert_eq!((number(16), number(20)), (320, 200));
        Ok(())
    })
    .await
}

//! One page of one target.

use gpu_exposition::{Format, Progress};
use gpu_model::TargetFailure;
use gpu_runtime::Chain;
use gpu_runtime::http::client::{Chunks, Client, FetchError, HeaderValue, Limits, Request, header};

use super::super::cut;
use super::super::dialects::{PageReader, PageStream};
use super::super::discover::Target;

/// The text format is what every exporter has; only our own and a few others speak OpenMetrics as well.
const ACCEPT: HeaderValue = HeaderValue::from_static("text/plain;version=0.0.4;q=1,*/*;q=0.1");

/// Fetches a page and reads it as it arrives; at most one line of it is held.
pub(super) async fn scrape(
    client: &Client,
    target: &Target,
    limits: Limits,
) -> Result<PageReader, TargetFailure> {
    let request = Request::get(target.url.clone()).header(header::ACCEPT, ACCEPT);
    let chunks = client.stream(request, limits).await.and_then(Chunks::success);
    let mut chunks = chunks.map_err(|error| failure(&error))?;
    let mut page = PageStream::new(format(&chunks));
    while let Some(piece) = chunks.next().await.map_err(|error| failure(&error))? {
        if page.feed(&piece) == Progress::Ended {
            break;
        }
    }
    let page = page.finish().map_err(|error| TargetFailure {
        class: "malformed",
        message: cut(&error.to_string()),
    })?;
    if page.is_simulated() {
        return Err(TargetFailure {
            class: "simulated",
            message: "its values are simulated: they are not taken among measured ones".to_owned(),
        });
    }
    Ok(page)
}

fn format(chunks: &Chunks) -> Format {
    let told = chunks.headers.get(header::CONTENT_TYPE);
    Format::of_content_type(told.and_then(|value| value.to_str().ok()).unwrap_or_default())
}

fn failure(error: &FetchError) -> TargetFailure {
    TargetFailure {
        class: error.class(),
        message: cut(&Chain(error).to_string()),
    }
}

//! What the feeds have in common: addresses, patience with busy servers, and lists that come in pages.

use std::time::Duration;

use gpu_runtime::http::client::{Chunks, Client, FetchError, Limits, Request, StatusCode, Url};
use tokio::time::sleep;
use tracing::debug;

use super::{FeedError, FeedSettingsError};

/// A server that is busy is asked so many times more for the same page before the list counts as failed.
pub(super) const PATIENCE: u32 = 3;
/// The longest pause between two of those; a server that wants a longer one is left alone by the schedule.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The first pause where the server names none.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The root of a server.
pub(super) fn base(address: &str) -> Result<Url, FeedSettingsError> {
    let wrong = || FeedSettingsError::Address {
        address: address.chars().take(200).collect(),
    };
    let url: Url = address.parse().map_err(|_| wrong())?;
    let proper = matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty();
    if !proper || url.password().is_some() {
        return Err(wrong());
    }
    Ok(url)
}

/// An address below the root of a server.
pub(super) fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// Asks until the server is not busy, at most [`PATIENCE`] times more. Answers that are neither fine nor 304 are errors.
pub(super) async fn ask(client: &Client, request: Request, limits: Limits) -> Result<Chunks, FeedError> {
    let mut pause = FIRST_PAUSE;
    for _ in 0..PATIENCE {
        let chunks = client.stream(request.clone(), limits).await?;
        if chunks.status == StatusCode::NOT_MODIFIED {
            return Ok(chunks);
        }
        match chunks.success() {
            Ok(chunks) => return Ok(chunks),
            Err(error) if is_busy(&error) => {
                let wished = retry_after(&error).unwrap_or(pause);
                if wished > LONGEST_PAUSE {
                    return Err(error.into());
                }
                debug!(error = %error, pause_seconds = wished.as_secs(), "a price list is busy; asking again");
                sleep(wished).await;
                pause *= 2;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(client.stream(request, limits).await?.success()?)
}

fn is_busy(error: &FetchError) -> bool {
    error
        .status_code()
        .is_some_and(|status| status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error())
}

fn retry_after(error: &FetchError) -> Option<Duration> {
    match error {
        FetchError::Status { retry_after, .. } => *retry_after,
        _ => None,
    }
}

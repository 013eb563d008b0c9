//! Waiting for something of a cluster to become true, with a bound and with the last reason in the error.

use std::time::Duration;

use anyhow::Context;
use tokio::time::Instant;

const POLL: Duration = Duration::from_millis(100);

/// A question that hangs is asked again after this.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Asks until the answer is there; an error counts as "not yet" and is told when the time is over.
pub async fn until<T>(
    what: &str,
    within: Duration,
    mut ask: impl AsyncFnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + within;
    loop {
        let answer = match tokio::time::timeout(ANSWER_WITHIN, ask()).await {
            Ok(answer) => answer,
            Err(_) => Err(anyhow::anyhow!("no answer within {ANSWER_WITHIN:?}")),
        };
        match answer {
            Ok(answer) => return Ok(answer),
            Err(error) if Instant::now() >= deadline => {
                return Err(error).with_context(|| format!("{what}: not within {within:?}"));
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}

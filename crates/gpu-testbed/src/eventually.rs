//! Waiting for something to become true, with a bound and a name.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

/// Between two looks: quick enough for a person, slow enough for the asked server.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Looks again and again until `look` finds something. An error of `look` ends the wait.
pub async fn eventually<T, Look, Found>(what: &str, within: Duration, mut look: Look) -> anyhow::Result<T>
where
    Look: FnMut() -> Found,
    Found: Future<Output = anyhow::Result<Option<T>>>,
{
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if Instant::now() >= deadline {
            anyhow::bail!("not so within {within:?}: {what}");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

//! `gpu-autoscaler pause` and `resume`: the switch for all writes, kept in the cluster itself so that it outlives every replica.

use anyhow::Context as _;
use gpu_runtime::{Clock as _, SystemClock, Terminal};

use crate::cli::people::PauseOptions;
use crate::{kubernetes, lead};

use super::Ending;

pub(crate) async fn pause(options: PauseOptions) -> anyhow::Result<Ending> {
    let client = kubernetes::client(options.context.as_deref()).await?;
    let why = options.reason.as_deref().unwrap_or("no reason given");
    let paused = lead::pause(client, &options.namespace, &who(), why, SystemClock.now())
        .await
        .with_context(|| {
            format!(
                "failed to pause the control plane in namespace `{}`",
                options.namespace
            )
        })?;
    Terminal::stdout().say(format!(
        "Paused by {}: no replica writes anything until `gpu-autoscaler resume`. Findings and pages go on.\n",
        paused.by
    ));
    Ok(Ending::Done)
}

pub(crate) async fn resume(options: PauseOptions) -> anyhow::Result<Ending> {
    let client = kubernetes::client(options.context.as_deref()).await?;
    lead::resume(client, &options.namespace).await.with_context(|| {
        format!(
            "failed to resume the control plane in namespace `{}`",
            options.namespace
        )
    })?;
    Terminal::stdout().say("Resumed: the leader writes again within a few seconds.\n");
    Ok(Ending::Done)
}

/// Who does it, as far as the machine knows.
fn who() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    user.unwrap_or_else(|_| "somebody".to_owned())
}

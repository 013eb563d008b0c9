//! SIGINT and SIGTERM: the first asks the program to stop, the second ends it at once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::Shutdown;

/// Why signals cannot be heard.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen for {signal}")]
pub struct SignalError {
    signal: &'static str,
    source: io::Error,
}

/// Pulls `shutdown` at the first SIGINT or SIGTERM; a second one ends the process with 128 plus its number.
///
/// The handlers are in place when this returns, so a signal that comes right after is not lost.
pub fn stop_on_signals(shutdown: &Shutdown) -> Result<(), SignalError> {
    let interrupt = listen("SIGINT", SignalKind::interrupt())?;
    let terminate = listen("SIGTERM", SignalKind::terminate())?;
    tokio::spawn(obey(interrupt, terminate, shutdown.clone()));
    Ok(())
}

fn listen(name: &'static str, kind: SignalKind) -> Result<Signal, SignalError> {
    signal(kind).map_err(|source| SignalError { signal: name, source })
}

async fn obey(mut interrupt: Signal, mut terminate: Signal, shutdown: Shutdown) {
    let first = next(&mut interrupt, &mut terminate).await;
    info!(
        signal = first.name,
        "stopping; a second signal ends the program at once"
    );
    shutdown.trigger();
    let second = next(&mut interrupt, &mut terminate).await;
    warn!(signal = second.name, "ended without waiting");
    std::process::exit(second.exit_code);
}

struct Received {
    name: &'static str,
    /// What a shell reports for a program that a signal ended.
    exit_code: i32,
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> Received {
    tokio::select! {
        _ = interrupt.recv() => Received { name: "SIGINT", exit_code: 130 },
        _ = terminate.recv() => Received { name: "SIGTERM", exit_code: 143 },
    }
}

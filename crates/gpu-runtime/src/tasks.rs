//! Supervised tasks: a task that fails or panics starts again after a pause, and one that keeps failing ends
//! the program with its name and its last error.

mod board;
mod failures;

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tracing::{error, info, warn};

use crate::{Chain, Shutdown};
pub use board::{TaskBoard, TaskState, TaskStatus};
use failures::{Failures, Verdict};

/// The tasks of one program. Dropping it cancels all of them.
#[derive(Debug)]
pub struct Tasks {
    shutdown: Shutdown,
    board: TaskBoard,
    running: JoinSet<Result<(), GaveUp>>,
}

/// A task failed too often to be started once more.
#[derive(Debug, thiserror::Error)]
#[error(
    "task `{task}` failed {} times within {} minutes, giving up",
    failures::LIMIT,
    failures::WINDOW.as_secs() / 60
)]
pub struct GaveUp {
    /// The name under which the task was started.
    pub task: &'static str,
    source: LastError,
}

/// The last error of a task that was given up, already printed with its causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct LastError(String);

impl Tasks {
    /// No tasks yet; all that are started later belong to `shutdown`.
    pub fn new(shutdown: Shutdown) -> Self {
        Self {
            shutdown,
            board: TaskBoard::default(),
            running: JoinSet::new(),
        }
    }

    /// Starts `work` under a name that is unique in the program.
    ///
    /// `work` is called once for every attempt. An attempt that returns `Ok` has finished for good; one that
    /// returns an error or panics is followed by another. An attempt should return soon after the shutdown
    /// is triggered; [`Tasks::finish`] cancels it at its next await otherwise.
    pub fn start<W, F>(&mut self, task: &'static str, work: W)
    where
        W: FnMut() -> F + Send + 'static,
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.running
            .spawn(supervise(task, work, self.shutdown.clone(), self.board.clone()));
    }

    /// A view of how the tasks fare, for health pages.
    pub fn board(&self) -> TaskBoard {
        self.board.clone()
    }

    /// Waits for the shutdown, for the end of every task, or for the first that gives up; then triggers the
    /// shutdown, leaves the remaining tasks `grace` to end and cancels those that did not.
    pub async fn finish(mut self, grace: Duration) -> Result<(), GaveUp> {
        let mut outcome = tokio::select! {
            () = self.shutdown.triggered() => Ok(()),
            ended = drain(&mut self.running) => ended,
        };
        self.shutdown.trigger();
        match timeout(grace, drain_all(&mut self.running)).await {
            Ok(rest) => outcome = outcome.and(rest),
            Err(_) => warn!(
                tasks = %self.board.unfinished().join(", "),
                grace_seconds = grace.as_secs_f64(),
                "cancelled tasks that did not stop in time"
            ),
        }
        self.running.shutdown().await;
        outcome
    }
}

/// Waits until all have ended or one has failed.
async fn drain(running: &mut JoinSet<Result<(), GaveUp>>) -> Result<(), GaveUp> {
    while let Some(ended) = running.join_next().await {
        // A supervisor catches the panics of its task and is cancelled only after this function.
        if let Ok(ended) = ended {
            ended?;
        }
    }
    Ok(())
}

/// Waits until all have ended and keeps the first failure.
async fn drain_all(running: &mut JoinSet<Result<(), GaveUp>>) -> Result<(), GaveUp> {
    let mut outcome = Ok(());
    while !running.is_empty() {
        outcome = outcome.and(drain(running).await);
    }
    outcome
}

async fn supervise<W, F>(
    task: &'static str,
    mut work: W,
    shutdown: Shutdown,
    board: TaskBoard,
) -> Result<(), GaveUp>
where
    W: FnMut() -> F + Send,
    F: Future<Output = anyhow::Result<()>> + Send,
{
    let mut failures = Failures::default();
    loop {
        board.record(task, TaskState::Running);
        let Err(failure) = attempt(&mut work).await else {
            board.record(task, TaskState::Finished);
            return Ok(());
        };
        board.record_error(task, &failure);
        if shutdown.is_triggered() {
            warn!(task, error = %failure, "task failed while stopping");
            board.record(task, TaskState::Finished);
            return Ok(());
        }
        let pause = match failures.record(Instant::now()) {
            Verdict::Restart { after } => after,
            Verdict::GiveUp => {
                error!(task, error = %failure, "task keeps failing; the program ends");
                board.record(task, TaskState::GivenUp);
                return Err(GaveUp {
                    task,
                    source: LastError(failure),
                });
            }
        };
        warn!(task, error = %failure, restart_in_seconds = pause.as_secs(), "task failed; it starts again");
        board.record(task, TaskState::Pausing);
        tokio::select! {
            () = sleep(pause) => info!(task, "task starts again"),
            () = shutdown.triggered() => {
                board.record(task, TaskState::Finished);
                return Ok(());
            }
        }
    }
}

/// Runs one attempt; what went wrong comes back in words, whether it was an error or a panic.
async fn attempt<W, F>(work: &mut W) -> Result<(), String>
where
    W: FnMut() -> F,
    F: Future<Output = anyhow::Result<()>>,
{
    // Nothing of the attempt is looked at after a panic: the next one begins from a fresh call of `work`.
    match AssertUnwindSafe(async { work().await }).catch_unwind().await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Chain(error.as_ref()).to_string()),
        Err(panic) => Err(format!("panicked: {}", panic_words(panic.as_ref()))),
    }
}

/// The message of a panic, where it has one.
pub(crate) fn panic_words(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests;

//! A thread that owns a connection and does what it is sent, one thing after the other.

use std::sync::Mutex;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use crate::error::StoreError;
use crate::store::Answer;

/// Jobs that wait. A job holds a batch of at most some ten megabytes; callers beyond this wait before they hand theirs over.
const QUEUE: usize = 16;

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// The thread, from outside.
pub(super) struct Worker<S> {
    jobs: Mutex<Option<mpsc::Sender<Job<S>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<S> std::fmt::Debug for Worker<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Worker")
    }
}

impl<S: Send + 'static> Worker<S> {
    pub(super) fn start(name: &str, mut state: S) -> Result<Self, StoreError> {
        let (sender, mut receiver) = mpsc::channel::<Job<S>>(QUEUE);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                while let Some(job) = receiver.blocking_recv() {
                    job(&mut state);
                }
            })
            .map_err(|error| StoreError::failed("start the thread of the store", error))?;
        Ok(Self {
            jobs: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Sends work and waits for its answer. Work that was sent is done even when nobody waits for it any more.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut S) -> Result<T, StoreError> + Send + 'static,
    ) -> Answer<'_, T> {
        let sender = self.jobs.lock().ok().and_then(|jobs| jobs.clone());
        Box::pin(async move {
            let sender = sender.ok_or(StoreError::Closed)?;
            let (answer, answered) = oneshot::channel();
            let job: Job<S> = Box::new(move |state| {
                // A caller that went away does not need to hear of it.
                let _ = answer.send(work(state));
            });
            sender.send(job).await.map_err(|_| StoreError::Closed)?;
            answered.await.map_err(|_| StoreError::Closed)?
        })
    }

    /// Lets the thread finish what waits, and waits for it.
    pub(super) async fn stop(&self) {
        if let Ok(mut jobs) = self.jobs.lock() {
            jobs.take();
        }
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // Joining may wait for a transaction, which must not hold up the executor.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl<S> Drop for Worker<S> {
    /// The lock of the file is let go by the thread; whoever opens the file next must find it free.
    fn drop(&mut self) {
        if let Ok(mut jobs) = self.jobs.lock() {
            jobs.take();
        }
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

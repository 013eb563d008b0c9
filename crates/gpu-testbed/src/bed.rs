//! A test bed: one temporary directory, one warden and the programs started through it.
//!
//! The bed ends when it is dropped or when its process ends in any way; then everything it started is gone.

mod error;
pub(crate) mod id;
mod link;
mod locate;
mod part;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use nix::sys::signal::Signal;

pub use error::BedError;
pub use id::BedId;
pub use part::{Part, PartSpec, StopBy};

use crate::warden::program::LOGS;
use crate::warden::protocol::Order;
use link::Link;

/// A test whose own step fails is often the first to notice a dead part; the warden's notice follows within this.
const NOTICE_PATIENCE: Duration = Duration::from_millis(400);

/// Programs of one test, or of all tests of a process, that live and end together.
#[derive(Debug)]
pub struct Bed {
    id: BedId,
    directory: PathBuf,
    link: Arc<Link>,
}

impl Bed {
    /// Makes a bed with its warden in the namespaces of this process.
    pub fn new() -> Result<Self, BedError> {
        Self::with_warden_prefix(&[])
    }

    /// Makes a bed whose warden is started by the given words before its own, as in
    /// `unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private`.
    /// Every part then lives in those namespaces, and its process ids are those of the namespace.
    pub fn with_warden_prefix(prefix: &[&str]) -> Result<Self, BedError> {
        let id = BedId::for_this_process();
        let directory = std::env::temp_dir().join(id.directory_name());
        let link = Link::open(&id, &directory, prefix)?;
        Ok(Self { id, directory, link })
    }

    /// The bed's id, which every process of the bed carries in its environment.
    pub fn id(&self) -> &BedId {
        &self.id
    }

    /// The process id of what this process started: the warden, or the first word of its prefix. It is in the bed's
    /// network and mount namespaces.
    pub fn process_id(&self) -> u32 {
        self.link.process_id()
    }

    /// The bed's directory. It vanishes with the bed.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A path below the bed's directory.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.directory.join(below)
    }

    /// Makes a directory below the bed's own.
    pub fn make_directory(&self, below: impl AsRef<Path>) -> Result<PathBuf, BedError> {
        let path = self.path(below);
        std::fs::create_dir_all(&path).map_err(|source| BedError::Write {
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }

    /// Writes a file below the bed's directory.
    pub fn write_file(&self, below: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<PathBuf, BedError> {
        let path = self.path(below);
        std::fs::write(&path, text).map_err(|source| BedError::Write {
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }

    /// Starts a program and returns at once; [`Part::ready`] waits for it.
    pub fn spawn(&self, spec: PartSpec) -> Result<Part, BedError> {
        let log = self.log_of(&spec.name);
        Part::spawn(&self.link, spec, log)
    }

    /// Starts a program and waits until `probe` says that it is ready.
    pub async fn start<Probe, Answer>(
        &self,
        spec: PartSpec,
        within: Duration,
        probe: Probe,
    ) -> Result<Part, BedError>
    where
        Probe: FnMut() -> Answer,
        Answer: Future<Output = Result<(), String>>,
    {
        let part = self.spawn(spec)?;
        part.ready(within, probe).await?;
        Ok(part)
    }

    /// Runs a program to its end and answers with what it printed; any end but exit code 0 is an error.
    pub async fn run(&self, spec: PartSpec, within: Duration) -> Result<String, BedError> {
        let log = self.log_of(&spec.name);
        Part::run(&self.link, spec, log, within).await
    }

    /// Removes `path` too when the bed ends, after unmounting what is below it.
    pub fn own_directory(&self, path: &Path) -> Result<(), BedError> {
        self.link
            .request("own a directory", Order::OwnDirectory(path.to_owned()))
            .map(drop)
    }

    /// Removes a control group, with those below it, when the bed ends.
    pub fn own_cgroup(&self, path: &Path) -> Result<(), BedError> {
        self.link
            .request("own a control group", Order::OwnCgroup(path.to_owned()))
            .map(drop)
    }

    /// Sends a signal to a part by its name; see [`Part::signal`].
    pub fn signal(&self, name: &str, signal: Signal) -> Result<(), BedError> {
        let order = Order::Signal {
            name: name.to_owned(),
            signal: signal as i32,
        };
        self.link.request(&format!("signal `{name}`"), order).map(drop)
    }

    /// Waits for the death of any part that was not asked to end, or of the warden, and says which. A test that
    /// does several things at once races them against this.
    pub async fn watch(&self) -> BedError {
        self.link.failure().await
    }

    /// Runs a test's work until it is done, a part dies or the time is over, whichever is first.
    ///
    /// A dead part is named in the error even when the work failed or panicked over it before the notice came.
    pub async fn guard<T>(
        &self,
        within: Duration,
        work: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        tokio::select! {
            biased;
            failure = self.watch() => Err(failure.into()),
            outcome = AssertUnwindSafe(work).catch_unwind() => match outcome {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => match tokio::time::timeout(NOTICE_PATIENCE, self.watch()).await {
                    Ok(failure) => Err(error.context(failure)),
                    Err(_) => Err(error),
                },
                Err(panic) => match tokio::time::timeout(NOTICE_PATIENCE, self.watch()).await {
                    Ok(failure) => Err(anyhow::Error::new(failure).context("the test panicked when a part died")),
                    Err(_) => std::panic::resume_unwind(panic),
                },
            },
            () = tokio::time::sleep(within) => Err(BedError::Overdue { within }.into()),
        }
    }

    fn log_of(&self, name: &str) -> PathBuf {
        self.directory.join(LOGS).join(format!("{name}.log"))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Err(error) = self.link.close() {
            eprintln!("gpu-testbed: bed {}: {error}", self.id);
        }
    }
}

//! One process with real nodes at a time: the nodes themselves are apart, but all share the machine's processors, and
//! the time limits of tests are made for few.

use std::fs::File;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::Program;

/// Longer than any test with a real node takes.
const WAIT_AT_MOST: Duration = Duration::from_secs(600);

const POLL: Duration = Duration::from_millis(100);

/// Set for processes below one that has the lock: they would wait for their own parent.
pub(super) const INHERITED_VARIABLE: &str = "GPU_TESTBED_REAL_NODE_ALLOWED";

/// Held as long as a node of this process lives; the kernel gives it back when the process ends.
#[derive(Debug, Clone)]
pub(super) struct NodeLock {
    _held: Option<Arc<Flock<File>>>,
}

impl NodeLock {
    /// Waits until no other process has a real node.
    pub(super) async fn acquire() -> anyhow::Result<Self> {
        static OURS: Mutex<Weak<Flock<File>>> = Mutex::const_new(Weak::new());
        if std::env::var_os(INHERITED_VARIABLE).is_some() {
            return Ok(Self { _held: None });
        }
        let mut ours = OURS.lock().await;
        let held = match ours.upgrade() {
            Some(held) => held,
            None => Arc::new(lock().await?),
        };
        *ours = Arc::downgrade(&held);
        Ok(Self { _held: Some(held) })
    }
}

/// Locks the kubelet's program itself: it is there whenever a node can be started, and no file stays behind.
async fn lock() -> anyhow::Result<Flock<File>> {
    let path = Program::Kubelet.path()?;
    let deadline = Instant::now() + WAIT_AT_MOST;
    let mut file = File::open(&path).with_context(|| format!("failed to open `{}`", path.display()))?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => return Ok(held),
            Err((returned, Errno::EWOULDBLOCK)) if Instant::now() < deadline => file = returned,
            Err((_, Errno::EWOULDBLOCK)) => {
                bail!("another process has had a real node for more than {WAIT_AT_MOST:?}")
            }
            Err((_, error)) => {
                return Err(error).with_context(|| format!("failed to lock `{}`", path.display()));
            }
        }
        tokio::time::sleep(POLL).await;
    }
}

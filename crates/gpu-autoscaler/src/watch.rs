//! One picture of the cluster, kept up to date by watching.
//!
//! A task a kind lists and watches its objects, turns each into a small value as it arrives and puts it into the index; the
//! object itself is forgotten. Whoever decides asks for the picture: one consistent set of nodes, pods and what belongs to them,
//! and only once all of it was seen. What the account may not see, or what the cluster does not have, is named in the status and
//! stops nothing but itself; without pods and nodes there is no picture.

mod endings;
mod follow;
mod foreign;
mod index;
mod kind;
mod policies;
mod status;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gpu_cost::EndedPod;
use gpu_model::{ClusterId, ClusterPicture};
use gpu_runtime::{Clock as _, Shutdown, SystemClock, Tasks};
use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;

use endings::Endings;
use index::Index;
pub use index::Load;
pub use kind::Kind;
pub use policies::Policies;
use status::Board;
pub use status::{Access, KindStatus, SetAside};

/// The picture is not whole yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cluster was not seen as a whole yet: waiting for {}", self.waiting_for.join(", "))]
pub struct NotSynced {
    /// Names of kinds, such as `pods`.
    pub waiting_for: Vec<&'static str>,
}

/// A watched cluster; clones watch the same.
#[derive(Clone)]
pub struct ClusterWatch {
    shared: Arc<Shared>,
}

/// What the tasks and the readers share. It is locked for as long as a value takes to be put in or out, never over an await.
struct Shared {
    state: Mutex<State>,
    /// Counts changes of the picture and of what is known about the watches.
    version: watch::Sender<u64>,
}

struct State {
    index: Index,
    board: Board,
    endings: Endings,
}

/// Starts watching. The tasks end with `shutdown`.
pub fn start(tasks: &mut Tasks, client: Client, cluster: ClusterId, shutdown: Shutdown) -> ClusterWatch {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            index: Index::new(cluster, SystemClock.now()),
            board: Board::default(),
            endings: Endings::default(),
        }),
        version: watch::Sender::new(0),
    });
    for kind in Kind::ALL {
        let (client, shared, shutdown) = (client.clone(), shared.clone(), shutdown.clone());
        tasks.start(kind.task(), move || {
            follow::run(kind, client.clone(), shared.clone(), shutdown.clone())
        });
    }
    let owners = shared.clone();
    tasks.start("watch owners of other projects", move || {
        foreign::run(client.clone(), owners.clone(), shutdown.clone())
    });
    ClusterWatch { shared }
}

impl ClusterWatch {
    /// The cluster as it was last seen. `at` in it is `now` while pods and nodes are being watched, and the moment at which the
    /// watch of either broke while it is not: the picture is then as old as that.
    pub fn picture(&self, now: Timestamp) -> Result<Arc<ClusterPicture>, NotSynced> {
        let mut state = self.shared.lock();
        let waiting_for = state.board.waiting_for(now);
        if !waiting_for.is_empty() {
            return Err(NotSynced { waiting_for });
        }
        let at = state.board.as_of(now);
        Ok(state.index.picture(now, at))
    }

    /// The pods with GPUs whose end was told since this was last asked, in that order. The end is the moment at which we were told.
    pub fn take_ended(&self) -> Vec<EndedPod> {
        self.shared.lock().endings.take()
    }

    /// Our own objects: policies, budgets and the rest.
    pub fn policies(&self) -> Arc<Policies> {
        self.shared.lock().index.policies()
    }

    /// How the watch of each kind fares, for health pages and metrics.
    pub fn status(&self) -> Vec<KindStatus> {
        self.shared.lock().board.status()
    }

    /// How much is held.
    pub fn load(&self) -> Load {
        self.shared.lock().index.load()
    }

    /// Returns once there is a picture.
    pub async fn synced(&self) {
        let mut changes = self.changes();
        while self.picture(SystemClock.now()).is_err() {
            // Kinds that cannot be had are given up by time alone, so the question is asked again without a change, too.
            let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
        }
    }

    /// A counter that moves when something may have changed. Whoever waits on it sees the last change, not every one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.version.subscribe()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and tells those who wait for changes.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let outcome = change(&mut self.lock());
        self.version
            .send_modify(|version| *version = version.wrapping_add(1));
        outcome
    }
}

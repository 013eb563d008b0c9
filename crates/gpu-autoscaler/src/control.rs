//! How the control plane itself fares: who leads, whether writes are paused, and which dependency is away. Loops write it, pages and
//! probes read it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::wire::status::PauseLine;

/// Every dependency by name, with the words for what is wrong.
pub(crate) type Checks = BTreeMap<String, Result<(), String>>;

/// The state, shared by reference.
#[derive(Debug)]
pub(crate) struct Control {
    metrics_kind: &'static str,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    role: Role,
    holder: Option<String>,
    paused: Option<PauseLine>,
    dependencies: Checks,
    is_serving: Option<String>,
}

/// What this replica may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing is elected: the demo, and fleets without Kubernetes.
    #[default]
    Alone,
    Leader,
    Follower,
}

impl Role {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Leader => "leader",
            Self::Follower => "follower",
        }
    }
}

impl Control {
    /// `metrics_kind` is `direct`, `prometheus` or `sim`.
    pub(crate) fn new(metrics_kind: &'static str) -> Self {
        Self {
            metrics_kind,
            state: Mutex::default(),
        }
    }

    pub(crate) fn metrics_kind(&self) -> &'static str {
        self.metrics_kind
    }

    pub(crate) fn set_leadership(&self, role: Role, holder: Option<String>) {
        let mut state = self.lock();
        state.role = role;
        state.holder = holder;
    }

    pub(crate) fn set_paused(&self, paused: Option<PauseLine>) {
        self.lock().paused = paused;
    }

    /// Notes how a dependency fares.
    pub(crate) fn set_dependency(&self, name: &str, outcome: Result<(), String>) {
        self.lock().dependencies.insert(name.to_owned(), outcome);
    }

    /// Why requests cannot be served yet, or nothing once they can.
    pub(crate) fn set_serving(&self, waiting_for: Option<String>) {
        self.lock().is_serving = waiting_for;
    }

    pub(crate) fn role(&self) -> &'static str {
        self.lock().role.as_str()
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.lock().role != Role::Follower
    }

    pub(crate) fn holder(&self) -> Option<String> {
        self.lock().holder.clone()
    }

    pub(crate) fn paused(&self) -> Option<PauseLine> {
        self.lock().paused.clone()
    }

    pub(crate) fn dependencies(&self) -> Checks {
        self.lock().dependencies.clone()
    }

    /// Why requests cannot be served yet.
    pub(crate) fn waiting_for(&self) -> Option<String> {
        self.lock().is_serving.clone()
    }

    /// The dependencies that are away.
    pub(crate) fn problems(&self) -> BTreeMap<String, String> {
        let state = self.lock();
        let away = state.dependencies.iter();
        away.filter_map(|(name, outcome)| Some((name.clone(), outcome.clone().err()?)))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is a plain assignment, so a poisoned state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What is known about every task, for health pages and for the words at the end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A shared view of the tasks of a program.
#[derive(Debug, Clone, Default)]
pub struct TaskBoard {
    tasks: Arc<Mutex<BTreeMap<&'static str, TaskStatus>>>,
}

/// How one task fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStatus {
    pub state: TaskState,
    /// Attempts that failed since the program started.
    pub failures: u32,
    /// What the last failed attempt said; it stays after a successful restart, as the trace of what happened.
    pub last_error: Option<String>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    Running,
    /// It failed and waits before its next attempt.
    Pausing,
    /// It ended as it should.
    Finished,
    /// It failed too often.
    GivenUp,
}

impl TaskState {
    /// The word for it on a health page.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Pausing => "pausing after a failure",
            Self::Finished => "finished",
            Self::GivenUp => "given up",
        }
    }
}

impl TaskBoard {
    /// The status of every task that was started, by name.
    pub fn snapshot(&self) -> BTreeMap<&'static str, TaskStatus> {
        self.lock().clone()
    }

    pub(super) fn record(&self, task: &'static str, state: TaskState) {
        self.entry(task, |status| status.state = state);
    }

    pub(super) fn record_error(&self, task: &'static str, error: &str) {
        self.entry(task, |status| {
            status.failures = status.failures.saturating_add(1);
            status.last_error = Some(error.to_owned());
        });
    }

    pub(super) fn unfinished(&self) -> Vec<&'static str> {
        let tasks = self.lock();
        let open = tasks
            .iter()
            .filter(|(_, task)| matches!(task.state, TaskState::Running | TaskState::Pausing));
        open.map(|(name, _)| *name).collect()
    }

    fn entry(&self, task: &'static str, change: impl FnOnce(&mut TaskStatus)) {
        let new = TaskStatus {
            state: TaskState::Running,
            failures: 0,
            last_error: None,
        };
        change(self.lock().entry(task).or_insert(new));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, TaskStatus>> {
        // Every change is a plain assignment, so a poisoned map is still whole.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

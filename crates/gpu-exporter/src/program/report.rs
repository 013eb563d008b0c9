//! Writes what each GPU did since the start to a file, for a workflow to keep: every few seconds, because a program that
//! collects files may come before the end of this one, and at the end.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tracing::{error, info};

use crate::api::{RunState, Summary};
use crate::snapshot::NodeSnapshot;

/// What is missing from a file that was taken too early, at most; a few kilobytes in this time cost nothing.
const EVERY: Duration = Duration::from_secs(10);

/// The run so far and where it is written.
pub(super) struct Chronicle {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    summary: Summary,
    written_at: Option<Instant>,
    /// Why it could not be written, so that the log says it once.
    problem: Option<String>,
}

impl Chronicle {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            state: Mutex::default(),
        }
    }

    pub(super) fn record(&self, snapshot: &NodeSnapshot) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.summary.record(snapshot);
        if state.written_at.is_none_or(|at| at.elapsed() >= EVERY) {
            state.write(&self.path, RunState::Running);
        }
    }

    pub(super) fn finish(&self, last: &NodeSnapshot) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.summary.record(last);
        if state.write(&self.path, RunState::Ended) {
            info!(path = %self.path.display(), "wrote the final report");
        }
    }
}

impl State {
    /// Writes the file. A workload is not failed because its report could not be kept: the log says it.
    fn write(&mut self, path: &Path, run: RunState) -> bool {
        let Some(report) = self.summary.report(run) else {
            return false;
        };
        self.written_at = Some(Instant::now());
        let written = serde_json::to_vec_pretty(&report)
            .context("failed to put the report into JSON")
            .and_then(|text| write_whole(path, &text));
        let problem = written.err().map(|error| format!("{error:#}"));
        if let Some(problem) = problem
            .as_ref()
            .filter(|problem| self.problem.as_ref() != Some(problem))
        {
            error!(problem, "cannot write the report of this run");
        }
        self.problem = problem;
        self.problem.is_none()
    }
}

/// Beside it first, so that nobody ever reads half of it.
fn write_whole(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let mut name = path.file_name().context("the path has no file name")?.to_owned();
    name.push(".new");
    let aside = path.with_file_name(name);
    std::fs::write(&aside, text).with_context(|| format!("failed to write `{}`", aside.display()))?;
    std::fs::rename(&aside, path).with_context(|| format!("failed to write `{}`", path.display()))
}

//! How the program's own sources (its settings, the kernel's log) are doing, put beside the drivers in every snapshot, so
//! that pages, metrics and probes show a refused reload as they show a failing driver.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::collect::Attribution;
use crate::snapshot::{DeviceSnapshot, LabelSet, SourceStatus, Workload};

/// The sources that the program itself reports; clones share them.
#[derive(Clone, Default)]
pub(super) struct Notes(Arc<Mutex<BTreeMap<&'static str, Note>>>);

#[derive(Default)]
struct Note {
    problem: Option<Arc<str>>,
    succeeded_at: Option<Instant>,
    errors: BTreeMap<&'static str, u64>,
}

impl Notes {
    /// The source was read with success.
    pub(super) fn good(&self, name: &'static str) {
        self.with(name, |note| {
            note.problem = None;
            note.succeeded_at = Some(Instant::now());
        });
    }

    /// The source is there and is listened to; it has no age, because nothing may happen on it for years.
    pub(super) fn open(&self, name: &'static str) {
        self.with(name, |note| note.problem = None);
    }

    /// It was not read. `problem` is shown to everybody who asks: it names no path and no value; the log has those.
    pub(super) fn bad(&self, name: &'static str, class: &'static str, problem: &str) {
        self.with(name, |note| {
            note.problem = Some(problem.into());
            *note.errors.entry(class).or_default() += 1;
        });
    }

    fn with(&self, name: &'static str, change: impl FnOnce(&mut Note)) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(notes.entry(name).or_default());
    }

    fn statuses(&self) -> Vec<SourceStatus> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let status = |(name, note): (&&'static str, &Note)| SourceStatus {
            name,
            up: note.problem.is_none(),
            problem: note.problem.clone(),
            last_success_age: note.succeeded_at.map(|at| at.elapsed()),
            last_duration: None,
            errors: note.errors.clone(),
        };
        notes.iter().map(status).collect()
    }
}

/// An attribution that reports the notes beside its own sources.
pub(super) struct WithNotes {
    inner: Box<dyn Attribution>,
    notes: Notes,
}

impl WithNotes {
    pub(super) fn new(inner: Box<dyn Attribution>, notes: Notes) -> Self {
        Self { inner, notes }
    }
}

impl Attribution for WithNotes {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]) {
        self.inner.attribute(devices);
    }

    fn status(&self) -> Vec<SourceStatus> {
        let mut all = self.inner.status();
        all.extend(self.notes.statuses());
        all
    }

    fn node_labels(&self) -> Option<LabelSet> {
        self.inner.node_labels()
    }

    fn workload(&self) -> Option<Arc<Workload>> {
        self.inner.workload()
    }

    fn shows(&self, device: &DeviceSnapshot) -> bool {
        self.inner.shows(device)
    }
}

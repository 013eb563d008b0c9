//! What is known from the kubelet at an instant: the last answer, its age, and how asking fares.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_runtime::Chain;

use super::poll::{PollError, Polled};
use crate::owners::Held;
use crate::owners::answer::Answer;
use crate::owners::host::Unreadable;
use crate::owners::names::PodNames;
use crate::snapshot::SourceStatus;

/// The name of this source in metrics.
pub const SOURCE: &str = "kubelet";

/// The latest picture. It is replaced as a whole and never changed.
#[derive(Debug, Clone)]
pub struct Roster {
    answer: Arc<Answer>,
    answered_at: Option<Instant>,
    keep_for: Duration,
    /// Names of pods and containers for processes; read even while the kubelet is silent.
    pub names: Arc<PodNames>,
    /// What could not be read of the node's files, and so is not known.
    pub unreadable: BTreeSet<Unreadable>,
    error: Option<Arc<PollError>>,
    errors: BTreeMap<&'static str, u64>,
    last_duration: Option<Duration>,
    /// Questions that were asked.
    pub polls: u64,
    /// Connections that were made.
    pub connections: u64,
}

impl Roster {
    pub(super) fn unasked(keep_for: Duration) -> Self {
        Self {
            answer: Arc::default(),
            answered_at: None,
            keep_for,
            names: Arc::default(),
            unreadable: BTreeSet::new(),
            error: None,
            errors: BTreeMap::new(),
            last_duration: None,
            polls: 0,
            connections: 0,
        }
    }

    /// The picture after one more question.
    pub(super) fn after(&self, polled: Polled, took: Duration, now: Instant) -> Self {
        let mut next = self.clone();
        next.polls += 1;
        next.connections = polled.connections;
        next.last_duration = Some(took);
        next.names = polled.names;
        next.unreadable = polled.unreadable;
        match polled.answer {
            Ok(answer) => {
                next.error = None;
                next.answered_at = Some(now);
                // An answer that says the same stays the same value, so that readers may compare pointers.
                if *self.answer != answer {
                    next.answer = Arc::new(answer);
                }
            }
            Err(error) => {
                *next.errors.entry(error.class()).or_default() += 1;
                next.error = Some(Arc::new(error));
                next.forget_ended();
            }
        }
        next
    }

    /// While the kubelet is silent, pods that are seen to end still release their devices.
    fn forget_ended(&mut self) {
        let names = &self.names;
        let ended = |held: &Held| held.uid.as_ref().is_some_and(|uid| names.has_ended(uid));
        let count = self.answer.held.iter().filter(|held| ended(held)).count();
        if count > 0 {
            let mut answer = Answer::clone(&self.answer);
            answer.held.retain(|held| !ended(held));
            answer.ended += count;
            self.answer = Arc::new(answer);
        }
    }

    /// Who holds which device; nobody, once the last answer is too old to be true.
    pub fn held(&self, now: Instant) -> &[Held] {
        match self.age(now) {
            Some(age) if age <= self.keep_for => &self.answer.held,
            _ => &[],
        }
    }

    /// The last answer with its counts, whatever its age.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Since the last good answer.
    pub fn age(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_duration_since(self.answered_at?))
    }

    /// Whether the last question was answered.
    pub fn is_up(&self) -> bool {
        self.error.is_none() && self.answered_at.is_some()
    }

    pub fn last_error(&self) -> Option<&PollError> {
        self.error.as_deref()
    }

    pub(super) fn held_count(&self) -> usize {
        self.answer.held.len()
    }

    pub(super) fn holds_the_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.answer, &other.answer)
    }

    /// How this source fares, for pages.
    pub fn status(&self, now: Instant) -> SourceStatus {
        SourceStatus {
            name: SOURCE,
            up: self.is_up(),
            problem: self
                .error
                .as_ref()
                .map(|error| Chain(error.as_ref()).to_string().into()),
            last_success_age: self.age(now),
            last_duration: self.last_duration,
            errors: self.errors.clone(),
        }
    }
}

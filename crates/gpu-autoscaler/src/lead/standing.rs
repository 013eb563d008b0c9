//! What this replica believes about its leadership, and until when it may believe it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use gpu_runtime::Clock;
use tokio::sync::watch;

/// One leadership. A later one is greater, also after somebody deleted the Lease: the server's time of its making comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    created_second: i64,
    transitions: u32,
}

/// Twenty bits: a lease that changed hands a million times changed hands every minute for two years.
const TRANSITION_BITS: u32 = 20;

impl Term {
    pub(super) fn new(created_second: i64, transitions: u32) -> Self {
        Self {
            created_second,
            transitions,
        }
    }

    /// `leaseTransitions` of the Lease.
    pub fn transitions(self) -> u32 {
        self.transitions
    }

    /// The term as one number that grows with every leadership.
    pub fn number(self) -> u64 {
        let transitions = u64::from(self.transitions.min((1 << TRANSITION_BITS) - 1));
        let created = u64::try_from(self.created_second).unwrap_or_default();
        (created << TRANSITION_BITS) | transitions
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.transitions.fmt(f)
    }
}

#[derive(Debug, Clone, Copy)]
struct Reign {
    term: Term,
    /// A good while before anybody else may take the lease.
    until: Instant,
}

/// The answer to "may this replica write?", for everybody who asks. Clones share it.
#[derive(Clone)]
pub struct Leadership {
    shared: Arc<Shared>,
}

struct Shared {
    identity: String,
    clock: Arc<dyn Clock>,
    reign: ArcSwap<Option<Reign>>,
    changes: watch::Sender<Option<Term>>,
}

impl Leadership {
    pub(super) fn none(identity: String, clock: Arc<dyn Clock>) -> Self {
        Self {
            shared: Arc::new(Shared {
                identity,
                clock,
                reign: ArcSwap::from_pointee(None),
                changes: watch::Sender::new(None),
            }),
        }
    }

    /// Under which name this replica stands for election.
    pub fn identity(&self) -> &str {
        &self.shared.identity
    }

    /// Whether this replica leads now, by its own clock.
    pub fn is_leader(&self) -> bool {
        self.term().is_some()
    }

    /// The term in which this replica leads now.
    pub fn term(&self) -> Option<Term> {
        self.reign().map(|reign| reign.term)
    }

    /// Changes of the leadership: `Some` when it begins, `None` when it ends. An end is told a moment after it came; whoever is
    /// about to write asks for a permit.
    pub fn watch(&self) -> watch::Receiver<Option<Term>> {
        self.shared.changes.subscribe()
    }

    /// A permit for the term that is running, or nothing while this replica does not lead.
    pub fn guard(&self) -> Option<WritePermit> {
        Some(WritePermit {
            term: self.term()?,
            leadership: self.clone(),
        })
    }

    pub(super) fn hold(&self, term: Term, until: Instant) {
        self.shared.reign.store(Arc::new(Some(Reign { term, until })));
        self.shared
            .changes
            .send_if_modified(|current| current.replace(term) != Some(term));
    }

    pub(super) fn let_go(&self) {
        self.shared.reign.store(Arc::new(None));
        self.shared
            .changes
            .send_if_modified(|current| current.take().is_some());
    }

    pub(super) fn until(&self) -> Option<Instant> {
        (**self.shared.reign.load()).map(|reign| reign.until)
    }

    fn reign(&self) -> Option<Reign> {
        (**self.shared.reign.load()).filter(|reign| self.shared.clock.monotonic() < reign.until)
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("identity", &self.shared.identity)
            .field("term", &self.term())
            .finish_non_exhaustive()
    }
}

/// The right to write in one term. It is shown with every write, and looked at right before the write is sent.
#[derive(Debug, Clone)]
pub struct WritePermit {
    term: Term,
    leadership: Leadership,
}

impl WritePermit {
    pub fn term(&self) -> Term {
        self.term
    }

    /// How long this replica may still count on it; nothing once the term is over.
    pub fn remaining(&self) -> Option<Duration> {
        let reign = self.leadership.reign()?;
        let now = self.leadership.shared.clock.monotonic();
        (reign.term == self.term).then(|| reign.until.saturating_duration_since(now))
    }

    pub fn is_valid(&self) -> bool {
        self.remaining().is_some()
    }
}

#[cfg(test)]
mod tests {
    //! A permit ends with its term and with its time.

    use gpu_runtime::ManualClock;

    use super::*;

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn a_permit_ends_by_the_local_clock_and_with_its_term() {
        let clock = Arc::new(ManualClock::new("2026-03-01T00:00:00Z".parse().unwrap()));
        let leadership = Leadership::none("a".to_owned(), clock.clone());
        assert!(leadership.guard().is_none());
        let first = Term::new(1_700_000_000, 1);
        leadership.hold(first, clock.monotonic() + seconds(4));
        let permit = leadership.guard().unwrap();
        assert_eq!(permit.remaining(), Some(seconds(4)));
        clock.advance(seconds(4));
        assert!(!permit.is_valid() && !leadership.is_leader());
        // The same replica leads again, in another term: the old permit stays void.
        leadership.hold(Term::new(1_700_000_000, 2), clock.monotonic() + seconds(4));
        assert!(!permit.is_valid() && leadership.is_leader());
    }

    #[test]
    fn a_lease_that_was_deleted_and_made_again_has_greater_terms() {
        let old = Term::new(1_700_000_000, 900);
        let new = Term::new(1_700_000_001, 1);
        assert!(new > old && new.number() > old.number());
    }

    #[test]
    fn changes_are_told_once() {
        let clock = Arc::new(ManualClock::new("2026-03-01T00:00:00Z".parse().unwrap()));
        let leadership = Leadership::none("a".to_owned(), clock.clone());
        let mut changes = leadership.watch();
        let term = Term::new(1, 1);
        leadership.hold(term, clock.monotonic() + seconds(4));
        assert!(changes.has_changed().unwrap());
        assert_eq!(*changes.borrow_and_update(), Some(term));
        leadership.hold(term, clock.monotonic() + seconds(8));
        assert!(!changes.has_changed().unwrap(), "a renewal is no change");
        leadership.let_go();
        assert_eq!(*changes.borrow_and_update(), None);
    }
}

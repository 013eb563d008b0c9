//! The Lease object as the election sees it, and what follows from how it changes under our eyes.
//!
//! No time written by another machine is compared with ours: a lease is over when it has not changed for its duration by the local
//! clock since we first saw it as it is.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::ResourceExt as _;

use super::sharing::{STORE_ANNOTATION, StoreKind};
use super::standing::Term;

/// A lease and since when it has been as it is.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    pub(super) lease: Lease,
    since: Instant,
    /// Whether it changed while we looked, so that its holder is alive and not only written down.
    pub(super) is_alive: bool,
}

/// What a lease says to a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Free,
    Ours,
    Held { by: String, expires_at: Instant },
}

impl Observed {
    /// Takes note of the lease as it is now.
    pub(super) fn look(before: Option<&Self>, lease: Lease, now: Instant) -> Self {
        match before {
            Some(before) if before.lease.spec == lease.spec => Self {
                lease,
                since: before.since,
                is_alive: before.is_alive,
            },
            before => Self {
                is_alive: before.is_some_and(|before| holder(&before.lease) == holder(&lease)),
                lease,
                since: now,
            },
        }
    }

    pub(super) fn state(&self, identity: &str, duration: Duration, now: Instant) -> State {
        let Some(by) = holder(&self.lease) else {
            return State::Free;
        };
        if by == identity {
            return State::Ours;
        }
        // Of two replicas with different settings, the longer duration holds.
        let written = self
            .lease
            .spec
            .as_ref()
            .and_then(|spec| spec.lease_duration_seconds);
        let written = Duration::from_secs(
            written
                .and_then(|seconds| u64::try_from(seconds).ok())
                .unwrap_or(0),
        );
        let expires_at = self.since + duration.max(written);
        if now >= expires_at {
            return State::Free;
        }
        State::Held {
            by: by.to_owned(),
            expires_at,
        }
    }

    /// Which store the holder keeps its books in, where it says so.
    pub(super) fn store(&self) -> Option<StoreKind> {
        self.lease.annotations().get(STORE_ANNOTATION)?.parse().ok()
    }
}

pub(super) fn holder(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref()?.holder_identity.as_deref()?;
    (!holder.is_empty()).then_some(holder)
}

/// The term of a lease as the server answered it.
pub(super) fn term(lease: &Lease) -> Term {
    let created = lease.metadata.creation_timestamp.as_ref();
    let transitions = lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
    Term::new(
        created.map_or(0, |time| time.0.as_second()),
        transitions
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(0),
    )
}

/// The lease with us as its new holder. Every taking is a transition, also from our former self: the term is what fences.
pub(super) fn taken(
    mut lease: Lease,
    identity: &str,
    duration: Duration,
    store: StoreKind,
    now: Timestamp,
) -> Lease {
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    spec.holder_identity = Some(identity.to_owned());
    spec.lease_duration_seconds = Some(whole_seconds(duration));
    spec.acquire_time = Some(MicroTime(now));
    spec.renew_time = Some(MicroTime(now));
    spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
    lease
        .annotations_mut()
        .insert(STORE_ANNOTATION.to_owned(), store.as_str().to_owned());
    lease
}

pub(super) fn renewed(mut lease: Lease, now: Timestamp) -> Lease {
    if let Some(spec) = &mut lease.spec {
        spec.renew_time = Some(MicroTime(now));
    }
    lease
}

/// The lease without a holder, so that the next candidate need not wait.
pub(super) fn released(mut lease: Lease, now: Timestamp) -> Lease {
    if let Some(spec) = &mut lease.spec {
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(now));
    }
    lease
}

fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(seconds.max(1)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    //! Expiry is judged by change under our eyes.

    use gpu_runtime::{Clock as _, SystemClock};

    use super::*;

    const LEASE: Duration = Duration::from_secs(6);

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn lease(holder: &str, renewed: &str) -> Lease {
        Lease {
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.to_owned()),
                lease_duration_seconds: Some(6),
                renew_time: Some(MicroTime(at(renewed))),
                lease_transitions: Some(3),
                ..LeaseSpec::default()
            }),
            ..Lease::default()
        }
    }

    #[test]
    fn a_clock_that_is_hours_off_changes_nothing() {
        let begin = SystemClock.monotonic();
        // Written by a machine that lives in another year.
        let seen = Observed::look(None, lease("b", "1999-01-01T00:00:00Z"), begin);
        let expires_at = begin + LEASE;
        let held = State::Held {
            by: "b".to_owned(),
            expires_at,
        };
        assert_eq!(seen.state("a", LEASE, begin), held);
        assert!(!seen.is_alive, "one look proves no life");
        let again = Observed::look(Some(&seen), lease("b", "1999-01-01T00:00:00Z"), begin + LEASE / 2);
        assert_eq!(again.state("a", LEASE, begin + LEASE), State::Free);
        let renewed = Observed::look(
            Some(&again),
            lease("b", "1999-01-01T00:00:05Z"),
            begin + LEASE / 2,
        );
        assert!(renewed.is_alive);
        assert!(matches!(
            renewed.state("a", LEASE, begin + LEASE),
            State::Held { .. }
        ));
    }

    #[test]
    fn a_longer_duration_of_the_holder_is_respected() {
        let begin = SystemClock.monotonic();
        let seen = Observed::look(None, lease("b", "2026-01-01T00:00:00Z"), begin);
        let short = Duration::from_secs(1);
        assert!(matches!(
            seen.state("a", short, begin + 2 * short),
            State::Held { .. }
        ));
    }

    #[test]
    fn a_released_lease_is_free_at_once_and_taking_it_is_a_transition() {
        let begin = SystemClock.monotonic();
        let now = at("2026-01-01T00:00:00Z");
        let free = Observed::look(None, released(lease("b", "2026-01-01T00:00:00Z"), now), begin);
        assert_eq!(free.state("a", LEASE, begin), State::Free);
        let ours = taken(free.lease, "a", LEASE, StoreKind::Postgres, now);
        assert_eq!(term(&ours).transitions(), 4);
        let seen = Observed::look(None, ours, begin);
        assert_eq!(seen.state("a", LEASE, begin), State::Ours);
        assert_eq!(seen.store(), Some(StoreKind::Postgres));
    }
}

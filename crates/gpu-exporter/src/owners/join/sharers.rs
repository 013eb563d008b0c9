//! The containers of one place, and whose of them a process is.

use std::sync::Arc;

use gpu_model::Reading;

use super::place::Process;
use super::{Attribution, Held, ProcessOwner};
use crate::owners::Given;
use crate::readings::SliceId;
use crate::snapshot::{HeldPart, Holder, UnattributedReason};

/// How a process relates to a container that holds the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Own,
    /// Of the same pod; which container is not known.
    SamePod,
    /// Proven to be somebody else's.
    Foreign,
    Unclear,
}

pub(super) fn relation(owner: &ProcessOwner, held: &Held) -> Relation {
    let (uid, pod, container) = match owner {
        ProcessOwner::Pod { uid, pod, container } => (uid, pod, container),
        ProcessOwner::Outside => return Relation::Foreign,
        ProcessOwner::Unreadable => return Relation::Unclear,
    };
    let same_pod = match (uid, &held.uid, pod) {
        (Some(uid), Some(held_uid), _) => uid == held_uid,
        (_, _, Some((namespace, name))) => (namespace, name) == (&held.namespace, &held.pod),
        _ => return Relation::Unclear,
    };
    match container {
        _ if !same_pod => Relation::Foreign,
        Some(container) if *container == held.container => Relation::Own,
        Some(_) => Relation::Foreign,
        None => Relation::SamePod,
    }
}

/// One container of the place, which may hold several replicas of it.
pub(super) struct Sharer<'a> {
    pub(super) held: &'a Held,
    pub(super) given: Given,
    /// Whether a process may be its own although nothing proves it.
    pub(super) doubt: bool,
}

/// Whose a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Sharer(usize),
    Nobody(UnattributedReason),
}

/// One entry a container, in an order that does not depend on the kubelet's.
pub(super) fn merge<'a>(held: &[&'a Held]) -> Vec<Sharer<'a>> {
    let mut sorted: Vec<&Held> = held.to_vec();
    sorted.sort_by_cached_key(|held| {
        let replica = match &held.given {
            Given::Replica(number) => number.parse::<u32>().unwrap_or(u32::MAX),
            Given::Alone | Given::Claim { .. } => 0,
        };
        let owner = (held.namespace.clone(), held.pod.clone(), held.container.clone());
        (owner, replica, (*held).clone())
    });
    let mut sharers: Vec<Sharer<'a>> = Vec::new();
    for held in sorted {
        let owner = |held: &'a Held| (&held.namespace, &held.pod, &held.container);
        match sharers.last_mut() {
            Some(last) if owner(last.held) == owner(held) => last.merge(&held.given),
            _ => sharers.push(Sharer {
                held,
                given: held.given.clone(),
                doubt: false,
            }),
        }
    }
    sharers
}

/// Holders of a sliced device as a whole, or of a slice of it that is not known: nothing is measured for them alone.
pub(super) fn hold_without_figures(held: &[&Held], to: &mut Attribution) {
    for sharer in merge(held) {
        let holder = sharer.holder(None);
        let key = |other: &Holder| {
            other.slice.is_none()
                && (&other.namespace, &other.pod, &other.container)
                    == (&holder.namespace, &holder.pod, &holder.container)
        };
        // A plugin that names a device both whole and sliced is wrong about one of the two.
        if !to.holders.iter().any(key) {
            to.holders.push(holder);
        }
    }
}

impl Sharer<'_> {
    pub(super) fn holder(&self, slice: Option<SliceId>) -> Holder {
        Holder {
            namespace: self.held.namespace.clone(),
            pod: self.held.pod.clone(),
            container: self.held.container.clone(),
            uid: self.held.uid.clone(),
            labels: Arc::default(),
            slice,
            part: part_of(&self.given, slice),
            memory_bytes: Reading::Unsupported,
            utilization: Reading::Unsupported,
        }
    }

    /// Several replicas in one container are one use: `0,2`.
    fn merge(&mut self, more: &Given) {
        match (&mut self.given, more) {
            (Given::Replica(replicas), Given::Replica(another))
                if !replicas.split(',').any(|replica| replica == another) =>
            {
                replicas.push(',');
                replicas.push_str(another);
            }
            // A claim without a share beside one with a share: the device is shared.
            (
                Given::Claim {
                    share: own @ None, ..
                },
                Given::Claim {
                    share: Some(share), ..
                },
            ) => {
                *own = Some(share.clone());
            }
            _ => {}
        }
    }
}

/// What the snapshot says of a part.
fn part_of(given: &Given, slice: Option<SliceId>) -> HeldPart {
    match (given, slice) {
        (Given::Alone, None) => HeldPart::Whole,
        (Given::Alone, Some(slice)) => HeldPart::Slice(slice),
        (Given::Replica(replica), _) => HeldPart::Replica(replica.clone()),
        (Given::Claim { claim, share }, _) => HeldPart::Claim {
            claim: claim.clone(),
            share: share.clone(),
        },
    }
}

/// Whether the place was given to one container and to nobody else.
pub(super) fn is_alone(sharers: &[Sharer<'_>]) -> bool {
    match sharers {
        [one] => match one.given {
            Given::Alone | Given::Claim { share: None, .. } => true,
            Given::Replica(_) | Given::Claim { share: Some(_), .. } => false,
        },
        _ => false,
    }
}

pub(super) fn judge(process: &Process<'_>, sharers: &mut [Sharer<'_>]) -> Verdict {
    let alone = is_alone(sharers);
    let relations = |wanted: Relation, sharers: &[Sharer<'_>]| {
        let mut fitting = sharers
            .iter()
            .enumerate()
            .filter(|(_, sharer)| relation(process.owner, sharer.held) == wanted)
            .map(|(at, _)| at);
        (fitting.next(), fitting.next())
    };
    if let (Some(at), _) = relations(Relation::Own, sharers) {
        return Verdict::Sharer(at);
    }
    match relations(Relation::SamePod, sharers) {
        (Some(at), None) => return Verdict::Sharer(at),
        (Some(_), Some(_)) => {
            doubt(process, sharers, Relation::SamePod);
            return Verdict::Nobody(UnattributedReason::UnknownContainer);
        }
        (None, _) => {}
    }
    // The kubelet gave the place to this container alone: what is not proven to be another's is its own.
    if alone && relations(Relation::Unclear, sharers).0.is_some() {
        return Verdict::Sharer(0);
    }
    doubt(process, sharers, Relation::Unclear);
    Verdict::Nobody(match process.owner {
        ProcessOwner::Pod { .. } => UnattributedReason::UnknownPod,
        ProcessOwner::Outside => UnattributedReason::OutsideKubernetes,
        ProcessOwner::Unreadable => UnattributedReason::UnreadableProcess,
    })
}

/// Remembers that the process may be one of theirs, so that none of them is said to have none.
fn doubt(process: &Process<'_>, sharers: &mut [Sharer<'_>], because: Relation) {
    for sharer in sharers {
        sharer.doubt |= relation(process.owner, sharer.held) == because;
    }
}

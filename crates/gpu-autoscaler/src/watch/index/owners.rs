//! Objects that own pods: those of watched kinds, and those of other projects, which are asked for one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gpu_k8s::convert::OwnerFacts;
use gpu_k8s::owners::{Known, OwnerLink};
use gpu_model::PodKey;
use jiff::Timestamp;

use super::ObjectKey;
use crate::watch::Kind;

/// More owners of other projects than this are not asked for: their pods end their chain at the direct owner.
const MOST_FOREIGN: usize = 10_000;
/// An owner that was found changes its own owner next to never.
const KEEP_FOUND: Duration = Duration::from_secs(3600);
/// An owner that was not found or not allowed may have been a matter of a role that gets bound.
const KEEP_NOT_FOUND: Duration = Duration::from_secs(600);

/// An owner of a kind that is not watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::watch) struct ForeignOwner {
    pub(in crate::watch) id: String,
    pub(in crate::watch) namespace: String,
    pub(in crate::watch) link: OwnerLink,
}

/// What was said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::watch) enum Answer {
    Found {
        owner: Option<OwnerLink>,
    },
    /// It is gone, its kind is unknown, or the account may not see it.
    NotFound,
}

#[derive(Debug, Default)]
pub(super) struct Owners {
    records: BTreeMap<String, Record>,
    uids: BTreeMap<(Kind, ObjectKey), String>,
    foreign: BTreeMap<String, Foreign>,
    /// Which pods hang on an owner, by the owner's id, at any height.
    dependents: BTreeMap<String, BTreeSet<PodKey>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Record {
    owner: Option<OwnerLink>,
    replicas: Option<u32>,
}

#[derive(Debug)]
struct Foreign {
    question: ForeignOwner,
    answer: Option<(Answer, Timestamp)>,
}

/// The uid, or what else tells an owner from others.
pub(super) fn id(namespace: &str, link: &OwnerLink) -> String {
    match link.uid.as_str() {
        "" => format!("{namespace}/{}/{}/{}", link.group(), link.kind, link.name),
        uid => uid.to_owned(),
    }
}

impl Owners {
    /// Answers with the pods that hang on what has changed.
    pub(super) fn put(&mut self, kind: Kind, key: &ObjectKey, facts: OwnerFacts) -> Vec<PodKey> {
        let record = Record {
            owner: facts.owner,
            replicas: facts.replicas,
        };
        let mut changed = Vec::new();
        let before = self.uids.insert((kind, key.clone()), facts.uid.clone());
        // Deleted and made again under the same name while nobody watched.
        if let Some(before) = before.filter(|before| *before != facts.uid) {
            self.records.remove(&before);
            changed.extend(self.dependents_of(&before));
        }
        if self.records.get(&facts.uid) != Some(&record) {
            changed.extend(self.dependents_of(&facts.uid));
            self.records.insert(facts.uid, record);
        }
        changed
    }

    pub(super) fn remove(&mut self, kind: Kind, key: &ObjectKey) -> Vec<PodKey> {
        let Some(uid) = self.uids.remove(&(kind, key.clone())) else {
            return Vec::new();
        };
        self.records.remove(&uid);
        self.dependents_of(&uid)
    }

    pub(super) fn keys(&self, kind: Kind) -> Vec<ObjectKey> {
        self.uids
            .range((kind, ObjectKey::new("", ""))..)
            .take_while(|((found, _), _)| *found == kind)
            .map(|((_, key), _)| key.clone())
            .collect()
    }

    pub(super) fn look(&self, namespace: &str, link: &OwnerLink) -> Known {
        if Kind::watches_owner(link.group(), &link.kind) {
            return match self.records.get(&link.uid) {
                None => Known::NotSeen,
                Some(Record { owner: None, .. }) => Known::Top,
                Some(Record {
                    owner: Some(owner), ..
                }) => Known::OwnedBy(owner.clone()),
            };
        }
        let foreign = self.foreign.get(&id(namespace, link));
        match foreign.and_then(|foreign| foreign.answer.as_ref()) {
            None | Some((Answer::NotFound, _)) => Known::NotSeen,
            Some((Answer::Found { owner: None }, _)) => Known::Top,
            Some((Answer::Found { owner: Some(owner) }, _)) => Known::OwnedBy(owner.clone()),
        }
    }

    pub(super) fn replicas(&self, link: &OwnerLink) -> Option<u32> {
        self.records.get(&link.uid)?.replicas
    }

    /// A pod hangs on these owners.
    pub(super) fn link(&mut self, pod: &PodKey, namespace: &str, chain: &[OwnerLink]) {
        for owner in chain {
            let id = id(namespace, owner);
            self.dependents.entry(id.clone()).or_default().insert(pod.clone());
            let is_watched = Kind::watches_owner(owner.group(), &owner.kind);
            if !is_watched && self.foreign.len() < MOST_FOREIGN {
                self.foreign.entry(id.clone()).or_insert_with(|| Foreign {
                    question: ForeignOwner {
                        id,
                        namespace: namespace.to_owned(),
                        link: owner.clone(),
                    },
                    answer: None,
                });
            }
        }
    }

    pub(super) fn unlink(&mut self, pod: &PodKey, namespace: &str, chain: &[OwnerLink]) {
        for owner in chain {
            let id = id(namespace, owner);
            if let Some(pods) = self.dependents.get_mut(&id) {
                pods.remove(pod);
                if pods.is_empty() {
                    self.dependents.remove(&id);
                }
            }
        }
    }

    /// Owners to ask for: never asked, or asked too long ago. Owners without pods are forgotten.
    pub(super) fn questions(&mut self, now: Timestamp, most: usize) -> Vec<ForeignOwner> {
        self.foreign.retain(|id, _| self.dependents.contains_key(id));
        let is_due = |foreign: &&Foreign| match &foreign.answer {
            None => true,
            Some((Answer::Found { .. }, at)) => is_older(*at, now, KEEP_FOUND),
            Some((Answer::NotFound, at)) => is_older(*at, now, KEEP_NOT_FOUND),
        };
        self.foreign
            .values()
            .filter(is_due)
            .take(most)
            .map(|foreign| foreign.question.clone())
            .collect()
    }

    /// Answers with the pods that hang on it, if it says something new.
    pub(super) fn answer(&mut self, id: &str, answer: Answer, now: Timestamp) -> Vec<PodKey> {
        let Some(foreign) = self.foreign.get_mut(id) else {
            return Vec::new();
        };
        let before = foreign.answer.replace((answer.clone(), now));
        if before.is_some_and(|(before, _)| before == answer) {
            return Vec::new();
        }
        self.dependents_of(id)
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn foreign_len(&self) -> usize {
        self.foreign.len()
    }

    fn dependents_of(&self, id: &str) -> Vec<PodKey> {
        self.dependents
            .get(id)
            .map_or_else(Vec::new, |pods| pods.iter().cloned().collect())
    }
}

fn is_older(at: Timestamp, now: Timestamp, age: Duration) -> bool {
    Duration::try_from(now.duration_since(at)).is_ok_and(|elapsed| elapsed >= age)
}

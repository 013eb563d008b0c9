//! How the watches fare: what was seen, what may not be seen, and which objects were set aside.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::Kind;
use super::index::ObjectKey;

/// A kind that is merely nice to have and still fails after this time is waited for no longer.
const WAIT_FOR_OPTIONAL: Duration = Duration::from_secs(30);
/// A page names this many objects; the count is of all.
const NAMED: usize = 20;

/// How the watch of one kind fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindStatus {
    pub kind: Kind,
    pub access: Access,
    /// All of its objects were seen at least once.
    pub is_synced: bool,
    /// When an event, or a sign of life, last arrived.
    pub last_event: Option<Timestamp>,
    /// How often the watch had to be taken up again after a failure.
    pub restarts: u64,
    pub set_aside: SetAside,
}

/// What the API server says to our wish to watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Access {
    /// It was not asked yet.
    #[default]
    NotAsked,
    Watching,
    /// The account may not.
    Forbidden {
        why: String,
        since: Timestamp,
    },
    /// The cluster has no such kind.
    Missing {
        since: Timestamp,
    },
    /// It does not answer, or not as it should.
    Failing {
        why: String,
        since: Timestamp,
    },
}

/// Objects that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetAside {
    pub count: usize,
    /// The first of them with the reason.
    pub named: Vec<(String, String)>,
}

#[derive(Default)]
pub(super) struct Board {
    kinds: BTreeMap<Kind, Entry>,
}

#[derive(Default)]
struct Entry {
    access: Access,
    is_synced: bool,
    last_event: Option<Timestamp>,
    restarts: u64,
    set_aside: BTreeMap<ObjectKey, String>,
}

/// What went wrong, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    Forbidden(String),
    Missing,
    Failing(String),
}

impl Board {
    fn entry(&mut self, kind: Kind) -> &mut Entry {
        self.kinds.entry(kind).or_default()
    }

    /// A list or a watch was answered, or something arrived.
    pub(super) fn alive(&mut self, kind: Kind, now: Timestamp) {
        let entry = self.entry(kind);
        entry.access = Access::Watching;
        entry.last_event = Some(now);
    }

    /// All objects were seen.
    pub(super) fn synced(&mut self, kind: Kind) {
        self.entry(kind).is_synced = true;
    }

    /// Answers whether it is news.
    pub(super) fn trouble(&mut self, kind: Kind, trouble: Trouble, now: Timestamp) -> bool {
        let entry = self.entry(kind);
        let since = match entry.access {
            Access::Forbidden { since, .. } | Access::Missing { since } | Access::Failing { since, .. } => {
                since
            }
            Access::Watching => {
                entry.restarts += 1;
                now
            }
            Access::NotAsked => now,
        };
        let before = std::mem::discriminant(&entry.access);
        entry.access = match trouble {
            Trouble::Forbidden(why) => Access::Forbidden { why, since },
            Trouble::Missing => Access::Missing { since },
            Trouble::Failing(why) => Access::Failing { why, since },
        };
        before != std::mem::discriminant(&entry.access)
    }

    pub(super) fn set_aside(&mut self, kind: Kind, key: ObjectKey, why: String) {
        self.entry(kind).set_aside.insert(key, why);
    }

    /// The object can be read, or is gone.
    pub(super) fn take_back(&mut self, kind: Kind, key: &ObjectKey) {
        if let Some(entry) = self.kinds.get_mut(&kind) {
            entry.set_aside.remove(key);
        }
    }

    pub(super) fn set_aside_keys(&self, kind: Kind) -> Vec<ObjectKey> {
        let entry = self.kinds.get(&kind);
        entry.map_or_else(Vec::new, |entry| entry.set_aside.keys().cloned().collect())
    }

    pub(super) fn is_synced(&self, kind: Kind) -> bool {
        self.kinds.get(&kind).is_some_and(|entry| entry.is_synced)
    }

    /// Kinds without which the picture would be wrong rather than poorer.
    pub(super) fn waiting_for(&self, now: Timestamp) -> Vec<&'static str> {
        let is_missed = |kind: &Kind| {
            let Some(entry) = self.kinds.get(kind) else {
                return true;
            };
            if entry.is_synced {
                return false;
            }
            match &entry.access {
                _ if kind.is_mandatory() => true,
                Access::Forbidden { .. } | Access::Missing { .. } => false,
                Access::Failing { since, .. } => elapsed(*since, now) < WAIT_FOR_OPTIONAL,
                Access::NotAsked | Access::Watching => true,
            }
        };
        Kind::ALL.into_iter().filter(is_missed).map(Kind::name).collect()
    }

    /// The instant that the picture shows.
    pub(super) fn as_of(&self, now: Timestamp) -> Timestamp {
        let broken = self.kinds.iter().filter(|(kind, _)| kind.is_mandatory());
        broken
            .filter_map(|(_, entry)| match &entry.access {
                Access::Forbidden { since, .. }
                | Access::Missing { since }
                | Access::Failing { since, .. } => Some(*since),
                Access::NotAsked | Access::Watching => None,
            })
            .fold(now, Timestamp::min)
    }

    pub(super) fn status(&self) -> Vec<KindStatus> {
        let status = |kind: Kind| {
            let nothing = Entry::default();
            let entry = self.kinds.get(&kind).unwrap_or(&nothing);
            let named = entry.set_aside.iter().take(NAMED);
            KindStatus {
                kind,
                access: entry.access.clone(),
                is_synced: entry.is_synced,
                last_event: entry.last_event,
                restarts: entry.restarts,
                set_aside: SetAside {
                    count: entry.set_aside.len(),
                    named: named.map(|(key, why)| (key.to_string(), why.clone())).collect(),
                },
            }
        };
        Kind::ALL.into_iter().map(status).collect()
    }
}

/// A clock that stepped back counts as no time.
fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(since)).unwrap_or_default()
}

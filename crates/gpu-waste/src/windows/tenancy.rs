//! What is remembered of a pod on a part of a GPU for as long as it holds it, however long that is.

use gpu_model::{Owner, Pod};
use jiff::Timestamp;

use crate::activity::Act;

/// The time of one holder on one part, or the time in which nobody held it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tenancy {
    /// The first observation of it.
    pub(crate) since: Timestamp,
    /// The first cycle of it: slots before speak of somebody else.
    pub(crate) first_cycle: u32,
    pub(crate) first_activity: Option<Timestamp>,
    pub(crate) last_activity: Option<Timestamp>,
    /// Since when every look found it idle. A gap in the data ends it: nobody knows what happened in a gap.
    pub(crate) idle_since: Option<Timestamp>,
    /// Memory that grows is work, even where nothing is computed: a model is being loaded.
    pub(crate) last_growth: Option<Timestamp>,
    pub(crate) peak_memory_mib: Option<u32>,
    /// The most of its part that it used at once: multiprocessors, or the draw where those are not told, in thousandths.
    pub(crate) peak_effort: Option<u16>,
    last_memory_mib: Option<u32>,
}

/// Allocators move by some pages all the time; a model that is loaded moves by more, in thousandths of the part's memory.
const GROWTH: u32 = 4;

impl Tenancy {
    pub(crate) fn new(since: Timestamp, first_cycle: u32) -> Self {
        Self {
            since,
            first_cycle,
            first_activity: None,
            last_activity: None,
            idle_since: None,
            last_growth: None,
            peak_memory_mib: None,
            peak_effort: None,
            last_memory_mib: None,
        }
    }

    pub(crate) fn note(&mut self, at: Timestamp, seen: &Seen) {
        match seen.act {
            Act::Active => {
                self.first_activity = self.first_activity.or(Some(at));
                self.last_activity = self.last_activity.max(Some(at));
                self.idle_since = None;
            }
            Act::Idle => self.idle_since = self.idle_since.or(Some(at)),
            Act::Unknown => {}
        }
        self.peak_effort = self.peak_effort.max(seen.effort);
        if let Some(memory) = seen.memory_mib {
            self.peak_memory_mib = self.peak_memory_mib.max(Some(memory));
            let step = seen.memory_total_mib.unwrap_or(0) / 1000 * GROWTH;
            if self
                .last_memory_mib
                .is_some_and(|before| memory > before.saturating_add(step))
            {
                self.last_growth = self.last_growth.max(Some(at));
            }
            self.last_memory_mib = Some(memory);
        }
    }
}

/// One look at a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) act: Act,
    pub(crate) effort: Option<u16>,
    pub(crate) memory_mib: Option<u32>,
    pub(crate) memory_total_mib: Option<u32>,
}

/// Whether two holders are one. A source that does not tell uids still tells names, and a pod that is created anew under the
/// same name then has another start.
pub(crate) fn is_same(before: Option<&Owner>, now: Option<&Owner>) -> bool {
    match (before, now) {
        (None, None) => true,
        (Some(before), Some(now)) => is_same_pod(&before.pod, &now.pod),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn is_same_pod(before: &Pod, now: &Pod) -> bool {
    let (a, b) = (&before.reference, &now.reference);
    match (&a.uid, &b.uid) {
        (Some(before), Some(now)) => before == now,
        _ => {
            (&a.namespace, &a.name) == (&b.namespace, &b.name)
                && match (before.started_at, now.started_at) {
                    (Some(before), Some(now)) => before == now,
                    _ => true,
                }
        }
    }
}

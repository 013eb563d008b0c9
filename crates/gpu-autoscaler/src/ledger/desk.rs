//! The books on the desk: what is known, what is closed, and what has to be written next. Values in, values out; the keeper gives it a
//! thread and the store's answers.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use gpu_cost::watching::Notes;
use gpu_cost::{Books, EndedPod, Event, Grain, LedgerRow, Look, Moment, Noted, PriceBook, Span, Watcher};
use gpu_model::{ClusterId, ClusterPicture, FleetView, GpuUuid, MachineId, PodUid};
use gpu_store::entries::usage_record;
use gpu_store::record::Record;

use super::kept::{Heart, Kept, RING, Scribe};
use super::settings::LedgerSettings;

/// For so long after it took over, a keeper looks whether a write of its predecessor was still under way: longer than any store tries.
const CAUTIOUS_FOR_MS: i64 = 900_000;
/// So many of the newest windows are looked at then.
const CAUTIOUS_WINDOWS: usize = 3;

pub(super) struct Desk {
    cluster: ClusterId,
    settings: Arc<LedgerSettings>,
    watcher: Watcher,
    books: Books,
    /// Known once the store has told.
    settled_until: Option<Moment>,
    cautious_until: Moment,
    blind: Vec<Span>,
    /// Samples before this were given up, because the store was away for too long.
    given_up_to: Moment,
    dirty: Dirty,
    place: u64,
    /// The look that the store knows of.
    written_look: Option<Moment>,
    /// Windows that this process closed, oldest first.
    closed: VecDeque<Closed>,
    /// The earliest instant before `settled_until` of which something was learnt since.
    late_from: Option<Moment>,
    prices: Option<Arc<PriceBook>>,
    /// How often the window that is due was refused.
    refusals: u32,
    pub(super) set_aside: u64,
    pub(super) blind_ms: i64,
}

/// What changed and is not written.
#[derive(Debug, Default)]
struct Dirty {
    machines: BTreeSet<MachineId>,
    pods: BTreeSet<PodUid>,
    notes: VecDeque<Notes>,
}

#[derive(Debug, Clone, Copy)]
struct Closed {
    window: Span,
    /// Of all the rows it should have.
    digest: u128,
}

/// What is to be written next.
pub(super) struct Work {
    /// A window to close.
    pub(super) close: Option<Fresh>,
    /// Windows that may have to be corrected.
    pub(super) correct: Vec<Fresh>,
    /// Whether the window may hold rows of somebody else.
    pub(super) is_cautious: bool,
    pub(super) records: Vec<Record>,
    pub(super) replacements: Vec<Record>,
    pub(super) receipt: Receipt,
}

/// A window and the rows that it should have.
pub(super) struct Fresh {
    pub(super) window: Span,
    pub(super) rows: Vec<LedgerRow>,
}

/// What is true once the work is written, and given back where it was not.
pub(super) struct Receipt {
    closed: Option<Closed>,
    corrected: Vec<Closed>,
    prices: Arc<PriceBook>,
    look: Option<Moment>,
    dirty: Dirty,
    places: u64,
}

impl Desk {
    pub(super) fn new(cluster: ClusterId, settings: Arc<LedgerSettings>) -> Self {
        Self {
            watcher: Watcher::new(settings.watch.clone()),
            books: Books::new(cluster.clone()),
            cluster,
            settings,
            settled_until: None,
            cautious_until: Moment(i64::MIN),
            blind: Vec::new(),
            given_up_to: Moment(i64::MIN),
            dirty: Dirty::default(),
            place: 0,
            written_look: None,
            closed: VecDeque::new(),
            late_from: None,
            prices: None,
            refusals: 0,
            set_aside: 0,
            blind_ms: 0,
        }
    }

    pub(super) fn settled_until(&self) -> Option<Moment> {
        self.settled_until
    }

    /// Takes a round in.
    pub(super) fn look(
        &mut self,
        view: &FleetView,
        picture: Option<&ClusterPicture>,
        unhealthy: &BTreeSet<GpuUuid>,
        ended: &[EndedPod],
    ) {
        let look = Look {
            view,
            picture,
            unhealthy,
        };
        let noted = self.watcher.look(&look);
        self.take(noted);
        for pod in ended {
            let noted = self.watcher.pod_ended(pod, picture, &self.books);
            self.take(noted);
        }
        self.stay_within(Moment::from(view.at));
    }

    fn take(&mut self, noted: Noted) {
        self.record(&noted.events);
        self.set_aside += u64::try_from(noted.set_aside).unwrap_or(0);
        self.dirty.machines.extend(noted.machines);
        self.dirty.pods.extend(noted.pods);
        self.dirty.notes.extend(noted.notes);
        while self.dirty.notes.len() > usize::try_from(RING).unwrap_or(usize::MAX) {
            self.dirty.notes.pop_front();
        }
        if let Some(span) = noted.blind {
            self.blind.push(span);
            self.blind_ms += span.milliseconds();
        }
    }

    fn record(&mut self, events: &[Event]) {
        for event in events {
            if self.books.record(event).is_err() {
                self.set_aside += 1;
            }
            let at = begins(event);
            if self.settled_until.is_some_and(|until| at < until) {
                self.late_from = Some(self.late_from.map_or(at, |late| late.min(at)));
            }
        }
    }

    /// Gives up samples that have waited for longer than the books may hold them. The time itself stays, as time unknown.
    fn stay_within(&mut self, now: Moment) {
        let limit = self.grain().bucket(now.plus(-self.settings.hold_for_ms)).start;
        match self.settled_until {
            Some(until) if until >= limit => {}
            Some(until) => {
                let span = Span::new(self.given_up_to.max(until), limit);
                if !span.is_empty() {
                    self.tell_blind(span);
                    self.blind_ms += span.milliseconds();
                    self.given_up_to = limit;
                    self.books.forget_before(limit);
                }
            }
            None => self.books.forget_before(limit),
        }
    }

    fn grain(&self) -> Grain {
        self.settings.settle.grain
    }

    /// Goes on from what the store holds, or begins a ledger.
    pub(super) fn open(&mut self, kept: Option<Kept>, now: Moment) {
        self.closed.clear();
        self.refusals = 0;
        self.cautious_until = now.plus(CAUTIOUS_FOR_MS);
        match kept {
            Some(kept) => {
                self.settled_until = Some(kept.settled_until);
                self.place = kept.place;
                self.set_aside += kept.set_aside;
                let noted = self
                    .watcher
                    .absorb(kept.machines, kept.pods, &kept.notes, kept.last);
                self.take(noted);
                for span in kept.blind {
                    self.tell_blind(span);
                }
            }
            None => {
                let first = self.watcher.last().unwrap_or(now);
                let start = self.grain().bucket(first).start;
                self.settled_until = Some(start);
                if start < first {
                    self.tell_blind(Span::new(start, first));
                }
            }
        }
        // Whatever is known here replaces what the predecessor wrote.
        self.dirty.machines = self
            .watcher
            .machines()
            .map(|memo| memo.machine.id.clone())
            .collect();
        self.dirty.pods = self.watcher.pods().map(|memo| memo.holder.uid.clone()).collect();
    }

    fn tell_blind(&mut self, span: Span) {
        let mut events = Vec::new();
        self.watcher.tell_blind(span, &mut events);
        self.record(&events);
        self.blind.push(span);
    }

    /// Another replica wrote up to here: what is older need not be kept for a change of leader.
    pub(super) fn follow(&mut self, settled_until: Moment) {
        self.settled_until = Some(settled_until);
        self.dirty = Dirty::default();
        self.closed.clear();
        self.late_from = None;
        self.forget();
    }

    /// What has to be written now. None where the store knows everything.
    pub(super) fn next_work(&mut self, prices: &Arc<PriceBook>, now: Moment) -> Option<Work> {
        let settled_until = self.settled_until?;
        let look = self.watcher.last();
        let window = self.grain().bucket(settled_until);
        let is_due = window.end.plus(self.settings.lateness_ms) <= now
            && look.is_some_and(|look| window.end.plus(self.settings.lateness_ms) <= look);
        if !is_due && look == self.written_look {
            return None;
        }
        let is_cautious = now < self.cautious_until || self.refusals > 0;
        let rows = is_due.then(|| {
            // After two refusals the window is set aside, so that the ledger goes on.
            if self.refusals < 2 {
                self.settle(window, prices)
            } else {
                Vec::new()
            }
        });
        let closed = rows.as_ref().map(|rows| Closed {
            window,
            digest: digest(rows),
        });
        let (correct, corrected) = if is_due {
            self.corrections(prices, is_cautious)
        } else {
            Default::default()
        };
        let records = match &rows {
            Some(_) if self.refusals == 0 => self.usage(window, prices),
            _ => Vec::new(),
        };
        let scribe_until = if is_due { window.end } else { settled_until };
        let (replacements, dirty, places) = self.replacements(scribe_until);
        Some(Work {
            close: rows.map(|rows| Fresh { window, rows }),
            correct,
            is_cautious,
            records,
            replacements,
            receipt: Receipt {
                closed,
                corrected,
                prices: prices.clone(),
                look,
                dirty,
                places,
            },
        })
    }

    fn settle(&self, window: Span, prices: &PriceBook) -> Vec<LedgerRow> {
        // A ledger begins within a window, and nothing before its begin is anybody's.
        self.books.settle(window, prices, &self.settings.settle)
    }

    /// Closed windows that would be settled otherwise now.
    fn corrections(&mut self, prices: &Arc<PriceBook>, is_cautious: bool) -> (Vec<Fresh>, Vec<Closed>) {
        let is_new_book = self.prices.as_ref().is_some_and(|old| !Arc::ptr_eq(old, prices));
        let late_from = self.late_from;
        let newest = self.closed.len().saturating_sub(CAUTIOUS_WINDOWS);
        let (mut correct, mut corrected) = (Vec::new(), Vec::new());
        for (place, closed) in self.closed.iter().enumerate() {
            let is_late = late_from.is_some_and(|late| closed.window.end > late);
            let is_watched = is_cautious && place >= newest;
            if !(is_new_book || is_late || is_watched) {
                continue;
            }
            let rows = self.settle(closed.window, prices);
            let digest = digest(&rows);
            if digest == closed.digest && !is_watched {
                continue;
            }
            let window = closed.window;
            correct.push(Fresh { window, rows });
            corrected.push(Closed { window, digest });
        }
        (correct, corrected)
    }

    /// The use of every template in an hour, once its last window is closed.
    fn usage(&mut self, window: Span, prices: &PriceBook) -> Vec<Record> {
        let hour = Grain::Hour.bucket(window.start);
        if window.end != hour.end {
            return Vec::new();
        }
        let settings = gpu_cost::Settings {
            grain: Grain::Hour,
            ..self.settings.settle
        };
        let rows = self.books.settle(hour, prices, &settings);
        let usage = self.books.usage(hour, Grain::Hour, &rows);
        let mut records = Vec::with_capacity(usage.len());
        for usage in usage.iter().filter(|usage| usage.samples > 0) {
            match usage_record(usage) {
                Ok(record) if record.checked_body().is_ok() => records.push(record),
                _ => self.set_aside += 1,
            }
        }
        records
    }

    /// Everything that changed, and where the ledger stands.
    fn replacements(&mut self, settled_until: Moment) -> (Vec<Record>, Dirty, u64) {
        let mut dirty = std::mem::take(&mut self.dirty);
        // What ended in the windows that are now written is closed.
        let is_over = |end: Option<gpu_cost::End>| end.is_some_and(|end| end.at <= settled_until);
        let before = self.settled_until.unwrap_or(settled_until);
        let is_newly_over =
            |end: Option<gpu_cost::End>| is_over(end) && end.is_some_and(|end| end.at > before);
        let machines = self.watcher.machines().filter(|memo| is_newly_over(memo.gone));
        dirty
            .machines
            .extend(machines.map(|memo| memo.machine.id.clone()));
        let pods = self.watcher.pods().filter(|memo| is_newly_over(memo.ended));
        dirty.pods.extend(pods.map(|memo| memo.holder.uid.clone()));
        let scribe = Scribe {
            cluster: &self.cluster,
            settled_until,
        };
        let mut records = Vec::with_capacity(dirty.machines.len() + dirty.pods.len() + 2);
        let mut set_aside = 0;
        let machines = dirty.machines.iter().filter_map(|id| self.watcher.machine(id));
        let pods = dirty.pods.iter().filter_map(|uid| self.watcher.pod(uid));
        let made = machines
            .map(|memo| scribe.machine(memo))
            .chain(pods.map(|memo| scribe.pod(memo)));
        for record in made {
            match record {
                Ok(record) => records.push(record),
                // It is in the books; only a restart would not know it.
                Err(_) => set_aside += 1,
            }
        }
        let mut places = 0;
        for notes in &dirty.notes {
            match scribe.notes(notes, self.place + places) {
                Ok(made) => records.extend(made),
                Err(_) => set_aside += 1,
            }
            places += 1;
        }
        if let Some(last) = self.watcher.last() {
            let heart = Heart {
                last,
                blind: self
                    .blind
                    .iter()
                    .filter(|span| span.end > settled_until)
                    .copied()
                    .collect(),
                place: self.place + places,
            };
            records.extend(scribe.heart(&heart));
        }
        self.set_aside += set_aside;
        (records, dirty, places)
    }

    /// The work is in the store.
    pub(super) fn written(&mut self, receipt: Receipt) {
        self.place += receipt.places;
        self.written_look = receipt.look;
        for corrected in receipt.corrected {
            let old = self.closed.iter_mut().find(|old| old.window == corrected.window);
            if let Some(old) = old {
                *old = corrected;
            }
        }
        if let Some(closed) = receipt.closed {
            self.settled_until = Some(closed.window.end);
            self.closed.push_back(closed);
            self.late_from = None;
            self.prices = Some(receipt.prices);
            self.refusals = 0;
            self.blind.retain(|span| span.end > closed.window.end);
            self.forget();
        }
    }

    /// The work is not in the store, and stays to be done.
    pub(super) fn not_written(&mut self, receipt: Receipt, is_refused: bool) -> bool {
        self.dirty.machines.extend(receipt.dirty.machines);
        self.dirty.pods.extend(receipt.dirty.pods);
        for notes in receipt.dirty.notes.into_iter().rev() {
            if self.dirty.notes.len() < usize::try_from(RING).unwrap_or(usize::MAX) {
                self.dirty.notes.push_front(notes);
            }
        }
        if is_refused && receipt.closed.is_some() {
            self.refusals += 1;
        }
        self.refusals == 2
    }

    fn forget(&mut self) {
        if let Some(until) = self.settled_until {
            let limit = until.plus(-self.settings.correct_for_ms);
            self.books.forget_before(limit);
            self.watcher.forget_before(limit);
            while self
                .closed
                .front()
                .is_some_and(|closed| closed.window.start < limit)
            {
                self.closed.pop_front();
            }
        }
    }
}

/// The earliest instant that an event speaks of and that can change a row.
fn begins(event: &Event) -> Moment {
    match event {
        Event::Launched { at, .. }
        | Event::Ready { at, .. }
        | Event::GpuSeen { at, .. }
        | Event::Draining { at, .. }
        | Event::Bound { at, .. }
        | Event::Running { at, .. } => *at,
        Event::Gone { end, .. } | Event::Ended { end, .. } => end.at,
        Event::GpuWithheld { span, .. }
        | Event::Cordoned { span, .. }
        | Event::Used { span, .. }
        | Event::Blind { span, .. } => span.start,
    }
}

/// The same for the same rows in any order: keys are digests of all that a row says.
fn digest(rows: &[LedgerRow]) -> u128 {
    rows.iter()
        .fold(0, |sum, row| sum ^ u128::from_be_bytes(row.key.0))
}

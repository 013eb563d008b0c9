//! What is known of every machine, gathered from events. The state is a join of facts: it depends on the set of events, not
//! on their order or number, which is what makes a restart harmless.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{ClusterId, GpuUuid, MachineId, Partition, PodUid};

use crate::{Certainty, Claim, End, Event, Gpu, Machine, Moment, Span};

/// Everything that settlement needs to know of the machines that cost money.
#[derive(Debug, Clone)]
pub struct Books {
    pub(crate) cluster: ClusterId,
    pub(crate) machines: BTreeMap<MachineId, MachineBook>,
}

/// More than a year of samples at one a second would be kept for a claim that never ends; forgetting what is settled keeps it
/// at hours. This is where a caller that never forgets is stopped: a day at one a second.
const MOST_SAMPLES: usize = 86_400;
/// A GPU is withheld, or a machine unwatched, a few times a day; a caller that reports more is reporting noise.
const MOST_SPANS: usize = 4096;
/// A node runs at most a few hundred pods at once; with a day of five-second pods on every slice this still has room.
const MOST_CLAIMS: usize = 200_000;

/// Why an event was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("an event ends before it starts: send start and end in order")]
    Backwards,
    #[error(
        "machine holds more than {MOST_CLAIMS} claims, {MOST_SPANS} spans or {MOST_SAMPLES} samples of one claim: settle and forget before recording more"
    )]
    Full,
}

/// One machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineBook {
    /// As it was when first seen; labels that change later do not rewrite what is settled.
    pub(crate) machine: Option<(Moment, Arc<Machine>)>,
    pub(crate) ready: Option<Moment>,
    pub(crate) draining: Option<Moment>,
    pub(crate) cordoned: Vec<Span>,
    pub(crate) gone: Option<End>,
    pub(crate) gpus: BTreeMap<GpuUuid, GpuBook>,
    pub(crate) claims: BTreeMap<ClaimId, ClaimBook>,
    pub(crate) pods: BTreeMap<PodUid, PodBook>,
    pub(crate) blind: Vec<Span>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct GpuBook {
    pub(crate) seen: Option<(Moment, Gpu)>,
    pub(crate) withheld: Vec<Span>,
}

/// What tells claims of one machine apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClaimId {
    pub(crate) gpu: GpuUuid,
    pub(crate) partition: Partition,
    pub(crate) pod: PodUid,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ClaimBook {
    pub(crate) bound: Option<(Moment, Claim)>,
    /// Sorted by start.
    pub(crate) used: Vec<Piece>,
}

/// A measured stretch, in 16 bytes: a fleet keeps millions of them until their window is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) start: Moment,
    length_ms: u32,
    pub(crate) permille: u16,
}

impl Piece {
    /// A stretch over 49 days is cut there: it is no measurement of any window that is still open.
    fn new(span: Span, permille: u16) -> Self {
        Self {
            start: span.start,
            length_ms: u32::try_from(span.milliseconds()).unwrap_or(u32::MAX),
            permille,
        }
    }

    pub(crate) fn end(self) -> Moment {
        self.start.plus(i64::from(self.length_ms))
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PodBook {
    pub(crate) running: Option<Moment>,
    pub(crate) ended: Option<End>,
}

impl Books {
    pub fn new(cluster: ClusterId) -> Self {
        Self {
            cluster,
            machines: BTreeMap::new(),
        }
    }

    /// Takes note of an event. Taking it twice changes nothing, and so does taking two in the other order.
    pub fn record(&mut self, event: &Event) -> Result<(), RecordError> {
        if let Event::GpuWithheld { span, .. }
        | Event::Used { span, .. }
        | Event::Cordoned { span, .. }
        | Event::Blind { span, .. } = event
            && span.is_empty()
        {
            return Err(RecordError::Backwards);
        }
        let book = self.machines.entry(event.machine().clone()).or_default();
        book.record(event)
    }

    /// Lets go of what ended before an instant, once its windows are settled and no late event for them is expected.
    pub fn forget_before(&mut self, at: Moment) {
        self.machines
            .retain(|_, book| book.gone.is_none_or(|end| end.at > at));
        for book in self.machines.values_mut() {
            book.forget_before(at);
        }
    }

    /// The GPUs of a machine that were there and that nobody held over a span, in the order of their ids.
    pub fn free_gpus(&self, machine: &MachineId, span: Span) -> Vec<GpuUuid> {
        let Some(book) = self.machines.get(machine) else {
            return Vec::new();
        };
        let mut free: Vec<GpuUuid> = book.gpus.keys().cloned().collect();
        for (id, claim) in &book.claims {
            let Some((bound, _)) = &claim.bound else { continue };
            let ended = book.pods.get(&id.pod).and_then(|pod| pod.ended);
            let held = Span::new(*bound, ended.map_or(Moment(i64::MAX), |end| end.at));
            if !held.overlap(span).is_empty() {
                free.retain(|gpu| *gpu != id.gpu);
            }
        }
        free
    }

    /// How many machines are known.
    pub fn machine_count(&self) -> usize {
        self.machines.len()
    }
}

impl MachineBook {
    fn record(&mut self, event: &Event) -> Result<(), RecordError> {
        match event {
            Event::Launched { machine, at } => self.launch(*at, machine),
            Event::Ready { at, .. } => keep_first(&mut self.ready, *at),
            Event::Draining { at, .. } => keep_first(&mut self.draining, *at),
            Event::Gone { end, .. } => keep_best(&mut self.gone, *end),
            Event::GpuSeen { gpu, at, .. } => {
                let book = self.gpus.entry(gpu.uuid.clone()).or_default();
                keep_first(&mut book.seen, (*at, gpu.clone()));
            }
            Event::GpuWithheld { gpu, span, .. } => {
                return insert(
                    &mut self.gpus.entry(gpu.clone()).or_default().withheld,
                    *span,
                    MOST_SPANS,
                );
            }
            Event::Cordoned { span, .. } => return insert(&mut self.cordoned, *span, MOST_SPANS),
            Event::Blind { span, .. } => return insert(&mut self.blind, *span, MOST_SPANS),
            Event::Bound { claim, at, .. } => {
                let id = ClaimId {
                    gpu: claim.gpu.clone(),
                    partition: claim.partition.clone(),
                    pod: claim.holder.uid.clone(),
                };
                keep_first(&mut self.claim(id)?.bound, (*at, claim.clone()));
            }
            Event::Running { pod, at, .. } => {
                keep_first(&mut self.pods.entry(pod.clone()).or_default().running, *at);
            }
            Event::Ended { pod, end, .. } => {
                keep_best(&mut self.pods.entry(pod.clone()).or_default().ended, *end);
            }
            Event::Used {
                pod,
                gpu,
                partition,
                span,
                utilization,
                ..
            } => {
                let id = ClaimId {
                    gpu: gpu.clone(),
                    partition: partition.clone(),
                    pod: pod.clone(),
                };
                let piece = Piece::new(*span, utilization.get());
                return insert(&mut self.claim(id)?.used, piece, MOST_SAMPLES);
            }
        }
        Ok(())
    }

    /// The earliest launch holds; of two told with the same instant the one that knows more of the machine, as the model of
    /// GPUs that showed up after it.
    fn launch(&mut self, at: Moment, machine: &Arc<Machine>) {
        let rank = |at: Moment, machine: &Arc<Machine>| (at, Reverse(machine.known()), machine.clone());
        let is_better = |(old_at, old): &(Moment, Arc<Machine>)| rank(at, machine) < rank(*old_at, old);
        if self.machine.as_ref().is_none_or(is_better) {
            self.machine = Some((at, machine.clone()));
        }
    }

    fn claim(&mut self, id: ClaimId) -> Result<&mut ClaimBook, RecordError> {
        if self.claims.len() >= MOST_CLAIMS && !self.claims.contains_key(&id) {
            return Err(RecordError::Full);
        }
        Ok(self.claims.entry(id).or_default())
    }

    fn forget_before(&mut self, at: Moment) {
        let pods = &mut self.pods;
        let over = |pod: &PodBook| pod.ended.is_some_and(|end| end.at <= at);
        self.claims.retain(|id, _| !pods.get(&id.pod).is_some_and(over));
        pods.retain(|_, pod| !over(pod));
        for claim in self.claims.values_mut() {
            claim.used.retain(|piece| piece.end() > at);
        }
        self.blind.retain(|span| span.end > at);
        self.cordoned.retain(|span| span.end > at);
        for gpu in self.gpus.values_mut() {
            gpu.withheld.retain(|span| span.end > at);
        }
    }

    /// When the machine cost money, as far as is known.
    pub(crate) fn life(&self) -> Option<(Span, &Arc<Machine>)> {
        let (launched, machine) = self.machine.as_ref()?;
        let end = self.gone.map_or(Moment(i64::MAX), |end| end.at);
        Some((Span::new(*launched, end), machine))
    }
}

/// The earliest wins, and of two at the same instant the smaller: which of them came first to us does not matter.
fn keep_first<T: Ord>(slot: &mut Option<T>, new: T) {
    if slot.as_ref().is_none_or(|old| new < *old) {
        *slot = Some(new);
    }
}

fn keep_best(slot: &mut Option<End>, new: End) {
    let better = |old: &End| match new.certainty.cmp(&old.certainty) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => new.at < old.at,
    };
    if slot.as_ref().is_none_or(better) {
        *slot = Some(new);
    }
}

/// Into a sorted list, once. Events mostly come in order, so the place is nearly always the end.
fn insert<T: Ord>(list: &mut Vec<T>, new: T, most: usize) -> Result<(), RecordError> {
    let place = list.partition_point(|old| *old < new);
    if list.get(place) == Some(&new) {
        return Ok(());
    }
    if list.len() >= most {
        return Err(RecordError::Full);
    }
    list.insert(place, new);
    Ok(())
}

impl End {
    pub const fn reported(at: Moment) -> Self {
        Self {
            at,
            certainty: Certainty::Reported,
        }
    }

    pub const fn assumed(at: Moment) -> Self {
        Self {
            at,
            certainty: Certainty::Assumed,
        }
    }
}

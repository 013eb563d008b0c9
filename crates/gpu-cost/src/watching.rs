//! From looks at the fleet to events: who came, who left, who used how much, and when nobody looked.
//!
//! A [`Watcher`] is shown the fleet again and again. It remembers what it saw last and tells what changed, with the times the
//! cluster's API gives where it gives any. What it remembers can be written down ([`MachineMemo`], [`PodMemo`], [`Notes`]) and given
//! to another watcher, which goes on as if it had looked all along. Nothing here is guessed: a reading that is absent tells no use,
//! and time in which nobody looked is told as such.

mod ended;
mod machines;
mod memo;
mod pods;

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{ClusterPicture, FleetView, GpuUuid, MachineId, Namespace, NodeName, PodName, PodUid};

use crate::{AttributionRules, Event, Moment, Span};

pub use ended::EndedPod;
pub use machines::machine_of;
pub use memo::{ClaimMemo, MachineMemo, MachineNotes, Notes, PodMemo, SeenGpu};

use machines::Watched;
use pods::WatchedPod;

/// How the fleet is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSettings {
    /// How often somebody means to look.
    pub interval_ms: i64,
    /// A longer time between two looks is told as time in which nobody watched.
    pub longest_gap_ms: i64,
    /// A machine that no API speaks of and that nobody could look at for so long is taken to be gone.
    pub missing_for_ms: i64,
    pub rules: AttributionRules,
    /// Whose pods are the cluster's own.
    pub system_namespaces: BTreeSet<String>,
}

impl WatchSettings {
    /// The settings that go with an interval.
    pub fn every(interval_ms: i64) -> Self {
        let names = ["kube-system", "gpu-operator", "gpu-autoscaler-system"];
        Self {
            interval_ms,
            // One look may be late and one may fail before anything is called unknown.
            longest_gap_ms: interval_ms.saturating_mul(3),
            // Longer than a restart of an exporter, shorter than corrections reach back.
            missing_for_ms: interval_ms.saturating_mul(20),
            rules: AttributionRules::default(),
            system_namespaces: names.into_iter().map(str::to_owned).collect(),
        }
    }
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self::every(30_000)
    }
}

/// One look at the fleet.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    pub view: &'a FleetView,
    /// What the API says; absent for fleets without one.
    pub picture: Option<&'a ClusterPicture>,
    /// GPUs that are not fit to be handed out.
    pub unhealthy: &'a BTreeSet<GpuUuid>,
}

/// What a look led to.
#[derive(Debug, Clone, Default)]
pub struct Noted {
    pub events: Vec<Event>,
    /// Machines whose memo is another than before.
    pub machines: BTreeSet<MachineId>,
    /// Pods whose memo is another than before.
    pub pods: BTreeSet<PodUid>,
    /// What this look says of the time before it, and no memo holds. Absent where the look was not newer than the last.
    pub notes: Option<Notes>,
    /// Nobody looked at anything in this time.
    pub blind: Option<Span>,
    /// Objects that could not be taken note of.
    pub set_aside: usize,
}

/// Remembers what was seen, and tells what changed.
#[derive(Debug, Clone)]
pub struct Watcher {
    settings: WatchSettings,
    machines: BTreeMap<MachineId, Watched>,
    /// The machine behind each name at present.
    nodes: BTreeMap<NodeName, MachineId>,
    pods: BTreeMap<PodUid, WatchedPod>,
    /// The last pod of each name, for pages that tell no uid.
    names: BTreeMap<(Namespace, PodName), PodUid>,
    /// The first look of this watcher itself.
    first: Option<Moment>,
    last: Option<Moment>,
}

impl Watcher {
    pub fn new(settings: WatchSettings) -> Self {
        Self {
            settings,
            machines: BTreeMap::new(),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            names: BTreeMap::new(),
            first: None,
            last: None,
        }
    }

    /// The newest look, of this watcher or of the one it goes on from.
    pub fn last(&self) -> Option<Moment> {
        self.last
    }

    pub fn machine(&self, id: &MachineId) -> Option<&MachineMemo> {
        self.machines.get(id).map(|watched| &watched.memo)
    }

    pub fn pod(&self, uid: &PodUid) -> Option<&PodMemo> {
        self.pods.get(uid).map(|watched| &watched.memo)
    }

    pub fn machines(&self) -> impl Iterator<Item = &MachineMemo> {
        self.machines.values().map(|watched| &watched.memo)
    }

    pub fn pods(&self) -> impl Iterator<Item = &PodMemo> {
        self.pods.values().map(|watched| &watched.memo)
    }

    /// Takes a look. One that is not newer than the last says nothing: a clock that was set back must not tell a past anew.
    pub fn look(&mut self, look: &Look<'_>) -> Noted {
        let at = Moment::from(look.view.at);
        let mut noted = Noted::default();
        if self.last.is_some_and(|last| at <= last) {
            return noted;
        }
        let gap = self.last.map(|last| Span::new(last, at));
        noted.blind = gap.filter(|gap| gap.milliseconds() > self.settings.longest_gap_ms);
        let round = Round {
            look,
            at,
            before: self.last,
            is_fresh: self.last.is_none() || noted.blind.is_some(),
            // What a reading says of the time before it: since the last look, or as long as one usually is apart from the next.
            span: match gap.filter(|_| noted.blind.is_none()) {
                Some(gap) => gap,
                None => Span::new(at.plus(-self.settings.interval_ms), at),
            },
        };
        let mut notes = Notes::new(round.span);
        self.look_at_machines(&round, &mut noted, &mut notes);
        self.look_at_pods(&round, &mut noted, &mut notes);
        self.miss_pods(&round, &mut noted);
        self.miss_machines(&round, &mut noted, &mut notes);
        if let Some(span) = noted.blind {
            self.tell_blind(span, &mut noted.events);
        }
        self.tell_notes(&notes, &mut noted.events);
        noted.notes = Some(notes);
        self.first.get_or_insert(at);
        self.last = Some(at);
        noted
    }

    /// Takes over what another watcher remembered, and tells it as events. `last` is the other's newest look.
    ///
    /// What happened between that look and the first of this watcher is unknown where it is longer than a gap may be.
    pub fn absorb(
        &mut self,
        machines: Vec<MachineMemo>,
        pods: Vec<PodMemo>,
        notes: &[Notes],
        last: Moment,
    ) -> Noted {
        let mut noted = Noted::default();
        for memo in machines {
            self.absorb_machine(memo, last, &mut noted);
        }
        for memo in pods {
            self.absorb_pod(memo, last, &mut noted);
        }
        for notes in notes {
            // What this watcher saw itself it need not be told.
            if self.first.is_none_or(|first| notes.span.end < first) {
                self.tell_notes(notes, &mut noted.events);
            }
        }
        match self.first {
            None => self.last = self.last.max(Some(last)),
            Some(first) => {
                let gap = Span::new(last, first);
                noted.blind = Some(gap).filter(|gap| gap.milliseconds() > self.settings.longest_gap_ms);
            }
        }
        if let Some(span) = noted.blind {
            self.tell_blind(span, &mut noted.events);
        }
        noted
    }

    /// The events of notes. Uses are told by the order of the pod's claims, which only grows.
    pub fn tell_notes(&self, notes: &Notes, events: &mut Vec<Event>) {
        for (machine, of) in &notes.machines {
            for (uid, uses) in &of.used {
                if let Some(pod) = self.pods.get(uid) {
                    pod.memo.tell_uses(uses, notes.span, events);
                }
            }
            let machine = || machine.clone();
            for gpu in &of.withheld {
                events.push(Event::GpuWithheld {
                    machine: machine(),
                    gpu: gpu.clone(),
                    span: notes.span,
                });
            }
            if of.is_draining {
                events.push(Event::Cordoned {
                    machine: machine(),
                    span: notes.span,
                });
            }
            for span in of.blind.iter().filter(|span| !span.is_empty()) {
                events.push(Event::Blind {
                    machine: machine(),
                    span: *span,
                });
            }
        }
    }

    /// Tells of every machine that nobody watched it.
    pub fn tell_blind(&self, span: Span, events: &mut Vec<Event>) {
        for (id, watched) in &self.machines {
            let life = Span::new(watched.memo.launched, Moment(i64::MAX)).overlap(span);
            if !life.is_empty() {
                events.push(Event::Blind {
                    machine: id.clone(),
                    span: life,
                });
            }
        }
    }

    /// Lets go of pods and machines that ended up to an instant, and says which they were.
    pub fn forget_before(&mut self, at: Moment) -> (Vec<MachineId>, Vec<PodUid>) {
        let is_over = |end: Option<crate::End>| end.is_some_and(|end| end.at <= at);
        let pods: Vec<PodUid> = self
            .pods
            .iter()
            .filter(|(_, pod)| is_over(pod.memo.ended))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in &pods {
            if let Some(pod) = self.pods.remove(uid) {
                let holder = &pod.memo.holder;
                let name = (holder.namespace.clone(), holder.pod.clone());
                if self.names.get(&name) == Some(uid) {
                    self.names.remove(&name);
                }
            }
        }
        let machines: Vec<MachineId> = self
            .machines
            .iter()
            .filter(|(_, machine)| is_over(machine.memo.gone))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &machines {
            self.machines.remove(id);
        }
        self.nodes.retain(|_, id| self.machines.contains_key(id));
        (machines, pods)
    }
}

/// A look with what follows from the ones before it.
struct Round<'a> {
    look: &'a Look<'a>,
    at: Moment,
    before: Option<Moment>,
    /// Nobody looked shortly before: what is seen for the first time need not be new.
    is_fresh: bool,
    span: Span,
}

impl Round<'_> {
    /// Whether something that is missing now was missing at the look before too. Once may be a page that was late.
    fn is_missed_twice(&self, last_seen: Moment) -> bool {
        self.before.is_some_and(|before| last_seen < before)
    }
}

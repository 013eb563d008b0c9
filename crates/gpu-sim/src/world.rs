//! The fleet in motion: a clock, the events that are due, and the second-by-second life of every GPU.

use std::collections::BTreeSet;
use std::time::Duration;

use gpu_model::{ClusterPicture, FleetView, ResourceName};
use jiff::{SignedDuration, Timestamp};

use crate::behaviour::{Activity, Script};
use crate::hardware::{Gpu, Hardware, Mode};
use crate::noise::{Dice, Question};
use crate::physics::Load;
use crate::placement::FreeSlots;
use crate::shapes::Class;
use crate::slots::{Occupant, Slot, SlotUse};
use crate::spec::{FleetSpec, SpecError};
use crate::streams::{Draft, PlacedPod, State, Stream, Waiting, Workload};
use crate::trouble::Mood;
use crate::truth::{GpuTruth, Need, PodTruth, Truth};

/// A simulated fleet at an instant of its own clock.
pub struct World {
    start: Timestamp,
    now: Timestamp,
    /// Whole seconds since the start for which the world has been worked out.
    pub(crate) tick: i64,
    pub(crate) dice: Dice,
    pub(crate) mood: Mood,
    pub(crate) hardware: Hardware,
    pub(crate) streams: Vec<Stream>,
    /// What happens when: an arrival, an end, or the end of somebody's patience.
    calendar: BTreeSet<(i64, u32)>,
    /// Streams that wait for room, the longest wait first.
    pub(crate) waiting: BTreeSet<(i64, u32)>,
    free: FreeSlots,
    /// Classes in which room has appeared since the waiting were last looked at.
    freed: BTreeSet<Class>,
}

/// How long a workload waits for room before its owner withdraws it, in seconds.
const PATIENCE: i64 = 2 * 3600;

const MEMBER: Question = 701;

impl World {
    pub fn new(spec: &FleetSpec) -> Result<World, SpecError> {
        Self::build(spec, Mood::Usual)
    }

    /// The fleet of the same seed with more trouble: GPUs left aside, drivers that lie, exporters that are gone for a while.
    pub fn troubled(spec: &FleetSpec) -> Result<World, SpecError> {
        Self::build(spec, Mood::Troubled(Dice::of_world(spec.seed)))
    }

    fn build(spec: &FleetSpec, mood: Mood) -> Result<World, SpecError> {
        spec.validate()?;
        let dice = Dice::of_world(spec.seed);
        let mut hardware = Hardware::build(spec.nodes, dice);
        hardware.make_some_lie(mood);
        let mut free = FreeSlots::default();
        for (number, slot) in (0u32..).zip(&hardware.slots) {
            free.release(slot.class, slot.machine, number);
        }
        let mut world = World {
            start: spec.start,
            now: spec.start,
            tick: 0,
            dice,
            mood,
            hardware,
            streams: Stream::all(spec.nodes, dice),
            calendar: BTreeSet::new(),
            waiting: BTreeSet::new(),
            free,
            freed: BTreeSet::new(),
        };
        world.populate();
        world.act();
        Ok(world)
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Moves the clock. Where it arrives, the world is the same whether it came in one step or in many.
    ///
    /// Every second on the way is lived through: the work grows with the time and with the number of GPUs.
    pub fn advance(&mut self, by: Duration) {
        // The calendar ends in the year 9999; a clock that would pass it stays there.
        self.now = self.now.checked_add(by).unwrap_or(Timestamp::MAX);
        let target = self.now.duration_since(self.start).as_secs();
        while self.tick < target {
            self.live_one_second();
        }
    }

    /// What an outsider could measure now.
    pub fn observe(&self) -> FleetView {
        crate::observe::fleet(self)
    }

    /// What the API of the fleet's cluster would tell now.
    pub fn picture(&self) -> ClusterPicture {
        crate::picture::picture(self)
    }

    /// What is really going on now.
    pub fn truth(&self) -> Truth {
        let mut truth = Truth {
            at: self.now,
            pods: Default::default(),
            gpus: Default::default(),
        };
        for gpu in &self.hardware.gpus {
            let mut pods = Vec::new();
            for slot in &self.hardware.slots[gpu.slots.clone()] {
                let Some((workload, placed)) = slot.occupant.and_then(|occupant| self.occupant(occupant))
                else {
                    continue;
                };
                pods.push(placed.pod.reference.clone());
                let known = truth
                    .pods
                    .entry(placed.pod.reference.clone())
                    .or_insert_with(|| PodTruth {
                        kind: workload.script.kind,
                        condition: workload.condition,
                        since: self.instant(workload.since),
                        gpus: Vec::new(),
                        left_aside: Vec::new(),
                        need: need(&workload.script),
                    });
                known.gpus.push(gpu.device.uuid.clone());
                if slot
                    .occupant
                    .is_some_and(|occupant| workload.leaves_aside(occupant))
                {
                    known.left_aside.push(gpu.device.uuid.clone());
                }
            }
            truth.gpus.insert(
                gpu.device.uuid.clone(),
                GpuTruth {
                    health: gpu.body.health,
                    misreport: gpu.misreport,
                    struck_at: gpu.body.struck_at.map(|tick| self.instant(tick)),
                    pods,
                },
            );
        }
        truth
    }

    pub(crate) fn occupant(&self, occupant: Occupant) -> Option<(&Workload, &PlacedPod)> {
        match &self.streams[occupant.stream as usize].state {
            State::Running(workload) => Some((workload, &workload.pods[usize::from(occupant.pod)])),
            State::Away | State::Waiting(_) => None,
        }
    }

    fn instant(&self, tick: i64) -> Timestamp {
        self.start
            .checked_add(SignedDuration::from_secs(tick))
            .unwrap_or(Timestamp::MAX)
    }

    /// Fills the fleet as if it had always been running. The large go first, or they would find no room.
    fn populate(&mut self) {
        let mut order: Vec<u32> = (0u32..).zip(&self.streams).map(|(number, _)| number).collect();
        order.sort_by_key(|number| (std::cmp::Reverse(self.streams[*number as usize].size()), *number));
        for number in order {
            let stream = &mut self.streams[number as usize];
            let draft = stream.next_draft(self.mood);
            let phase = stream.first_phase(&draft);
            if phase < draft.life {
                self.try_to_start(number, draft, -phase);
            } else {
                self.calendar.insert((draft.life + draft.gap - phase, number));
            }
        }
    }

    fn live_one_second(&mut self) {
        for gpu in &mut self.hardware.gpus {
            gpu.body.live_one_second();
        }
        self.tick += 1;
        self.pass_events();
        self.act();
    }

    /// Everything that is due at the present second happens, and who waited for room gets it.
    fn pass_events(&mut self) {
        while let Some((due, number)) = self.calendar.first().copied() {
            if due > self.tick {
                break;
            }
            self.calendar.remove(&(due, number));
            self.turn(number);
        }
        self.admit_the_waiting();
    }

    /// What was due for a stream happens.
    fn turn(&mut self, number: u32) {
        let stream = &mut self.streams[number as usize];
        match std::mem::replace(&mut stream.state, State::Away) {
            State::Away => {
                let draft = stream.next_draft(self.mood);
                self.try_to_start(number, draft, self.tick);
            }
            State::Waiting(waiting) => {
                self.waiting.remove(&(waiting.created, number));
                self.calendar.insert((self.tick + waiting.draft.gap, number));
            }
            State::Running(workload) => {
                for slot in workload.pods.iter().flat_map(|pod| &pod.slots) {
                    let place = &mut self.hardware.slots[*slot as usize];
                    place.occupant = None;
                    self.free.release(place.class, place.machine, *slot);
                    self.freed.insert(place.class);
                }
                // The gap was drawn with the workload that just ended; drawing it again gives the same.
                let gap = crate::fates::gap(workload.script.kind, workload.script.dice);
                self.calendar.insert((self.tick + gap, number));
            }
        }
    }

    fn admit_the_waiting(&mut self) {
        if self.freed.is_empty() {
            return;
        }
        let freed = std::mem::take(&mut self.freed);
        let candidates: Vec<(i64, u32)> = self
            .waiting
            .iter()
            .filter(|(_, number)| freed.contains(&self.streams[*number as usize].demand.class))
            .copied()
            .collect();
        for (created, number) in candidates {
            let stream = &mut self.streams[number as usize];
            let State::Waiting(waiting) = std::mem::replace(&mut stream.state, State::Away) else {
                continue;
            };
            self.waiting.remove(&(created, number));
            self.calendar.remove(&(waiting.gives_up, number));
            self.try_to_start(number, waiting.draft, created);
        }
    }

    /// Starts a workload that was created at a tick, or lets it wait.
    ///
    /// A workload created before the clock's start has been running since; any other starts now.
    fn try_to_start(&mut self, number: u32, draft: Draft, created: i64) {
        let demand = self.streams[number as usize].demand;
        let Some(places) = self.free.take(demand.class, demand.pods, demand.gpus_per_pod) else {
            let created = created.max(0);
            let created_at = self.instant(created);
            let gives_up = created + PATIENCE;
            let resource = self.resource_of(demand.class);
            let pods = (0..demand.pods)
                .map(|pod| {
                    draft
                        .identity
                        .pod(pod, &resource, demand.gpus_per_pod, created_at, None)
                })
                .collect();
            self.calendar.insert((gives_up, number));
            self.waiting.insert((created, number));
            self.streams[number as usize].state = State::Waiting(Waiting {
                draft,
                created,
                gives_up,
                pods,
            });
            return;
        };
        let created_at = self.instant(created);
        let started = if created < 0 { created } else { self.tick };
        let mut pods = Vec::with_capacity(places.len());
        for (pod, slots) in (0u16..).zip(places) {
            for (rank, slot) in (0u16..).zip(&slots) {
                let stream = number;
                self.hardware.slots[*slot as usize].occupant = Some(Occupant { stream, pod, rank });
            }
            let resource = self.hardware.slots[slots[0] as usize].resource.clone();
            let started_at = Some(self.instant(started));
            let pod = draft
                .identity
                .pod(pod, &resource, demand.gpus_per_pod, created_at, started_at);
            pods.push(PlacedPod { pod, slots });
        }
        let ends = started + draft.life;
        let age = self.tick - started;
        let wall = self.instant(self.tick).as_second();
        let condition = draft.script.at(age, wall).0;
        let since = started + draft.script.began(age, wall);
        self.calendar.insert((ends.max(self.tick + 1), number));
        let activity = Activity::default();
        self.streams[number as usize].state = State::Running(Workload {
            script: draft.script,
            started,
            pods,
            condition,
            since,
            activity,
            left_aside: draft.left_aside,
        });
    }

    fn resource_of(&self, class: Class) -> ResourceName {
        let slot = self.hardware.slots.iter().find(|slot| slot.class == class);
        slot.expect("demand comes with a shape that has the class")
            .resource
            .clone()
    }

    /// Works out what everything does in the present second.
    fn act(&mut self) {
        let wall = self.instant(self.tick).as_second();
        for stream in &mut self.streams {
            if let State::Running(workload) = &mut stream.state {
                let (condition, activity) = workload.script.at(self.tick - workload.started, wall);
                if condition != workload.condition {
                    workload.condition = condition;
                    workload.since = self.tick;
                }
                workload.activity = activity;
            }
        }
        let Hardware { gpus, slots, .. } = &mut self.hardware;
        for gpu in gpus {
            let load = load_of(gpu, &mut slots[gpu.slots.clone()], &self.streams, self.tick);
            gpu.body.carry(load);
            gpu.body.meet_faults(self.tick);
        }
    }
}

/// Sets what happens on each slot of a GPU and sums it up.
fn load_of(gpu: &Gpu, slots: &mut [Slot], streams: &[Stream], tick: i64) -> Load {
    let mut load = Load::default();
    let mut wanted = 0;
    for (position, slot) in (0u64..).zip(slots.iter_mut()) {
        slot.now = SlotUse::default();
        let Some(occupant) = slot.occupant else { continue };
        let State::Running(workload) = &streams[occupant.stream as usize].state else {
            continue;
        };
        let activity = match (workload.leaves_aside(occupant), workload.left_aside.has_context) {
            (true, true) => Script::bare_context(),
            (true, false) => Activity::default(),
            (false, _) => workload.activity,
        };
        let activity = member(activity, gpu.body.dice.of(MEMBER, position), tick);
        let memory_bytes = memory_of(activity.memory, slot.memory_bytes);
        slot.now = SlotUse {
            utilization: activity.utilization,
            sm: activity.sm,
            memory_bytes,
            processes: activity.processes,
        };
        wanted += activity.utilization;
        load.sm += activity.sm * slot.share / 1000;
        load.tensor += activity.tensor * slot.share / 1000;
        load.dram += activity.dram * slot.share / 1000;
        load.memory_bytes += memory_bytes;
        load.processes += activity.processes;
        load.intake_megabytes += activity.intake;
    }
    match gpu.mode {
        Mode::Whole => load.utilization = wanted,
        Mode::Sliced => {
            load.utilization = slots
                .iter()
                .map(|slot| slot.now.utilization * slot.share / 1000)
                .sum();
        }
        Mode::Shared => share_time(&mut load, slots, wanted),
    }
    load
}

/// On a shared GPU the parts take turns: together they never get more than all of the time.
fn share_time(load: &mut Load, slots: &mut [Slot], wanted: i64) {
    if wanted > 1000 {
        for slot in slots.iter_mut() {
            slot.now.utilization = slot.now.utilization * 1000 / wanted;
            slot.now.sm = slot.now.sm * 1000 / wanted;
        }
        load.sm = load.sm * 1000 / wanted;
        load.tensor = load.tensor * 1000 / wanted;
        load.dram = load.dram * 1000 / wanted;
    }
    load.utilization = wanted.min(1000);
}

fn need(script: &Script) -> Need {
    let (memory, compute) = script.need();
    let thousandths = |need: i64| u16::try_from(need.clamp(0, 1000)).unwrap_or(1000);
    Need {
        memory: thousandths(memory),
        compute: thousandths(compute),
    }
}

/// Members of a gang move together; each board differs by a hair.
fn member(activity: Activity, dice: Dice, tick: i64) -> Activity {
    if activity.utilization == 0 {
        return activity;
    }
    let hair = dice.between(MEMBER, tick, -8, 8);
    Activity {
        utilization: (activity.utilization + hair).clamp(1, 1000),
        sm: (activity.sm + hair / 2).clamp(0, 1000),
        ..activity
    }
}

/// Memory is handed out in pages of two mebibytes.
fn memory_of(share: i64, total: u64) -> u64 {
    const PAGE: u64 = 2 << 20;
    let share = u64::try_from(share).unwrap_or(0);
    total / 1000 * share / PAGE * PAGE
}

#[cfg(test)]
mod tests;

//! The last minutes of every GPU in a fixed amount of memory, and what has to be remembered for longer.
//!
//! Observations are numbered; a GPU's slots carry the number and the list of numbers carries the time, so that a missing
//! sample is a gap and never a zero. A ring is as long as the window and never grows.

mod counters;
mod memory;
mod slot;
mod tenancy;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use gpu_model::{
    Bytes, Device, DeviceId, FleetView, GpuUuid, GpuView, Node, NodeName, Owner, PartView, Partition,
    Reading, ResourceName,
};
use jiff::Timestamp;

use crate::WindowSettings;
use crate::activity::{self, Act, Others};
use crate::power::PowerRange;
pub use memory::{Memory, PartMemory, PodMemory};
pub(crate) use slot::{GpuSlot, PartSlot};
pub(crate) use tenancy::Tenancy;
use tenancy::{Seen, is_same};

/// What detection works on. One call of [`Windows::observe`] a cycle keeps it up to date.
#[derive(Debug, Clone)]
pub struct Windows {
    settings: WindowSettings,
    slots: usize,
    /// Numbers and times of the observations in the window, both rising.
    cycles: VecDeque<(u32, Timestamp)>,
    next_cycle: u32,
    newest: Option<Timestamp>,
    /// Boxed, because the nodes of a map are half empty.
    gpus: BTreeMap<(NodeName, GpuUuid), Box<GpuTrack>>,
    /// Restored facts of parts that have not been seen since.
    restored: BTreeMap<memory::Place, PartMemory>,
}

/// One GPU.
#[derive(Debug, Clone)]
pub(crate) struct GpuTrack {
    pub(crate) node: Arc<Node>,
    pub(crate) device: Arc<Device>,
    /// Of its model, looked up once.
    pub(crate) range: Option<PowerRange>,
    ring: Box<[GpuSlot]>,
    counters: counters::Counters,
    last_seen: Timestamp,
    /// The newest fault that the device itself is to blame for, and how many there were since it is watched.
    pub(crate) device_fault: Option<(Timestamp, u64)>,
    /// A row of its memory could not be replaced: there is no good one left.
    pub(crate) has_bad_rows: bool,
    pub(crate) memory_total_mib: Option<u32>,
    pub(crate) power_limit_milliwatts: Option<u32>,
    pub(crate) parts: Vec<PartTrack>,
}

/// One part of a GPU, with whoever holds it.
#[derive(Debug, Clone)]
pub(crate) struct PartTrack {
    pub(crate) partition: Partition,
    pub(crate) device_id: DeviceId,
    pub(crate) resource: ResourceName,
    pub(crate) memory_total_mib: Option<u32>,
    pub(crate) owner: Option<Owner>,
    pub(crate) tenancy: Tenancy,
    /// Empty for a GPU that is one part: its own slots say all there is.
    ring: Box<[PartSlot]>,
    last_seen: Timestamp,
}

impl Windows {
    pub fn new(settings: WindowSettings) -> Self {
        Self {
            settings,
            slots: settings.slots(),
            cycles: VecDeque::with_capacity(settings.slots()),
            next_cycle: 1,
            newest: None,
            gpus: BTreeMap::new(),
            restored: BTreeMap::new(),
        }
    }

    /// Takes up the fleet at one instant. The same instant twice counts once, and a clock that stepped back forgets what now
    /// lies in the future.
    pub fn observe(&mut self, view: &FleetView) {
        let at = view.at;
        if self.newest == Some(at) {
            return;
        }
        self.step_back(at);
        let cycle = self.begin_cycle(at);
        self.newest = Some(at);
        let pace = Pace {
            at,
            cycle,
            number: self.next_cycle,
            slots: self.slots,
            longest: self.settings.interval.saturating_mul(4),
        };
        for node in &view.nodes {
            for gpu in &node.gpus {
                let key = (node.node.name.clone(), gpu.device.uuid.clone());
                let track = self
                    .gpus
                    .entry(key)
                    .or_insert_with(|| Box::new(GpuTrack::new(&node.node, gpu, &pace)));
                track.observe(&node.node, gpu, &pace, &mut self.restored);
            }
        }
        self.forget(at);
    }

    pub fn gpu_count(&self) -> usize {
        self.gpus.len()
    }

    /// When the last observation was.
    pub fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    /// The small facts that outlast the window, for a store. What is not restored after a restart is forgotten: which pods
    /// ever used their GPU and when they last did, how much memory they took at most, and since when a GPU is free.
    pub fn memory(&self) -> Memory {
        memory::remember(&self.gpus)
    }

    /// Takes up facts of an earlier run. They hold for a part if the same pod still has it when it is first seen.
    pub fn restore(&mut self, memory: Memory) {
        self.restored = memory::by_place(memory);
    }

    pub(crate) fn settings(&self) -> WindowSettings {
        self.settings
    }

    pub(crate) fn gpus(&self) -> impl Iterator<Item = &GpuTrack> {
        self.gpus.values().map(Box::as_ref)
    }

    /// Number and time of the observations of the window, the oldest first.
    pub(crate) fn cycles(&self) -> impl Iterator<Item = (u32, Timestamp)> {
        self.cycles.iter().copied()
    }

    fn step_back(&mut self, at: Timestamp) {
        if self.newest.is_none_or(|newest| newest < at) {
            return;
        }
        self.cycles.retain(|(_, time)| *time < at);
        for gpu in self.gpus.values_mut() {
            gpu.step_back(at);
        }
    }

    /// The number of a new cycle, unless the last one is so near that this observation takes no slot.
    fn begin_cycle(&mut self, at: Timestamp) -> Option<u32> {
        // A loop that is a little early still takes its slot.
        let spacing = self.settings.interval / 5 * 4;
        let is_near = self
            .cycles
            .back()
            .is_some_and(|(_, last)| since(at, *last) < spacing);
        if is_near {
            return None;
        }
        // After two thousand years of cycles a second the numbers begin anew, and the window with them.
        if self.next_cycle == u32::MAX {
            self.next_cycle = 1;
            self.cycles.clear();
            self.gpus.clear();
        }
        let number = self.next_cycle;
        self.next_cycle += 1;
        let window = self.settings.window;
        self.cycles.retain(|(_, time)| since(at, *time) < window);
        while self.cycles.len() >= self.slots {
            self.cycles.pop_front();
        }
        self.cycles.push_back((number, at));
        Some(number)
    }

    /// Drops what has been gone for longer than the window.
    fn forget(&mut self, at: Timestamp) {
        let window = self.settings.window;
        self.gpus.retain(|_, gpu| {
            gpu.parts.retain(|part| since(at, part.last_seen) <= window);
            since(at, gpu.last_seen) <= window
        });
        self.restored
            .retain(|_, part| since(at, part.seen_at) <= RESTORED_FOR);
    }
}

/// Facts of an earlier run wait so long for their part to be seen again: an upgrade takes minutes, a bad one an hour.
const RESTORED_FOR: Duration = Duration::from_secs(3 * 3600);

/// The time of one observation.
struct Pace {
    at: Timestamp,
    cycle: Option<u32>,
    /// The number of the next cycle: what begins now begins with it, or with `cycle`.
    number: u32,
    slots: usize,
    longest: Duration,
}

impl Pace {
    fn first_cycle(&self) -> u32 {
        self.cycle.unwrap_or(self.number)
    }
}

impl GpuTrack {
    fn new(node: &Arc<Node>, gpu: &GpuView, pace: &Pace) -> Self {
        Self {
            node: node.clone(),
            device: gpu.device.clone(),
            range: PowerRange::of(&gpu.device.model),
            ring: vec![GpuSlot::EMPTY; pace.slots].into_boxed_slice(),
            counters: counters::Counters::default(),
            last_seen: pace.at,
            device_fault: None,
            has_bad_rows: false,
            memory_total_mib: None,
            power_limit_milliwatts: None,
            parts: Vec::new(),
        }
    }

    /// The slot of a cycle, if this GPU was read in it.
    pub(crate) fn slot(&self, cycle: u32) -> Option<&GpuSlot> {
        at_cycle(&self.ring, cycle).filter(|slot| slot.cycle == cycle)
    }

    /// Whether the GPU is given out as one.
    pub(crate) fn is_sole(&self) -> bool {
        matches!(self.parts.as_slice(), [part] if part.partition == Partition::Whole)
    }

    fn observe(
        &mut self,
        node: &Arc<Node>,
        gpu: &GpuView,
        pace: &Pace,
        restored: &mut BTreeMap<memory::Place, PartMemory>,
    ) {
        self.node = node.clone();
        if self.device.model != gpu.device.model {
            self.range = PowerRange::of(&gpu.device.model);
        }
        self.device = gpu.device.clone();
        self.last_seen = pace.at;
        self.memory_total_mib = whole_mib(gpu.sample.memory_total).or(self.memory_total_mib);
        self.power_limit_milliwatts = gpu.sample.power_limit.known().map(|limit| limit.0);
        self.has_bad_rows = gpu.sample.row_remap_failed.known().unwrap_or(self.has_bad_rows);
        let slot = self.read(gpu, pace);
        if let Some(place) = pace.cycle.and_then(|cycle| index(&self.ring, cycle)) {
            self.ring[place] = slot;
        }
        self.keep_parts_of(gpu, pace, node, restored);
        let is_sole = self.is_sole();
        let busy_parts = gpu.parts.iter().filter(|part| may_work(part)).count();
        for seen in &gpu.parts {
            let Some(part) = self
                .parts
                .iter_mut()
                .find(|part| part.device_id == seen.device_id)
            else {
                continue;
            };
            let others = match busy_parts.saturating_sub(usize::from(may_work(seen))) {
                0 => Others::None,
                _ => Others::Some,
            };
            part.observe(seen, &slot, self.range, is_sole, others, pace);
        }
    }

    fn read(&mut self, gpu: &GpuView, pace: &Pace) -> GpuSlot {
        let sample = &gpu.sample;
        let rates = self.counters.advance(pace.at, sample, pace.longest);
        if let Some(count) = rates.device_faults.filter(|count| *count > 0) {
            let before = self.device_fault.map_or(0, |(_, count)| count);
            self.device_fault = Some((pace.at, before.saturating_add(count)));
        }
        // A source that tells of containers alone still tells what a sole holder does.
        let sole = match gpu.parts.as_slice() {
            [part] if part.partition == Partition::Whole => Some(&part.usage),
            _ => None,
        };
        let figures = slot::GpuFigures {
            memory_mib: slot::mib(sample.memory_used).or(sole.and_then(|usage| slot::mib(usage.memory_used))),
            utilization: slot::share(sample.utilization)
                .or(sole.and_then(|usage| slot::share(usage.utilization))),
            busy: rates.busy,
            sm: slot::share(sample.sm_active).or(sole.and_then(|usage| slot::share(usage.sm_active))),
            tensor: slot::share(sample.tensor_active),
            dram: slot::share(sample.dram_active),
            power_milliwatts: sample.power.known().map(|power| u64::from(power.0)),
            drawn_milliwatts: rates.drawn_milliwatts,
            traffic_mib: rates.traffic_mib,
            clock_megahertz: sample.compute_clock.known().map(|clock| clock.0),
            heat: rates.heat_percent,
            cap: rates.cap_percent,
            processes: sample
                .processes
                .known()
                .or(sole.and_then(|usage| usage.processes.known())),
            faults: rates.faults,
        };
        GpuSlot::pack(pace.first_cycle(), &figures)
    }

    /// Adds new parts, and drops those of another division of the GPU.
    fn keep_parts_of(
        &mut self,
        gpu: &GpuView,
        pace: &Pace,
        node: &Arc<Node>,
        restored: &mut BTreeMap<memory::Place, PartMemory>,
    ) {
        self.parts
            .retain(|part| gpu.parts.iter().any(|seen| seen.device_id == part.device_id));
        for seen in &gpu.parts {
            if !self.parts.iter().any(|part| part.device_id == seen.device_id) {
                let mut part = PartTrack::new(seen, pace);
                let place = (node.name.clone(), gpu.device.uuid.clone(), seen.device_id.clone());
                if let Some(facts) = restored.remove(&place) {
                    facts.give_back(&mut part);
                }
                self.parts.reserve_exact(1);
                self.parts.push(part);
            }
        }
        self.parts.sort_by(|a, b| a.device_id.cmp(&b.device_id));
    }

    fn step_back(&mut self, at: Timestamp) {
        self.counters = counters::Counters::default();
        self.last_seen = self.last_seen.min(at);
        self.device_fault = self.device_fault.map(|(time, count)| (time.min(at), count));
        for part in &mut self.parts {
            part.last_seen = part.last_seen.min(at);
            let tenancy = &mut part.tenancy;
            tenancy.since = tenancy.since.min(at);
            for time in [
                &mut tenancy.first_activity,
                &mut tenancy.last_activity,
                &mut tenancy.idle_since,
                &mut tenancy.last_growth,
            ] {
                *time = time.map(|time| time.min(at));
            }
        }
    }
}

impl PartTrack {
    fn new(seen: &PartView, pace: &Pace) -> Self {
        Self {
            partition: seen.partition.clone(),
            device_id: seen.device_id.clone(),
            resource: seen.resource.clone(),
            memory_total_mib: whole_mib(seen.memory_total),
            owner: seen.owner.clone(),
            tenancy: Tenancy::new(pace.at, pace.first_cycle()),
            ring: Box::default(),
            last_seen: pace.at,
        }
    }

    /// The slot of a cycle of the present holder, if the part was read in it.
    pub(crate) fn slot(&self, cycle: u32) -> Option<&PartSlot> {
        at_cycle(&self.ring, cycle).filter(|slot| slot.cycle == cycle)
    }

    fn observe(
        &mut self,
        seen: &PartView,
        gpu: &GpuSlot,
        range: Option<PowerRange>,
        is_sole: bool,
        others: Others,
        pace: &Pace,
    ) {
        if !is_same(self.owner.as_ref(), seen.owner.as_ref()) {
            self.tenancy = Tenancy::new(pace.at, pace.first_cycle());
        }
        if since(pace.at, self.last_seen) > pace.longest {
            self.tenancy.idle_since = None;
        }
        self.owner.clone_from(&seen.owner);
        self.partition = seen.partition.clone();
        self.resource = seen.resource.clone();
        self.memory_total_mib = whole_mib(seen.memory_total).or(self.memory_total_mib);
        self.last_seen = pace.at;
        let looked = if is_sole {
            self.ring = Box::default();
            self.look_at_whole(gpu, range)
        } else {
            self.look_at_part(seen, gpu, range, others, pace)
        };
        self.tenancy.note(pace.at, &looked);
    }

    fn look_at_whole(&self, gpu: &GpuSlot, range: Option<PowerRange>) -> Seen {
        Seen {
            act: activity::of_gpu(gpu, range),
            effort: gpu.sm().or_else(|| activity::effort(gpu, range)),
            memory_mib: gpu.memory_mib(),
            memory_total_mib: self.memory_total_mib,
        }
    }

    fn look_at_part(
        &mut self,
        seen: &PartView,
        gpu: &GpuSlot,
        range: Option<PowerRange>,
        others: Others,
        pace: &Pace,
    ) -> Seen {
        if self.ring.len() != pace.slots {
            self.ring = vec![PartSlot::EMPTY; pace.slots].into_boxed_slice();
        }
        let slot = PartSlot::pack(pace.first_cycle(), &seen.usage);
        if let Some(place) = pace.cycle.and_then(|cycle| index(&self.ring, cycle)) {
            self.ring[place] = slot;
        }
        Seen {
            act: activity::of_part(&slot, gpu, range, others),
            effort: slot.sm(),
            memory_mib: slot.memory_mib(),
            memory_total_mib: self.memory_total_mib,
        }
    }
}

/// Whether a part may be the one that the GPU works for.
fn may_work(part: &PartView) -> bool {
    part.usage.processes != Reading::Known(0)
}

fn index<T>(ring: &[T], cycle: u32) -> Option<usize> {
    let slots = u32::try_from(ring.len()).ok().filter(|slots| *slots > 0)?;
    usize::try_from(cycle % slots).ok()
}

fn at_cycle<T>(ring: &[T], cycle: u32) -> Option<&T> {
    index(ring, cycle).map(|place| &ring[place])
}

fn whole_mib(reading: Reading<Bytes>) -> Option<u32> {
    slot::mib(reading).map(|mebibytes| u32::try_from(mebibytes).unwrap_or(u32::MAX))
}

/// The time from `earlier` to `later`; none when the clock stepped back in between.
pub(crate) fn since(later: Timestamp, earlier: Timestamp) -> Duration {
    Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
}

/// What a part did in one cycle, from the slots of the GPU and of the part.
impl GpuTrack {
    pub(crate) fn act(&self, part: &PartTrack, cycle: u32) -> Act {
        let Some(gpu) = self.slot(cycle) else {
            return Act::Unknown;
        };
        if self.is_sole() {
            return activity::of_gpu(gpu, self.range);
        }
        let Some(slot) = part.slot(cycle) else {
            return Act::Unknown;
        };
        let works = |other: &&PartTrack| {
            other.device_id != part.device_id
                && other.slot(cycle).is_none_or(|slot| slot.processes() != Some(0))
        };
        let others = match self.parts.iter().find(works) {
            Some(_) => Others::Some,
            None => Others::None,
        };
        activity::of_part(slot, gpu, self.range, others)
    }
}

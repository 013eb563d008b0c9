//! Collection: a tick every sample interval, every device on threads of its own, and one snapshot at the end of the tick
//! whatever the devices did. A device that does not answer in time is shown as it was, with its age.

mod faults;
mod restrict;
mod roster;
mod totals;
mod worker;

pub use faults::{FaultLedger, Reporter};
pub use roster::Hold;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use gpu_model::Reading;
use gpu_runtime::Clock;

use crate::readings::DeviceReadings;
use crate::snapshot::{
    DeviceSnapshot, DeviceState, Identity, LabelSet, NodeSnapshot, Origin, SourceStatus, Totals, Workload,
};
use crate::source::{DriverFault, DriverLoader};
use restrict::Suspicions;
use roster::Roster;
use worker::Worker;

/// How often to look.
#[derive(Debug, Clone, Copy)]
pub struct Intervals {
    /// Between two samples of what is cheap.
    pub sample: Duration,
    /// Between two readings of what blocks or changes slowly.
    pub slow: Duration,
    /// Between two listings of the devices. Hot-plug, new slices and a restarted driver must show within five seconds; the
    /// default of two leaves room for a slow listing.
    pub list: Duration,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            sample: Duration::from_secs(1),
            slow: Duration::from_secs(30),
            list: Duration::from_secs(2),
        }
    }
}

impl Intervals {
    /// A worker that has been inside the driver for longer than two ticks is stuck.
    fn patience(self) -> Duration {
        self.sample * 2
    }
}

/// Adds to the devices who holds them; called at the end of every tick, on the collector's thread.
pub trait Attribution: Send {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]);
    fn status(&self) -> Vec<SourceStatus>;
    /// The node's own labels, where somebody was asked for them.
    fn node_labels(&self) -> Option<LabelSet> {
        None
    }
    /// The one pod that the exporter speaks for, where it does not speak for its node.
    fn workload(&self) -> Option<Arc<Workload>> {
        None
    }
    /// Whether the device is to be shown at all; asked before it is attributed.
    fn shows(&self, _device: &DeviceSnapshot) -> bool {
        true
    }
}

/// What a tick is told besides the devices.
pub struct Surroundings {
    pub node: String,
    pub origin: Origin,
    pub clock: Arc<dyn Clock>,
}

/// The running collection.
pub struct Collector {
    published: Arc<ArcSwap<NodeSnapshot>>,
    rosters: Arc<[Roster]>,
    stop: Arc<AtomicBool>,
    must_restart: Arc<AtomicBool>,
}

impl Collector {
    /// Starts the threads. The first snapshot is there at once and has no devices yet.
    pub fn start(
        loaders: Vec<Box<dyn DriverLoader>>,
        attribution: Box<dyn Attribution>,
        surroundings: Surroundings,
        intervals: Intervals,
    ) -> std::io::Result<Self> {
        let rosters: Vec<Roster> = loaders
            .into_iter()
            .map(|loader| Roster::start(loader, intervals))
            .collect::<Result<_, _>>()?;
        let rosters: Arc<[Roster]> = rosters.into();
        let empty = surroundings.snapshot(0, Vec::new(), Vec::new());
        let collector = Self {
            published: Arc::new(ArcSwap::from_pointee(empty)),
            rosters: Arc::clone(&rosters),
            stop: Arc::default(),
            must_restart: Arc::default(),
        };
        let cycle = Cycle {
            rosters,
            attribution,
            surroundings,
            suspicions: Suspicions::default(),
            published: Arc::clone(&collector.published),
            must_restart: Arc::clone(&collector.must_restart),
            intervals,
            sequence: 0,
        };
        let stop = Arc::clone(&collector.stop);
        worker::thread("collect".to_owned(), move || cycle.run(&stop))?;
        Ok(collector)
    }

    /// The newest snapshot.
    pub fn snapshot(&self) -> Arc<NodeSnapshot> {
        self.published.load_full()
    }

    /// Lets every driver go, or takes it again.
    pub fn hold(&self, hold: Hold) {
        self.rosters.iter().for_each(|roster| roster.hold(hold));
    }

    /// Whether the driver changed in a way that only a new process can follow.
    pub fn must_restart(&self) -> bool {
        self.must_restart.load(Ordering::Relaxed)
    }

    /// Counts a fault that the kernel's log reported.
    pub fn record_fault(&self, fault: &crate::source::Fault) {
        for roster in self.rosters.iter() {
            roster.with(|state| state.faults.record(Reporter::KernelLog, fault));
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Surroundings {
    fn snapshot(
        &self,
        sequence: u64,
        sources: Vec<SourceStatus>,
        devices: Vec<DeviceSnapshot>,
    ) -> NodeSnapshot {
        NodeSnapshot {
            sequence,
            at: self.clock.now(),
            node: self.node.clone(),
            origin: self.origin,
            node_labels: None,
            workload: None,
            sources,
            devices,
        }
    }
}

struct Cycle {
    rosters: Arc<[Roster]>,
    attribution: Box<dyn Attribution>,
    surroundings: Surroundings,
    suspicions: Suspicions,
    published: Arc<ArcSwap<NodeSnapshot>>,
    must_restart: Arc<AtomicBool>,
    intervals: Intervals,
    sequence: u64,
}

impl Cycle {
    fn run(mut self, stop: &AtomicBool) {
        let interval = self.intervals.sample;
        while !stop.load(Ordering::Relaxed) {
            let started = Instant::now();
            // Most of the interval may be waited for slow devices; the rest is for putting the snapshot together.
            self.turn(started + interval.mul_f64(0.7));
            std::thread::sleep(interval.saturating_sub(started.elapsed()));
        }
    }

    fn turn(&mut self, deadline: Instant) {
        let is_first = self.sequence == 0;
        if is_first {
            // Otherwise the first snapshot would be empty, and the first page with GPUs an interval later.
            self.rosters
                .iter()
                .for_each(|roster| roster.wait_for_listing(deadline));
        }
        let workers: Vec<Arc<Worker>> = self
            .rosters
            .iter()
            .flat_map(|roster| roster.with(|state| state.workers.clone()))
            .collect();
        workers.iter().for_each(|worker| worker.tick());
        workers.iter().for_each(|worker| worker.wait(deadline));
        if is_first {
            workers.iter().for_each(|worker| worker.wait_for_slow(deadline));
        }
        let now = Instant::now();
        let mut devices: Vec<DeviceSnapshot> =
            workers.iter().map(|worker| self.device(worker, now)).collect();
        devices.extend(self.absent());
        devices.sort_by(|a, b| order(&a.identity).cmp(&order(&b.identity)));
        devices.retain(|device| self.attribution.shows(device));
        self.attribution.attribute(&mut devices);
        let mut sources = self.drivers(now);
        sources.extend(self.attribution.status());
        let version_changed = self
            .rosters
            .iter()
            .any(|roster| roster.with(|state| state.must_restart));
        self.must_restart.fetch_or(version_changed, Ordering::Relaxed);
        self.sequence += 1;
        let node_labels = self.attribution.node_labels();
        let workload = self.attribution.workload();
        self.published.store(Arc::new(NodeSnapshot {
            node_labels,
            workload,
            ..self.surroundings.snapshot(self.sequence, sources, devices)
        }));
    }

    fn device(&mut self, worker: &Worker, now: Instant) -> DeviceSnapshot {
        let shown = worker.shown(now, self.intervals.patience());
        if shown.driver_fault == Some(DriverFault::VersionChanged) {
            self.must_restart.store(true, Ordering::Relaxed);
        }
        let identity = Arc::clone(&worker.listed.identity);
        let mut readings = shown.readings.joined_with(&shown.slow);
        readings.last_fault = self.last_fault(&identity);
        let restricted = self.suspicions.judge(&identity, &readings, shown.sampled_at, now);
        DeviceSnapshot {
            state: shown.state,
            age: shown.sampled_at.map(|at| now.saturating_duration_since(at)),
            slow_age: shown.slow_sampled_at.map(|at| now.saturating_duration_since(at)),
            readings: Arc::new(readings),
            totals: shown.totals,
            faults: self.faults(&identity),
            restricted,
            holders: Vec::new(),
            jobs: Arc::default(),
            unattributed: Vec::new(),
            errors: shown.errors,
            rejected_total: shown.rejected_total,
            identity,
        }
    }

    /// Devices that were here and are no longer listed, or are listed and cannot be opened: nothing but their name, what is
    /// wrong with them and their faults.
    fn absent(&self) -> Vec<DeviceSnapshot> {
        let absent: Vec<(Arc<Identity>, DeviceState)> = self
            .rosters
            .iter()
            .flat_map(|roster| roster.with(|state| state.absent()))
            .collect();
        let shown = |(identity, state): (Arc<Identity>, DeviceState)| DeviceSnapshot {
            state,
            age: None,
            slow_age: None,
            readings: Arc::new(DeviceReadings::default()),
            totals: Totals::default(),
            faults: self.faults(&identity),
            restricted: None,
            holders: Vec::new(),
            jobs: Arc::default(),
            unattributed: Vec::new(),
            errors: BTreeMap::new(),
            rejected_total: 0,
            identity,
        };
        absent.into_iter().map(shown).collect()
    }

    /// How the drivers are doing. One that is absent, and for which there is no hardware, is left out once another answers: a
    /// node of one vendor lacks nothing without the other's driver. Where none answers all are named.
    fn drivers(&self, now: Instant) -> Vec<SourceStatus> {
        let all: Vec<(SourceStatus, bool)> = self
            .rosters
            .iter()
            .flat_map(|roster| {
                let is_needless = roster.is_needless();
                roster
                    .status(now)
                    .into_iter()
                    .map(move |status| (status, is_needless))
            })
            .collect();
        let is_any_up = all.iter().any(|(status, _)| status.up);
        all.into_iter()
            .filter(|(_, is_needless)| !(is_any_up && *is_needless))
            .map(|(status, _)| status)
            .collect()
    }

    /// Zero while somebody listens and nothing came; unknown while nobody listens to this device's driver.
    fn last_fault(&self, identity: &Identity) -> Reading<u32> {
        let of = |roster: &Roster| {
            roster.with(|state| {
                let hears = state.hears_faults && state.has(identity);
                state.faults.last_of(&identity.pci_bus_id).or(hears.then_some(0))
            })
        };
        self.rosters
            .iter()
            .find_map(of)
            .map_or(Reading::Unsupported, Reading::Known)
    }

    fn faults(&self, identity: &Identity) -> Vec<(u32, u64)> {
        let of = |roster: &Roster| roster.with(|state| state.faults.of(&identity.pci_bus_id));
        self.rosters
            .iter()
            .map(of)
            .find(|faults| !faults.is_empty())
            .unwrap_or_default()
    }
}

fn order(identity: &Identity) -> (gpu_model::Vendor, u32, &str) {
    (identity.vendor, identity.index, &identity.uuid)
}

/// Without Kubernetes nobody holds anything.
pub struct NoAttribution;

impl Attribution for NoAttribution {
    fn attribute(&mut self, _devices: &mut [DeviceSnapshot]) {}

    fn status(&self) -> Vec<SourceStatus> {
        Vec::new()
    }
}

/// An attribution that can be exchanged while the collection runs, when a changed setting asks for it.
#[derive(Clone)]
pub struct Exchangeable(Arc<Mutex<Box<dyn Attribution>>>);

impl Exchangeable {
    pub fn new(first: Box<dyn Attribution>) -> Self {
        Self(Arc::new(Mutex::new(first)))
    }

    pub fn exchange(&self, next: Box<dyn Attribution>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

impl Attribution for Exchangeable {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .attribute(devices);
    }

    fn status(&self) -> Vec<SourceStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).status()
    }

    fn node_labels(&self) -> Option<LabelSet> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .node_labels()
    }

    fn workload(&self) -> Option<Arc<Workload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).workload()
    }

    fn shows(&self, device: &DeviceSnapshot) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .shows(device)
    }
}

#[cfg(test)]
mod tests;

//! Who is there: loads the driver, lists its devices every two seconds on a thread of its own, and keeps one worker a device.
//! A device that appears, vanishes or changes its slices is noticed within that time; a driver that was unloaded is let go
//! and loaded again.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::Intervals;
use super::faults::{FaultLedger, Reporter};
use super::worker::{Trace, Worker, thread};
use crate::snapshot::{DeviceState, Identity, SourceStatus};
use crate::source::{Driver, DriverFault, DriverLoader, FaultStream, Listed, StandIn};

/// A listing that takes longer than this makes the source stale in every page.
const LIST_PATIENCE: Duration = Duration::from_secs(5);
/// The fault stream looks up this often whether it should end.
const FAULT_WAIT: Duration = Duration::from_secs(1);
/// Long enough for an alert to fire and a person to look; a GPU taken out on purpose is forgotten after it.
const REMEMBER_DEPARTED: Duration = Duration::from_secs(3600);
/// Between two walks over the bus for hardware of a driver that is not there: servers have hundreds of devices on it.
const HARDWARE_LOOK: Duration = Duration::from_secs(10);
/// The driver's own limit is far below; a listing beyond this is corrupt.
const MOST_DEVICES: usize = 256;
/// A driver that was loaded again leaves those behind that hang in the old one, two threads each. After this many the device
/// is not opened again before one of them comes back.
const MOST_LEFT_BEHIND: usize = 3;

/// Whether the driver may be held. Upgrades and GPU resets need it let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Held,
    Released,
}

pub(super) struct State {
    pub(super) workers: Vec<Arc<Worker>>,
    /// Devices that were listed and no longer are, and since when: a GPU that fell off the bus must be seen as lost, not
    /// silently missing.
    departed: Vec<(Arc<Identity>, Instant)>,
    /// Devices that are listed and could not be opened, and why: one of them must not hide the others.
    unopened: Vec<(Arc<Identity>, DriverFault)>,
    pub(super) faults: FaultLedger,
    /// Somebody listens, so that no fault means none.
    pub(super) hears_faults: bool,
    /// Set when only a new process can help.
    pub(super) must_restart: bool,
    hold: Hold,
    stop: bool,
    /// There is no such driver, and nothing on this machine that it would be for.
    is_needless: bool,
    problem: Option<Arc<str>>,
    listed_at: Option<Instant>,
    listing_since: Option<Instant>,
    last_duration: Option<Duration>,
    /// What is read in the place of the source that the roster is named after.
    stands_in: Option<StandIn>,
    /// By the source that was read, by class.
    errors: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
}

/// The devices of one source.
pub(super) struct Roster {
    pub(super) name: &'static str,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Roster {
    /// Starts the thread that lists.
    pub(super) fn start(loader: Box<dyn DriverLoader>, intervals: Intervals) -> std::io::Result<Self> {
        let name = loader.name();
        let shared = Arc::new((Mutex::new(State::new()), Condvar::new()));
        let list = Lister {
            loader,
            intervals,
            driver: None,
            hardware: None,
            left_behind: Vec::new(),
            shared: Arc::clone(&shared),
        };
        thread(format!("{name}-list"), move || list.run())?;
        Ok(Self { name, shared })
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.shared.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for the outcome of the first listing, at most until the deadline.
    pub(super) fn wait_for_listing(&self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        let state = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whatever came of it is seen in the workers and in the status.
        let _ = self
            .shared
            .1
            .wait_timeout_while(state, left, |state| state.last_duration.is_none());
    }

    /// Lets the driver go, or takes it again, at once. The devices are let go even while the listing hangs.
    pub(super) fn hold(&self, hold: Hold) {
        self.with(|state| {
            state.hold = hold;
            if hold == Hold::Released {
                state.workers.clear();
            }
        });
        self.shared.1.notify_all();
    }

    /// Whether the machine can do without this driver: it is not there, and neither is hardware for it.
    pub(super) fn is_needless(&self) -> bool {
        self.with(|state| state.is_needless)
    }

    /// How the source is doing; where another one stands in for it, that one, too.
    pub(super) fn status(&self, now: Instant) -> Vec<SourceStatus> {
        self.with(|state| {
            let Some(stands_in) = state.stands_in.clone() else {
                return vec![state.status(self.name, now)];
            };
            let replaced = SourceStatus {
                up: false,
                problem: Some(stands_in.because),
                last_success_age: None,
                last_duration: None,
                ..state.status(self.name, now)
            };
            vec![replaced, state.status(stands_in.name, now)]
        })
    }
}

impl Drop for Roster {
    fn drop(&mut self) {
        self.with(|state| {
            state.stop = true;
            state.workers.clear();
        });
        self.shared.1.notify_all();
    }
}

impl State {
    fn new() -> Self {
        Self {
            workers: Vec::new(),
            departed: Vec::new(),
            unopened: Vec::new(),
            faults: FaultLedger::default(),
            hears_faults: false,
            must_restart: false,
            hold: Hold::Held,
            stop: false,
            is_needless: false,
            problem: None,
            listed_at: None,
            listing_since: None,
            last_duration: None,
            stands_in: None,
            errors: BTreeMap::new(),
        }
    }

    /// Whether the device is one of this source.
    pub(super) fn has(&self, identity: &Identity) -> bool {
        let is_it = |other: &Identity| other.uuid == identity.uuid;
        self.workers.iter().any(|worker| is_it(&worker.listed.identity))
            || self.departed.iter().any(|(departed, _)| is_it(departed))
            || self.unopened.iter().any(|(unopened, _)| is_it(unopened))
    }

    fn status(&self, name: &'static str, now: Instant) -> SourceStatus {
        let hangs = self
            .listing_since
            .is_some_and(|since| now.saturating_duration_since(since) > LIST_PATIENCE);
        let problem = if hangs {
            Some(Arc::from("the driver does not answer"))
        } else {
            self.problem.clone()
        };
        SourceStatus {
            name,
            up: problem.is_none() && self.listed_at.is_some(),
            problem,
            last_success_age: self.listed_at.map(|at| now.saturating_duration_since(at)),
            last_duration: self.last_duration,
            errors: self.errors.get(name).cloned().unwrap_or_default(),
        }
    }

    /// Counts an error of the source that is read now.
    fn count(&mut self, name: &'static str, class: &'static str) {
        let name = self.stands_in.as_ref().map_or(name, |stands_in| stands_in.name);
        *self.errors.entry(name).or_default().entry(class).or_default() += 1;
    }

    /// The devices without a worker, and what is wrong with them.
    pub(super) fn absent(&self) -> Vec<(Arc<Identity>, DeviceState)> {
        let departed = self
            .departed
            .iter()
            .map(|(identity, _)| (identity, DeviceState::Lost));
        let unopened = self.unopened.iter().map(|(identity, fault)| match fault {
            DriverFault::DeviceLost => (identity, DeviceState::Lost),
            other => (identity, DeviceState::Failing(other.class())),
        });
        departed
            .chain(unopened)
            .map(|(identity, state)| (Arc::clone(identity), state))
            .collect()
    }

    /// Takes over which devices could not be opened; says each once, counts each time.
    fn note_unopened(&mut self, name: &'static str, unopened: Vec<(Arc<Identity>, DriverFault)>) {
        for (identity, fault) in &unopened {
            self.count(name, fault.class());
            if !self.unopened.contains(&(Arc::clone(identity), fault.clone())) {
                warn!(gpu = identity.index, uuid = %identity.uuid, problem = %fault, "cannot open a GPU");
            }
        }
        self.unopened = unopened;
    }

    fn note_departures(&mut self, devices: &[Listed], now: Instant) {
        let is_listed =
            |identity: &Identity| devices.iter().any(|device| device.identity.uuid == identity.uuid);
        for worker in &self.workers {
            let identity = &worker.listed.identity;
            if !is_listed(identity) && !self.departed.iter().any(|(known, _)| known.uuid == identity.uuid) {
                warn!(gpu = identity.index, uuid = %identity.uuid, "a GPU is no longer listed");
                self.departed.push((Arc::clone(identity), now));
            }
        }
        self.departed.retain(|(identity, since)| {
            !is_listed(identity) && now.saturating_duration_since(*since) < REMEMBER_DEPARTED
        });
    }
}

struct Lister {
    loader: Box<dyn DriverLoader>,
    intervals: Intervals,
    driver: Option<Arc<dyn Driver>>,
    /// While the driver is absent: whether it has hardware here, and when that was looked at.
    hardware: Option<(Instant, bool)>,
    /// By uuid, the workers that were let go.
    left_behind: Vec<(String, Trace)>,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Lister {
    fn run(mut self) {
        loop {
            let hold = {
                let mut state = self.lock();
                if state.stop {
                    return;
                }
                state.listing_since = Some(Instant::now());
                state.hold
            };
            let started = Instant::now();
            let outcome = match hold {
                Hold::Held => self.look(),
                Hold::Released => {
                    self.let_go();
                    Err(DriverFault::Absent(
                        "the driver was released on request".to_owned(),
                    ))
                }
            };
            self.note(outcome, started);
            let state = self.lock();
            let waited = self
                .shared
                .1
                .wait_timeout_while(state, self.intervals.list, |state| {
                    !state.stop && state.hold == hold
                });
            drop(waited);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the driver where needed and makes the workers fit what it lists.
    fn look(&mut self) -> Result<(), DriverFault> {
        let driver = match &self.driver {
            Some(driver) => Arc::clone(driver),
            None => self.load()?,
        };
        let devices = driver.list()?;
        for fault in driver.undescribed() {
            self.lock().count(self.loader.name(), fault.class());
        }
        if devices.len() > MOST_DEVICES {
            return Err(DriverFault::Failed {
                class: "absurd_count",
            });
        }
        self.fit(driver.as_ref(), &devices)
    }

    fn load(&mut self) -> Result<Arc<dyn Driver>, DriverFault> {
        let driver = self.loader.load()?;
        let stands_in = driver.stands_in();
        if stands_in.is_none() {
            info!(source = self.loader.name(), "loaded the driver");
        }
        self.lock().stands_in = stands_in;
        if let Some(stream) = driver.faults() {
            let shared = Arc::clone(&self.shared);
            let weak = Arc::downgrade(&driver);
            let started = thread(format!("{}-faults", self.loader.name()), move || {
                listen(stream, &shared, || weak.strong_count() > 0);
            });
            if let Err(error) = started {
                warn!(%error, "failed to start the thread that hears faults");
            }
        }
        self.driver = Some(Arc::clone(&driver));
        Ok(driver)
    }

    fn fit(&mut self, driver: &dyn Driver, devices: &[Listed]) -> Result<(), DriverFault> {
        let old = self.lock().workers.clone();
        let mut workers = Vec::with_capacity(devices.len());
        let mut unopened = Vec::new();
        for device in devices {
            let kept = old.iter().find(|worker| worker.listed == *device);
            // A device that is opened anew while its old thread is still inside the driver would add a thread each time.
            let stuck = old
                .iter()
                .find(|worker| worker.listed.identity.uuid == device.identity.uuid && worker.is_inside());
            match kept.or(stuck) {
                Some(worker) => workers.push(Arc::clone(worker)),
                None => match self.open(driver, device) {
                    Ok(worker) => workers.push(Arc::new(worker)),
                    Err(fault @ (DriverFault::Gone | DriverFault::VersionChanged)) => return Err(fault),
                    Err(fault) => unopened.push((Arc::clone(&device.identity), fault)),
                },
            }
        }
        let is_kept = |one: &&Arc<Worker>| workers.iter().any(|worker| Arc::ptr_eq(worker, one));
        let dropped: Vec<Arc<Worker>> = old.iter().filter(|one| !is_kept(one)).cloned().collect();
        self.leave_behind(&dropped);
        let mut state = self.lock();
        for device in devices {
            state
                .faults
                .introduce(&device.identity.uuid, &device.identity.pci_bus_id);
        }
        state.note_departures(devices, Instant::now());
        state.note_unopened(self.loader.name(), unopened);
        state.workers = workers;
        Ok(())
    }

    fn leave_behind(&mut self, workers: &[Arc<Worker>]) {
        self.left_behind.retain(|(_, trace)| trace.is_warm());
        let traces = workers
            .iter()
            .map(|worker| (worker.listed.identity.uuid.clone(), worker.trace()));
        self.left_behind.extend(traces);
    }

    fn open(&self, driver: &dyn Driver, device: &Listed) -> Result<Worker, DriverFault> {
        let hangs = |(uuid, trace): &&(String, Trace)| *uuid == device.identity.uuid && trace.is_warm();
        if self.left_behind.iter().filter(hangs).count() >= MOST_LEFT_BEHIND {
            return Err(DriverFault::Failed { class: "stuck" });
        }
        let readers = driver.open(device)?;
        info!(gpu = device.identity.index, uuid = %device.identity.uuid, model = %device.identity.model, "opened a GPU");
        Worker::start(device.clone(), readers, self.intervals.slow).map_err(|error| {
            warn!(%error, "failed to start the threads of a GPU");
            DriverFault::Failed { class: "no_thread" }
        })
    }

    /// Whether there is hardware for the driver, as of the last look.
    fn sees_hardware(&mut self) -> bool {
        match self.hardware {
            Some((at, seen)) if at.elapsed() < HARDWARE_LOOK => seen,
            _ => {
                let seen = self.loader.sees_hardware();
                self.hardware = Some((Instant::now(), seen));
                seen
            }
        }
    }

    fn note(&mut self, outcome: Result<(), DriverFault>, started: Instant) {
        let is_absent = matches!(outcome, Err(DriverFault::Absent(_)));
        let is_needless = is_absent && !self.sees_hardware();
        let mut state = self.lock();
        state.is_needless = is_needless && state.hold == Hold::Held;
        state.listing_since = None;
        state.last_duration = Some(started.elapsed());
        self.shared.1.notify_all();
        let Err(fault) = outcome else {
            state.listed_at = Some(Instant::now());
            state.problem = None;
            return;
        };
        state.count(self.loader.name(), fault.class());
        let text = fault.to_string();
        if state.problem.as_deref() != Some(text.as_str()) {
            if state.is_needless {
                info!(source = self.loader.name(), problem = %text, "found no such driver, and no GPU for it");
            } else {
                warn!(source = self.loader.name(), problem = %text, "cannot list GPUs");
            }
        }
        state.problem = Some(text.into());
        state.must_restart |= fault == DriverFault::VersionChanged;
        drop(state);
        if matches!(fault, DriverFault::Gone | DriverFault::VersionChanged) {
            self.let_go();
        }
    }

    /// Ends the workers and drops the driver; its library stays loaded only for threads that are still inside it.
    fn let_go(&mut self) {
        let workers = {
            let mut state = self.lock();
            state.unopened.clear();
            state.stands_in = None;
            std::mem::take(&mut state.workers)
        };
        self.leave_behind(&workers);
        self.driver = None;
    }
}

/// Hears faults until the driver is let go.
fn listen(mut stream: Box<dyn FaultStream>, shared: &(Mutex<State>, Condvar), wanted: impl Fn() -> bool) {
    let with = |look: &dyn Fn(&mut State)| look(&mut shared.0.lock().unwrap_or_else(PoisonError::into_inner));
    let mut hears = true;
    with(&|state| state.hears_faults = true);
    while wanted() {
        let heard = stream.next(FAULT_WAIT);
        if heard.is_ok() != hears {
            hears = heard.is_ok();
            with(&|state| state.hears_faults = hears);
            match &heard {
                Ok(_) => info!("hears faults again"),
                Err(fault) => warn!(problem = %fault, "does not hear faults"),
            }
        }
        match heard {
            Ok(Some(fault)) => {
                warn!(code = fault.code, device = ?fault.device, "a GPU reported a fault");
                with(&|state| state.faults.record(Reporter::Driver, &fault));
            }
            Ok(None) => {}
            Err(DriverFault::Gone | DriverFault::VersionChanged) => break,
            // It may pass; a stream that gave up would count no fault until the driver is loaded again.
            Err(_) => std::thread::sleep(FAULT_WAIT),
        }
    }
    with(&|state| state.hears_faults = false);
}

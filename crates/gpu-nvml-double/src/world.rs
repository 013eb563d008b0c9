//! The machine as it is now: the scenario in force, who has initialised the library, and what each call is to do.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use crate::clockwork::{Clockwork, Totals};
use crate::scenario::{FaultKind, Gpu, MigInstance, Scenario};
use crate::tally::Counter;
use source::Source;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const UNINITIALIZED: Code = 1;
pub(crate) const INVALID_ARGUMENT: Code = 2;
pub(crate) const NOT_SUPPORTED: Code = 3;
pub(crate) const NO_PERMISSION: Code = 4;
pub(crate) const NOT_FOUND: Code = 6;
pub(crate) const INSUFFICIENT_SIZE: Code = 7;
pub(crate) const DRIVER_NOT_LOADED: Code = 9;
pub(crate) const TIMEOUT: Code = 10;
pub(crate) const FUNCTION_NOT_FOUND: Code = 13;
pub(crate) const GPU_IS_LOST: Code = 15;
pub(crate) const VERSION_MISMATCH: Code = 18;
pub(crate) const ARGUMENT_VERSION_MISMATCH: Code = 25;

pub(crate) type Code = nvmlReturn_t;

/// A count no machine has and no caller may believe.
pub(crate) const ABSURD: u32 = 0x7FFF_FFF0;

static WORLD: LazyLock<Mutex<World>> = LazyLock::new(|| Mutex::new(World::new()));
/// The lock a real driver may hold across GPUs. Every call takes it for a moment; a hang of that kind keeps it.
static DRIVER: Mutex<()> = Mutex::new(());

pub(crate) struct World {
    pub(crate) scenario: Scenario,
    source: Source,
    pub(crate) counter: Counter,
    pub(crate) clockwork: Clockwork,
    pub(crate) sessions: u32,
    /// The driver went away under an open session.
    broken: bool,
    handles: Vec<Identity>,
    pub(crate) delivered: BTreeSet<u64>,
    /// The uuids registered with each event set.
    pub(crate) event_sets: BTreeMap<usize, BTreeSet<String>>,
    pub(crate) samples: BTreeMap<usize, GpmSample>,
    pub(crate) next_id: usize,
}

/// What a handle stands for. Handles stay the same for the life of the process, as uuids do.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    gpu: String,
    mig: Option<String>,
}

/// A GPM sample: taken when, of what.
#[derive(Debug, Clone, Default)]
pub(crate) struct GpmSample {
    pub(crate) taken: Option<Instant>,
    pub(crate) gpu: String,
    pub(crate) gpu_instance: Option<u32>,
}

/// What befalls a call that goes through.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Effects {
    pub(crate) garbage: bool,
    pub(crate) absurd: bool,
}

/// The device a call is about.
pub(crate) struct Seen<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) gpu: &'a Gpu,
    /// Present when the handle is that of a slice.
    pub(crate) mig: Option<&'a MigInstance>,
    pub(crate) totals: Totals,
    pub(crate) effects: Effects,
}

enum Plan {
    Go { delay: Duration, effects: Effects },
    Fail(Code),
    Hang { serialised: bool },
}

/// A panic inside a call is a bug of the double; the lock's content stays whole all the same.
pub(crate) fn world() -> MutexGuard<'static, World> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a call, serves its latency and its faults. `Err` is what the caller gets instead of an answer.
pub(crate) fn pass(function: &'static str, device: Option<nvmlDevice_t>) -> Result<Effects, Code> {
    world().counter.count(function);
    let mut plan = world().plan(function, device);
    if let Plan::Hang { serialised } = plan {
        let held = serialised.then(|| DRIVER.lock().unwrap_or_else(PoisonError::into_inner));
        while matches!(plan, Plan::Hang { .. }) {
            thread::sleep(Duration::from_millis(2));
            plan = world().plan(function, device);
        }
        drop(held);
    }
    drop(DRIVER.lock().unwrap_or_else(PoisonError::into_inner));
    match plan {
        Plan::Go { delay, effects } => {
            if !delay.is_zero() {
                thread::sleep(delay);
            }
            Ok(effects)
        }
        Plan::Fail(code) => Err(code),
        Plan::Hang { .. } => Err(TIMEOUT),
    }
}

/// Serves a call on a device.
pub(crate) fn answer(
    function: &'static str,
    device: nvmlDevice_t,
    reply: impl FnOnce(&Seen<'_>) -> Result<(), Code>,
) -> nvmlReturn_t {
    let served = pass(function, Some(device)).and_then(|effects| {
        let world = world();
        world.see(device, effects).and_then(|seen| reply(&seen))
    });
    served.err().unwrap_or(SUCCESS)
}

impl Seen<'_> {
    /// The first number of the driver's version.
    pub(crate) fn driver_branch(&self) -> u32 {
        self.driver_version().0
    }

    /// The two leading numbers of the driver's version.
    pub(crate) fn driver_version(&self) -> (u32, u32) {
        let mut parts = self
            .scenario
            .driver
            .split('.')
            .map(|part| part.parse().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }
}

impl World {
    fn new() -> World {
        let mut source = Source::find();
        let scenario = source.changed().unwrap_or_default();
        World {
            counter: Counter::new(source.tally_path()),
            source,
            scenario,
            clockwork: Clockwork::start(),
            sessions: 0,
            broken: false,
            handles: Vec::new(),
            delivered: BTreeSet::new(),
            event_sets: BTreeMap::new(),
            samples: BTreeMap::new(),
            next_id: 1,
        }
    }

    pub(crate) fn refresh(&mut self) {
        if let Some(scenario) = self.source.changed() {
            self.clockwork.change(&self.scenario);
            self.scenario = scenario;
        }
    }

    /// Opens a session, as `nvmlInit` does.
    pub(crate) fn init(&mut self) -> Code {
        self.refresh();
        if self.scenario.driver_gone {
            DRIVER_NOT_LOADED
        } else if self.scenario.version_mismatch {
            VERSION_MISMATCH
        } else if self.scenario.no_permission {
            NO_PERMISSION
        } else {
            self.broken = false;
            self.sessions += 1;
            SUCCESS
        }
    }

    pub(crate) fn shut_down(&mut self) -> Code {
        if self.sessions == 0 {
            return UNINITIALIZED;
        }
        self.sessions -= 1;
        self.counter.write();
        SUCCESS
    }

    fn plan(&mut self, function: &str, device: Option<nvmlDevice_t>) -> Plan {
        self.refresh();
        if self.sessions == 0 {
            return Plan::Fail(UNINITIALIZED);
        }
        if self.scenario.driver_gone {
            self.broken = true;
            return Plan::Fail(DRIVER_NOT_LOADED);
        }
        if self.scenario.version_mismatch {
            return Plan::Fail(VERSION_MISMATCH);
        }
        if self.broken {
            return Plan::Fail(UNINITIALIZED);
        }
        if self.scenario.hide.iter().any(|hidden| hidden == function) {
            return Plan::Fail(FUNCTION_NOT_FOUND);
        }
        let uuid = device
            .and_then(|device| self.identity(device))
            .map(|identity| identity.gpu.clone());
        let mut effects = Effects::default();
        for fault in &self.scenario.faults {
            let meant = fault.function == function || (fault.function == "*" && uuid.is_some());
            let here = fault.gpu.is_none() || fault.gpu == uuid;
            if !(meant && here) {
                continue;
            }
            match fault.kind {
                FaultKind::Hang => return Plan::Hang { serialised: false },
                FaultKind::HangAll => return Plan::Hang { serialised: true },
                FaultKind::Fail(code) => return Plan::Fail(code),
                FaultKind::GarbageText => effects.garbage = true,
                FaultKind::AbsurdCount => effects.absurd = true,
            }
        }
        let delay = Duration::from_micros(self.scenario.latency.of(function));
        Plan::Go { delay, effects }
    }

    fn identity(&self, device: nvmlDevice_t) -> Option<&Identity> {
        self.handles.get(device.addr().checked_sub(HANDLES_FROM)?)
    }

    pub(crate) fn see(&self, device: nvmlDevice_t, effects: Effects) -> Result<Seen<'_>, Code> {
        let identity = self.identity(device).ok_or(INVALID_ARGUMENT)?;
        let gpu = self.scenario.gpus.iter().find(|gpu| gpu.uuid == identity.gpu);
        let gpu = gpu.filter(|gpu| !gpu.lost && !gpu.vanished).ok_or(GPU_IS_LOST)?;
        let mig = match &identity.mig {
            None => None,
            Some(uuid) => Some(
                instances(gpu)
                    .find(|slice| slice.uuid == *uuid)
                    .ok_or(NOT_FOUND)?,
            ),
        };
        Ok(Seen {
            scenario: &self.scenario,
            gpu,
            mig,
            totals: self.clockwork.totals(&self.scenario, gpu),
            effects,
        })
    }

    /// GPUs the driver counts, in order.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Gpu> {
        self.scenario.gpus.iter().filter(|gpu| !gpu.vanished)
    }

    pub(crate) fn handle(&mut self, gpu: String, mig: Option<String>) -> nvmlDevice_t {
        let wanted = Identity { gpu, mig };
        let place = self
            .handles
            .iter()
            .position(|identity| *identity == wanted)
            .unwrap_or_else(|| {
                self.handles.push(wanted);
                self.handles.len() - 1
            });
        std::ptr::without_provenance_mut(HANDLES_FROM + place)
    }

    pub(crate) fn uuid_of(&self, device: nvmlDevice_t) -> Option<String> {
        self.identity(device).map(|identity| identity.gpu.clone())
    }

    pub(crate) fn new_id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }
}

/// Far from null, so that a stray small number is no handle.
const HANDLES_FROM: usize = 0x1000;

/// The slices of a GPU, while it is sliced.
pub(crate) fn instances(gpu: &Gpu) -> impl Iterator<Item = &MigInstance> {
    gpu.mig
        .iter()
        .filter(|mig| mig.enabled)
        .flat_map(|mig| mig.instances.iter().flatten())
}

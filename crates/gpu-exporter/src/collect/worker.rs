//! One device, two threads: the fast half answers every tick, the slow half runs at its own pace. A call that does not return
//! holds its own thread and nothing else. Threads that never come back outlive their worker; a [`Trace`] tells that they do,
//! so that whoever starts workers can stop in time.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use gpu_model::Reading;

use super::totals;
use crate::readings::{DeviceReadings, ThrottleReason};
use crate::snapshot::{DeviceState, Totals};
use crate::source::{DeviceReader, DriverFault, Listed, Readers};

/// Enough for NVML's own frames and ours; the default of 8 MiB a thread frightens people who look at virtual memory.
const STACK_BYTES: usize = 512 * 1024;

/// What a worker shows of its device.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) state: DeviceState,
    pub(super) readings: Arc<DeviceReadings>,
    pub(super) slow: Arc<DeviceReadings>,
    pub(super) totals: Totals,
    /// What the driver counts of held-down clocks by itself, as of the last slow reading that had it; absent before the first.
    counted: Option<[Reading<f64>; ThrottleReason::ALL.len()]>,
    pub(super) sampled_at: Option<Instant>,
    /// When the slow half last ended well.
    pub(super) slow_sampled_at: Option<Instant>,
    pub(super) errors: BTreeMap<&'static str, u64>,
    pub(super) rejected_total: u64,
    /// The last fault that concerns more than this device.
    pub(super) driver_fault: Option<DriverFault>,
}

struct Slot {
    shown: Shown,
    /// Counts ticks asked for; the fast thread works while it is behind.
    asked: u64,
    answered: u64,
    /// When the fast thread went into the driver, while it is there.
    inside_since: Option<Instant>,
    slow_inside: bool,
    /// Whether the slow thread came back from its first reading, well or not.
    slow_has_run: bool,
    stop: bool,
}

/// What the two threads and the collection share. Two conditions, because a tick a second must not wake the slow thread, which
/// has nothing to do for another half a minute.
struct Shared {
    slot: Mutex<Slot>,
    /// A tick was asked for or answered.
    ticks: Condvar,
    /// The slow half was read, or should end.
    slow: Condvar,
}

/// What is left of a worker: nothing, once its threads have ended.
pub(super) struct Trace(Weak<Shared>);

impl Trace {
    /// Whether a thread of it has not come back from the driver.
    pub(super) fn is_warm(&self) -> bool {
        self.0.strong_count() > 0
    }
}

/// The running readers of one device.
pub(super) struct Worker {
    pub(super) listed: Listed,
    shared: Arc<Shared>,
}

impl Worker {
    /// Starts both threads.
    pub(super) fn start(listed: Listed, readers: Readers, slow_interval: Duration) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            slot: Mutex::new(Slot::new()),
            ticks: Condvar::new(),
            slow: Condvar::new(),
        });
        let index = listed.identity.index;
        let fast = Arc::clone(&shared);
        thread(format!("gpu{index}-fast"), move || run_fast(readers.fast, &fast))?;
        let slow = Arc::clone(&shared);
        thread(format!("gpu{index}-slow"), move || {
            run_slow(readers.slow, &slow, slow_interval)
        })?;
        Ok(Self { listed, shared })
    }

    /// Asks for a new sample; a worker that is still inside the driver is not asked twice.
    pub(super) fn tick(&self) {
        let mut slot = self.lock();
        slot.asked = slot.answered + 1;
        self.shared.ticks.notify_all();
    }

    /// Waits until the last tick is answered, at most until the deadline.
    pub(super) fn wait(&self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        let slot = self.lock();
        // The answer is read through `shown`; whether it came in time is in its age.
        let _ = self
            .shared
            .ticks
            .wait_timeout_while(slot, left, |slot| slot.answered < slot.asked && !slot.stop);
    }

    /// Waits until the slow half was read for the first time, at most until the deadline.
    pub(super) fn wait_for_slow(&self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        let slot = self.lock();
        // What it read is seen through `shown`, or is not there yet.
        let _ = self
            .shared
            .slow
            .wait_timeout_while(slot, left, |slot| !slot.slow_has_run && !slot.stop);
    }

    /// What is known now. A thread that has been inside the driver for longer than `patience` makes the device stuck.
    pub(super) fn shown(&self, now: Instant, patience: Duration) -> Shown {
        let slot = self.lock();
        let mut shown = slot.shown.clone();
        shown.totals.throttle_seconds = throttle_seconds(&shown);
        if slot
            .inside_since
            .is_some_and(|since| now.saturating_duration_since(since) > patience)
        {
            shown.state = DeviceState::Stuck;
        }
        shown
    }

    /// Whether one of the threads is inside the driver.
    pub(super) fn is_inside(&self) -> bool {
        let slot = self.lock();
        slot.inside_since.is_some() || slot.slow_inside
    }

    pub(super) fn trace(&self) -> Trace {
        Trace(Arc::downgrade(&self.shared))
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        lock(&self.shared.slot)
    }
}

impl Drop for Worker {
    /// Tells both threads to end when they come back from the driver; nobody waits for one that does not.
    fn drop(&mut self) {
        self.lock().stop = true;
        self.shared.ticks.notify_all();
        self.shared.slow.notify_all();
    }
}

impl Slot {
    fn new() -> Self {
        Self {
            shown: Shown {
                state: DeviceState::Up,
                readings: Arc::default(),
                slow: Arc::default(),
                totals: Totals::default(),
                counted: None,
                sampled_at: None,
                slow_sampled_at: None,
                errors: BTreeMap::new(),
                rejected_total: 0,
                driver_fault: None,
            },
            asked: 0,
            answered: 0,
            inside_since: None,
            slow_inside: false,
            slow_has_run: false,
            stop: false,
        }
    }

    fn count(&mut self, readings: &DeviceReadings) {
        self.shown.rejected_total += u64::from(readings.rejected);
        for class in &readings.failed {
            *self.shown.errors.entry(class).or_default() += 1;
        }
    }

    fn fail(&mut self, fault: DriverFault) {
        *self.shown.errors.entry(fault.class()).or_default() += 1;
        self.shown.state = match &fault {
            DriverFault::DeviceLost => DeviceState::Lost,
            other => DeviceState::Failing(other.class()),
        };
        let concerns_all = matches!(fault, DriverFault::Gone | DriverFault::VersionChanged);
        self.shown.driver_fault = concerns_all.then_some(fault);
    }
}

fn run_fast(mut reader: Box<dyn DeviceReader>, shared: &Shared) {
    let mut buffer = DeviceReadings::default();
    loop {
        {
            let waiting = lock(&shared.slot);
            let mut slot = shared
                .ticks
                .wait_while(waiting, |slot| slot.answered >= slot.asked && !slot.stop)
                .unwrap_or_else(PoisonError::into_inner);
            if slot.stop {
                return;
            }
            slot.inside_since = Some(Instant::now());
        }
        buffer.start();
        let outcome = reader.read(&mut buffer);
        let now = reader.measured_at().unwrap_or_else(Instant::now);
        let mut locked = lock(&shared.slot);
        locked.inside_since = None;
        locked.answered = locked.asked;
        match outcome {
            // What was told before is neither a new sample nor a sign of life.
            Ok(()) if locked.shown.sampled_at == Some(now) => {}
            Ok(()) => {
                let elapsed = locked
                    .shown
                    .sampled_at
                    .map(|before| now.saturating_duration_since(before));
                totals::add(&mut locked.shown.totals, &buffer, elapsed);
                locked.count(&buffer);
                locked.shown.readings = Arc::new(buffer.clone());
                locked.shown.sampled_at = Some(now);
                locked.shown.state = DeviceState::Up;
                locked.shown.driver_fault = None;
            }
            Err(fault) => locked.fail(fault),
        }
        drop(locked);
        shared.ticks.notify_all();
    }
}

fn run_slow(mut reader: Box<dyn DeviceReader>, shared: &Shared, interval: Duration) {
    let mut buffer = DeviceReadings::default();
    loop {
        lock(&shared.slot).slow_inside = true;
        buffer.start();
        let outcome = reader.read(&mut buffer);
        let mut locked = lock(&shared.slot);
        locked.slow_inside = false;
        locked.slow_has_run = true;
        shared.slow.notify_all();
        match outcome {
            Ok(()) => {
                locked.count(&buffer);
                let counted = locked.shown.counted.get_or_insert_default();
                for (last, now) in counted.iter_mut().zip(buffer.throttle_seconds) {
                    *last = totals::keep_last(*last, now);
                }
                locked.shown.slow = Arc::new(buffer.clone());
                locked.shown.slow_sampled_at = Some(reader.measured_at().unwrap_or_else(Instant::now));
            }
            Err(fault) => *locked.shown.errors.entry(fault.class()).or_default() += 1,
        }
        let (locked, _) = shared
            .slow
            .wait_timeout_while(locked, interval, |slot| !slot.stop)
            .unwrap_or_else(PoisonError::into_inner);
        if locked.stop {
            return;
        }
    }
}

/// The driver's own count where it has one, else what was summed here. Before the slow half has told which of the two it is
/// there is neither: a sum that jumps to the driver's count would look like seconds that were never lost.
fn throttle_seconds(shown: &Shown) -> [Reading<f64>; ThrottleReason::ALL.len()] {
    let Some(counted) = shown.counted else {
        return [Reading::Unsupported; ThrottleReason::ALL.len()];
    };
    let mut seconds = shown.totals.throttle_seconds;
    for (summed, counted) in seconds.iter_mut().zip(counted) {
        if counted != Reading::Unsupported {
            *summed = counted;
        }
    }
    seconds
}

/// A reader that panicked leaves plain values behind, so a poisoned lock still guards good data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn thread(name: String, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(work)?;
    Ok(())
}

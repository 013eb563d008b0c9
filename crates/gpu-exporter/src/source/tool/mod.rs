//! Sources that run a vendor's tool. One run tells everything about all GPUs, so a thread of its own runs it every few seconds
//! and the readers of the devices only look at what it told last: the tool costs a tenth of a second or more, and never runs
//! twice for two GPUs.

pub mod json;
pub mod quantity;
mod standby;

pub use standby::{Fallback, When, Wish, WithFallback};

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::warn;

use super::command::{self, Output, Places, RunError, Unfit};
use super::{DeviceReader, Driver, DriverFault, FaultStream, Listed, Readers};
use crate::readings::DeviceReadings;

/// Parsing needs little; the default of 2 MiB a thread frightens people who look at virtual memory.
const STACK_BYTES: usize = 512 * 1024;

/// How often and how long a tool may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between the starts of two runs.
    pub interval: Duration,
    /// After this a run is killed.
    pub patience: Duration,
}

/// Everything one run told.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub devices: Vec<Told>,
    /// Devices that were counted and not described.
    pub undescribed: Vec<DriverFault>,
}

/// What was told of one device.
#[derive(Debug, Clone)]
pub struct Told {
    pub listed: Listed,
    pub outcome: Result<DeviceReadings, DriverFault>,
}

/// A vendor's tool: knows its arguments and what it prints.
pub trait Tool: Send {
    /// Runs it, once or a few times, and understands what it printed. [`DriverFault::Absent`] is for good: there is no tool or no driver.
    fn ask(&mut self) -> Result<Answer, DriverFault>;
}

/// A program that is run again and again.
#[derive(Debug, Clone)]
pub struct Runner {
    pub name: &'static str,
    pub places: Places,
    pub patience: Duration,
}

impl Runner {
    pub fn run(&self, arguments: &[&str]) -> Result<Output, DriverFault> {
        // It is looked at before every run: what was fit a minute ago may have been replaced.
        let program = self.places.find().map_err(|unfit| self.unfit(&unfit))?;
        command::run(&program, arguments, self.patience).map_err(|error| {
            if !matches!(error, RunError::Stuck | RunError::Ending) {
                warn!(tool = self.name, problem = %gpu_runtime::Chain(&error), "cannot run a tool");
            }
            DriverFault::Failed { class: error.class() }
        })
    }

    pub fn unfit(&self, unfit: &Unfit) -> DriverFault {
        DriverFault::Absent(format!("cannot run {}: {unfit}", self.name))
    }
}

/// The newest answer, where the thread that asks leaves it.
struct Board {
    posted: Mutex<Posted>,
    changed: Condvar,
}

struct Posted {
    /// Grows with every run, good or bad.
    run: u64,
    /// When the run started that told the devices.
    at: Instant,
    answer: Arc<Answer>,
    /// What was wrong with the last run; the devices are then those of an earlier one.
    fault: Option<DriverFault>,
    stop: bool,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Posted> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A driver that is in truth a tool.
pub struct ToolDriver {
    board: Arc<Board>,
}

impl ToolDriver {
    /// Asks for the first time, then goes on asking on a thread of its own until this value is dropped.
    pub fn start(name: &'static str, mut tool: Box<dyn Tool>, pace: Pace) -> Result<Self, DriverFault> {
        let started = Instant::now();
        let answer = tool.ask()?;
        let board = Arc::new(Board {
            posted: Mutex::new(Posted {
                run: 1,
                at: started,
                answer: Arc::new(answer),
                fault: None,
                stop: false,
            }),
            changed: Condvar::new(),
        });
        let shared = Arc::clone(&board);
        let thread = std::thread::Builder::new()
            .name(format!("{name}-tool"))
            .stack_size(STACK_BYTES)
            .spawn(move || ask_on(tool, &shared, started, pace.interval));
        thread.map_err(|error| {
            warn!(%error, "failed to start the thread that runs a tool");
            DriverFault::Failed { class: "no_thread" }
        })?;
        Ok(Self { board })
    }
}

impl Drop for ToolDriver {
    fn drop(&mut self) {
        self.board.lock().stop = true;
        self.board.changed.notify_all();
    }
}

fn ask_on(mut tool: Box<dyn Tool>, board: &Board, mut started: Instant, interval: Duration) {
    loop {
        let pause = (started + interval).saturating_duration_since(Instant::now());
        let (posted, _) = board
            .changed
            .wait_timeout_while(board.lock(), pause, |posted| !posted.stop)
            .unwrap_or_else(PoisonError::into_inner);
        if posted.stop {
            return;
        }
        drop(posted);
        started = Instant::now();
        let asked = tool.ask();
        let mut posted = board.lock();
        posted.run += 1;
        match asked {
            Ok(answer) => {
                posted.at = started;
                posted.answer = Arc::new(answer);
                posted.fault = None;
            }
            Err(fault) => posted.fault = Some(fault),
        }
    }
}

impl Driver for ToolDriver {
    fn list(&self) -> Result<Vec<Listed>, DriverFault> {
        let posted = self.board.lock();
        match &posted.fault {
            // The tool or the driver behind it is gone: let go of everything, and see what can be loaded now.
            Some(DriverFault::Absent(_)) => Err(DriverFault::Gone),
            Some(fault) => Err(fault.clone()),
            None => Ok(posted
                .answer
                .devices
                .iter()
                .map(|told| told.listed.clone())
                .collect()),
        }
    }

    fn undescribed(&self) -> Vec<DriverFault> {
        self.board.lock().answer.undescribed.clone()
    }

    fn open(&self, device: &Listed) -> Result<Readers, DriverFault> {
        let reader = |half| {
            Box::new(ToolReader {
                board: Arc::clone(&self.board),
                uuid: device.identity.uuid.clone(),
                half,
                seen: 0,
                fault: None,
                measured_at: None,
            })
        };
        Ok(Readers {
            fast: reader(Half::Fast),
            slow: reader(Half::Slow),
        })
    }

    fn faults(&self) -> Option<Box<dyn FaultStream>> {
        None
    }
}

/// All of an answer goes to the fast half, which has it as soon as it is there; the slow half only tells how old it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Fast,
    Slow,
}

struct ToolReader {
    board: Arc<Board>,
    uuid: String,
    half: Half,
    /// The run that was last looked at: each is told once.
    seen: u64,
    /// What was wrong with the device when it was last looked at.
    fault: Option<DriverFault>,
    measured_at: Option<Instant>,
}

impl DeviceReader for ToolReader {
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let outcome = self.look(into);
        self.fault = outcome.clone().err();
        outcome
    }

    fn measured_at(&self) -> Option<Instant> {
        self.measured_at
    }
}

impl ToolReader {
    fn look(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let (answer, at) = {
            let posted = self.board.lock();
            if posted.run == self.seen {
                // A device that was never read has no sample to fall back to, however often it is asked.
                return match (&self.fault, self.measured_at) {
                    (Some(fault), None) => Err(fault.clone()),
                    _ => Ok(()),
                };
            }
            self.seen = posted.run;
            if let Some(fault) = &posted.fault {
                return Err(fault.clone());
            }
            (Arc::clone(&posted.answer), posted.at)
        };
        let told = answer
            .devices
            .iter()
            .find(|told| told.listed.identity.uuid == self.uuid);
        let readings = told
            .ok_or(DriverFault::DeviceLost)?
            .outcome
            .as_ref()
            .map_err(Clone::clone)?;
        if self.half == Half::Fast {
            into.clone_from(readings);
        }
        self.measured_at = Some(at);
        Ok(())
    }
}

/// Lower case and with the eight-digit domain, as NVML writes it.
pub(super) fn long_address(address: &str) -> String {
    let address = address.trim().to_ascii_lowercase();
    match address.split_once(':') {
        Some((domain, rest)) if domain.len() < 8 && rest.contains(':') => format!("{domain:0>8}:{rest}"),
        _ => address,
    }
}

/// The kernel's form, as AMD's own driver is read by: `0000:05:00.0`. A GPU has one address and one uuid whoever tells of it.
pub(super) fn kernel_address(address: &str) -> String {
    let long = long_address(address);
    match long.strip_prefix("0000") {
        Some(short) if short.find(':') == Some(4) => short.to_owned(),
        _ => long,
    }
}

#[cfg(test)]
mod tests;

//! A driver's library first, a tool where the library cannot be had. Both are one source to the collection, so that a GPU is
//! never there twice; the library is tried again now and then, and takes over as soon as it answers.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::info;

use super::super::command::{Places, Unfit};
use super::super::{Driver, DriverFault, DriverLoader, FaultStream, Listed, Readers, StandIn};
use super::Pace;

/// After so many intervals (half a minute) what failed is tried again: a tool, because a driver that is being installed does not
/// get ready any sooner; the library, because looking for it costs some files.
const AGAIN_AFTER: u32 = 6;

/// When a tool may stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The driver cannot be loaded.
    Unloadable,
    /// Or it is loaded and lists nothing.
    Empty,
}

/// Who wanted a tool. One that is tried by default and is not there is not worth a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    ByDefault,
    ByName,
}

/// A tool that may stand in for a driver.
pub struct Fallback {
    pub loader: Box<dyn DriverLoader>,
    pub places: Places,
    pub wish: Wish,
}

/// A driver with the tools that may stand in for it, in order.
pub struct WithFallback {
    primary: Arc<Mutex<Box<dyn DriverLoader>>>,
    name: &'static str,
    when: When,
    fallbacks: Vec<Fallback>,
    again: Duration,
    /// When tools were last tried in vain, and what was wrong.
    failed: Mutex<Option<(Instant, String)>>,
}

impl WithFallback {
    pub fn new(primary: Box<dyn DriverLoader>, when: When, fallbacks: Vec<Fallback>, pace: Pace) -> Self {
        Self {
            name: primary.name(),
            primary: Arc::new(Mutex::new(primary)),
            when,
            fallbacks,
            again: pace.interval * AGAIN_AFTER,
            failed: Mutex::new(None),
        }
    }

    /// The first tool that answers, or what is wrong with all of them.
    fn stand_in(&self, because: &str) -> Result<Arc<dyn Driver>, String> {
        let mut failed = lock(&self.failed);
        if let Some((_, problems)) = failed.as_ref().filter(|(at, _)| at.elapsed() < self.again) {
            return Err(problems.clone());
        }
        let mut problems = String::new();
        for fallback in &self.fallbacks {
            if fallback.wish == Wish::ByDefault && fallback.places.find() == Err(Unfit::Missing) {
                continue;
            }
            match fallback.loader.load() {
                Ok(inner) => {
                    *failed = None;
                    info!(
                        source = fallback.loader.name(),
                        instead_of = self.name,
                        because,
                        "reads GPUs through a tool"
                    );
                    return Ok(Arc::new(Standby {
                        inner,
                        primary: Arc::clone(&self.primary),
                        when: self.when,
                        again: self.again,
                        stands_in: StandIn {
                            name: fallback.loader.name(),
                            because: because.into(),
                        },
                        tried_at: Mutex::new(Instant::now()),
                    }));
                }
                Err(fault) => {
                    // Writing to a text does not fail.
                    let _ = write!(problems, "; {}: {fault}", fallback.loader.name());
                }
            }
        }
        *failed = Some((Instant::now(), problems.clone()));
        Err(problems)
    }
}

impl DriverLoader for WithFallback {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sees_hardware(&self) -> bool {
        lock(&self.primary).sees_hardware()
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        let fault = match lock(&self.primary).load() {
            Ok(driver) if self.is_enough(driver.as_ref()) => return Ok(driver),
            Ok(driver) => {
                let because = format!("{} lists no GPU", self.name);
                return Ok(self.stand_in(&because).unwrap_or(driver));
            }
            // Only a new process helps, and a tool would fall over the same thing.
            Err(fault @ DriverFault::VersionChanged) => return Err(fault),
            Err(fault) => fault,
        };
        match self.stand_in(&fault.to_string()) {
            Ok(driver) => Ok(driver),
            Err(problems) if problems.is_empty() => Err(fault),
            Err(problems) => Err(DriverFault::Absent(format!("{fault}{problems}"))),
        }
    }
}

impl WithFallback {
    fn is_enough(&self, driver: &dyn Driver) -> bool {
        self.when == When::Unloadable || self.fallbacks.is_empty() || lists(driver)
    }
}

fn lists(driver: &dyn Driver) -> bool {
    driver.list().is_ok_and(|devices| !devices.is_empty())
}

/// A tool in the place of a driver.
struct Standby {
    inner: Arc<dyn Driver>,
    primary: Arc<Mutex<Box<dyn DriverLoader>>>,
    when: When,
    again: Duration,
    stands_in: StandIn,
    tried_at: Mutex<Instant>,
}

impl Standby {
    /// Whether the driver itself can be had again.
    fn is_relieved(&self) -> bool {
        {
            let mut tried_at = lock(&self.tried_at);
            if tried_at.elapsed() < self.again {
                return false;
            }
            *tried_at = Instant::now();
        }
        match lock(&self.primary).load() {
            Ok(driver) => self.when == When::Unloadable || lists(driver.as_ref()),
            Err(fault) => fault == DriverFault::VersionChanged,
        }
    }
}

impl Driver for Standby {
    fn list(&self) -> Result<Vec<Listed>, DriverFault> {
        if self.is_relieved() {
            info!(
                source = self.stands_in.name,
                "the driver itself can be read again"
            );
            return Err(DriverFault::Gone);
        }
        self.inner.list()
    }

    fn undescribed(&self) -> Vec<DriverFault> {
        self.inner.undescribed()
    }

    fn open(&self, device: &Listed) -> Result<Readers, DriverFault> {
        self.inner.open(device)
    }

    fn faults(&self) -> Option<Box<dyn FaultStream>> {
        self.inner.faults()
    }

    fn stands_in(&self) -> Option<StandIn> {
        Some(self.stands_in.clone())
    }
}

/// A panic leaves a plain value behind, so a poisoned lock still guards good data.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

//! XIDs as the driver reports them, waited for on a thread of its own.

use std::time::Duration;

use gpu_nvml::{EventSet, Fault as NvmlFault, Nvml};
use tracing::debug;

use super::driver_fault;
use crate::source::{DriverFault, Fault, FaultDevice, FaultStream};

/// A set without one of the devices is made anew after so many waits: a lost GPU that was found again must be heard again.
const WAITS_OF_A_PARTIAL_SET: u32 = 5;

pub(super) struct XidStream {
    nvml: Nvml,
    set: Option<Watched>,
}

struct Watched {
    set: EventSet,
    /// How many devices there were when it was made: a new GPU needs a new set.
    count: u32,
    /// While a device that could report is not in it: how often it may still be waited for.
    waits_left: Option<u32>,
}

impl XidStream {
    pub(super) fn new(nvml: Nvml) -> Self {
        Self { nvml, set: None }
    }

    fn watch(&mut self) -> Result<&EventSet, NvmlFault> {
        let count = self.nvml.device_count()?;
        let is_worn = |watched: &Watched| watched.count != count || watched.waits_left == Some(0);
        if self.set.as_ref().is_none_or(is_worn) {
            self.set = Some(self.watch_all(count)?);
        }
        let watched = self.set.as_mut().ok_or(NvmlFault::NoData)?;
        watched.waits_left = watched.waits_left.map(|left| left.saturating_sub(1));
        Ok(&watched.set)
    }

    fn watch_all(&self, count: u32) -> Result<Watched, NvmlFault> {
        let mut set = self.nvml.event_set()?;
        let mut is_partial = false;
        for index in 0..count {
            let watched = self.nvml.device(index).and_then(|device| set.watch(&device));
            if let Err(fault) = watched {
                is_partial |= fault != NvmlFault::Unsupported;
                debug!(gpu = index, problem = %fault, "a GPU does not report faults");
            }
        }
        Ok(Watched {
            set,
            count,
            waits_left: is_partial.then_some(WAITS_OF_A_PARTIAL_SET),
        })
    }
}

impl FaultStream for XidStream {
    fn next(&mut self, within: Duration) -> Result<Option<Fault>, DriverFault> {
        let event = self.watch().and_then(|set| set.wait(within));
        match event {
            Ok(Some(xid)) => Ok(Some(Fault {
                device: FaultDevice::Uuid(xid.gpu.to_string()),
                code: u32::try_from(xid.code).unwrap_or(u32::MAX),
            })),
            Ok(None) => Ok(None),
            // A lost GPU ends the wait of all; the others still report, so the set is made anew without it.
            Err(NvmlFault::Lost | NvmlFault::ResetRequired | NvmlFault::NotFound) => {
                self.set = None;
                std::thread::sleep(within);
                Ok(None)
            }
            Err(fault) => {
                self.set = None;
                Err(driver_fault(fault))
            }
        }
    }
}

//! XIDs as the driver reports them, waited for on a thread of its own.

use std::time::Duration;

use gpu_nvml::{EventSet, Fault as NvmlFault, Nvml};
use tracing::debug;

use super::driver_fault;
use crate::source::{DriverFault, Fault, FaultDevice, FaultStream};

pub(super) struct XidStream {
    nvml: Nvml,
    /// The set and how many devices there were when it was made: a new GPU needs a new set.
    set: Option<(EventSet, u32)>,
}

impl XidStream {
    pub(super) fn new(nvml: Nvml) -> Self {
        Self { nvml, set: None }
    }

    fn watch(&mut self) -> Result<&EventSet, NvmlFault> {
        let count = self.nvml.device_count()?;
        if self.set.as_ref().is_none_or(|(_, known)| *known != count) {
            let mut set = self.nvml.event_set()?;
            for index in 0..count {
                let watched = self.nvml.device(index).and_then(|device| set.watch(&device));
                if let Err(fault) = watched {
                    debug!(gpu = index, problem = %fault, "a GPU does not report faults");
                }
            }
            self.set = Some((set, count));
        }
        self.set.as_ref().map(|(set, _)| set).ok_or(NvmlFault::NoData)
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
            Err(fault) => Err(driver_fault(fault)),
        }
    }
}

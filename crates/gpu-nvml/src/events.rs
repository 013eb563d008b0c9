//! XIDs as the driver reports them.

use std::time::Duration;

use gpu_model::GpuUuid;

use crate::device::Device;
use crate::fault::{Answer, Fault};
use crate::mig::MigInstance;
use crate::raw::{Handle, RawEventSet};

/// NVML's bit for critical XIDs.
const XID: u64 = 8;

/// Devices whose XIDs one thread waits for.
pub struct EventSet {
    raw: RawEventSet,
    /// Remembered, because a GPU that just reported its own loss answers no question.
    watched: Vec<(Handle, GpuUuid)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    pub gpu: GpuUuid,
    pub code: u64,
    pub instance: Option<MigInstance>,
}

impl EventSet {
    pub(crate) fn new(raw: RawEventSet) -> EventSet {
        EventSet {
            raw,
            watched: Vec::new(),
        }
    }

    /// Watches a whole GPU. Unsupported where the GPU reports no XIDs.
    pub fn watch(&mut self, device: &Device) -> Answer<()> {
        if device.handle.event_kinds()? & XID == 0 {
            return Err(Fault::Unsupported);
        }
        let uuid = device.uuid()?;
        self.raw.register(&device.handle, XID)?;
        self.watched.push((device.handle.clone(), uuid));
        Ok(())
    }

    /// Waits in the caller's own thread; `None` when nothing came in time. The driver cannot be released while one waits,
    /// so the time should be short.
    pub fn wait(&self, patience: Duration) -> Answer<Option<Xid>> {
        let milliseconds = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
        let (handle, event) = match self.raw.wait(milliseconds) {
            Ok(event) => event,
            Err(Fault::Timeout) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        if event.eventType & XID == 0 {
            return Ok(None);
        }
        let watched = self.watched.iter().find(|(watched, _)| watched.is(&handle));
        let (_, gpu) = watched.ok_or(Fault::Implausible)?;
        Ok(Some(Xid {
            gpu: gpu.clone(),
            code: event.eventData,
            instance: MigInstance::from_numbers(event.gpuInstanceId, event.computeInstanceId),
        }))
    }
}

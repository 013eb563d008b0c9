//! A GPU, or a slice of one. What can be asked of it lies in one file a topic.

use crate::nvml::DriverVersion;
use crate::raw::Handle;

/// A device of a session. Clones are cheap and may live on any thread; a device that is gone answers with faults.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) handle: Handle,
    pub(crate) driver: DriverVersion,
}

impl Device {
    pub(crate) fn new(handle: Handle, driver: DriverVersion) -> Device {
        Device { handle, driver }
    }
}

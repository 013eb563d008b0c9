//! What the collector asks of a vendor's driver. One implementation a vendor; each runs on threads of its own, because
//! any call may block for as long as the hardware likes.

pub mod amd;
pub mod amd_smi;
mod attribute;
pub mod command;
pub mod fallbacks;
pub mod intel;
pub mod nvidia;
pub mod nvidia_smi;
mod pci;
pub mod rocm_smi;
#[cfg(feature = "sim")]
pub mod sim;
pub mod tool;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::readings::DeviceReadings;
use crate::snapshot::Identity;

/// A driver that is loaded and answers.
pub trait Driver: Send + Sync {
    /// The devices that are there now. Called about once in two seconds.
    fn list(&self) -> Result<Vec<Listed>, DriverFault>;

    /// What was wrong with devices that the last listing counted and could not describe.
    fn undescribed(&self) -> Vec<DriverFault> {
        Vec::new()
    }

    /// Readers for one device: each is moved to a thread of its own.
    fn open(&self, device: &Listed) -> Result<Readers, DriverFault>;

    /// A stream of faults, where the driver reports them.
    fn faults(&self) -> Option<Box<dyn FaultStream>>;

    /// What this is, where it is not the loader's first choice.
    fn stands_in(&self) -> Option<StandIn> {
        None
    }
}

/// A source that is read because another one cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// Its own name in metrics: a word of a closed set.
    pub name: &'static str,
    /// What is wrong with the other one.
    pub because: Arc<str>,
}

/// Loads the driver, or says why not. Called again and again while it fails.
pub trait DriverLoader: Send {
    /// The name of the source in metrics: a word of a closed set.
    fn name(&self) -> &'static str;
    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault>;

    /// Whether the machine has hardware for this driver. A driver that is absent without any is no problem of a machine whose
    /// GPUs are another vendor's; one that cannot tell says yes.
    fn sees_hardware(&self) -> bool {
        true
    }
}

/// A device as it was listed. A change of the layout (slices made or removed) opens it anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub identity: Arc<Identity>,
    /// Whatever the driver needs to know the layout again; compared, never shown.
    pub layout: Vec<String>,
}

/// The two halves of a device: what is cheap enough for every second, and what blocks or changes slowly.
pub struct Readers {
    pub fast: Box<dyn DeviceReader>,
    pub slow: Box<dyn DeviceReader>,
}

/// Reads one device, over and over, into the same buffer.
pub trait DeviceReader: Send {
    /// Fills what this reader knows and leaves the rest alone. An error is about the device as a whole; a single value that
    /// cannot be had is a failed reading.
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault>;

    /// When the device was measured, where that is earlier than the call: a tool that runs every few seconds gives the same
    /// answer until it runs again, and an answer that was given before is no new sample. `None` is now.
    fn measured_at(&self) -> Option<Instant> {
        None
    }
}

/// Waits for faults on a thread of its own.
pub trait FaultStream: Send {
    /// The next fault, or none within the time.
    fn next(&mut self, within: Duration) -> Result<Option<Fault>, DriverFault>;
}

/// A fault that a device reported (an XID on NVIDIA).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub device: FaultDevice,
    pub code: u32,
}

/// How the reporter names the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultDevice {
    Uuid(String),
    /// As in [`Identity::pci_bus_id`].
    PciBusId(String),
}

/// What went wrong with a driver or a device, sorted by what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverFault {
    /// There is no driver on this machine, or its library is not mounted. Look again later.
    #[error("{0}")]
    Absent(String),
    /// The driver was unloaded under us. Let go of everything and load again.
    #[error("the driver was unloaded")]
    Gone,
    /// The library of this process no longer fits the kernel module: only a new process helps.
    #[error("the driver's version changed under this process")]
    VersionChanged,
    /// This device is gone; the others are not concerned.
    #[error("the device is lost")]
    DeviceLost,
    /// The call failed; the class is a word of a closed set.
    #[error("the driver answered `{class}`")]
    Failed { class: &'static str },
}

impl DriverFault {
    /// The value of the `class` label.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Absent(_) => "absent",
            Self::Gone => "gone",
            Self::VersionChanged => "version_changed",
            Self::DeviceLost => "device_lost",
            Self::Failed { class } => class,
        }
    }
}

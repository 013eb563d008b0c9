//! NVIDIA's driver, through NVML. It is read, never changed.
//!
//! Driver calls a GPU and second at the default intervals, counted on the test double: about twenty for a whole GPU, five
//! more for every slice with profiling; what blocks (PCIe throughput, 20 ms each way) is on the slow half alone.

mod fast;
mod faults;
mod gpm;
mod processes;
mod slow;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use gpu_model::{Reading, Vendor};
use gpu_nvml::{Device, Fault, LoadError, MigDevice, Nvml, Sliced};
use tracing::{debug, warn};

use super::{Driver, DriverFault, DriverLoader, FaultStream, Listed, Readers};
use crate::readings::{DeviceReadings, Field};
use crate::snapshot::{Board, Identity};

const NO_LIBRARY: &str = "found no libnvidia-ml.so.1: install NVIDIA's driver, or give the container its libraries with the \
                          NVIDIA runtime and NVIDIA_DRIVER_CAPABILITIES=utility; --log-level debug tells where it looked";
const UNLOADABLE: &str = "failed to load NVIDIA's library: install a driver for this architecture and C library; the log has the \
                          linker's words";

/// Loads NVML from a given file or from the usual places.
pub struct NvidiaLoader {
    library: Option<PathBuf>,
    sysfs: Option<PathBuf>,
}

impl NvidiaLoader {
    pub fn new(library: Option<PathBuf>) -> Self {
        Self { library, sysfs: None }
    }

    /// Looks below this root whether there is anything that the driver would be for.
    pub fn looking_at(self, sysfs: PathBuf) -> Self {
        Self {
            sysfs: Some(sysfs),
            ..self
        }
    }
}

impl DriverLoader for NvidiaLoader {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        let nvml = Nvml::load(self.library.as_deref()).map_err(|error| match error {
            LoadError::VersionMismatch => DriverFault::VersionChanged,
            // Pages show this text, and where this machine keeps its libraries is nobody's business there.
            LoadError::NotFound { looked } => {
                debug!(?looked, "found no library of NVIDIA's driver");
                DriverFault::Absent(NO_LIBRARY.to_owned())
            }
            LoadError::Unloadable { path, words } => {
                warn!(path = %path.display(), problem = %words, "cannot load NVIDIA's library");
                DriverFault::Absent(UNLOADABLE.to_owned())
            }
            other => DriverFault::Absent(other.to_string()),
        })?;
        Ok(Arc::new(NvidiaDriver {
            nvml,
            identities: Mutex::default(),
            told: Mutex::default(),
        }))
    }

    fn sees_hardware(&self) -> bool {
        let is_seen = |sysfs: &PathBuf| super::pci::has_display(sysfs, super::pci::NVIDIA);
        self.sysfs.as_ref().is_none_or(is_seen)
    }
}

struct NvidiaDriver {
    nvml: Nvml,
    /// Asking a device for all that it is takes a dozen calls; it does not change while its uuid stays.
    identities: Mutex<BTreeMap<String, Arc<Identity>>>,
    /// What is wrong with devices that cannot be described; it is logged only when it changes.
    told: Mutex<BTreeMap<u32, Fault>>,
}

impl Driver for NvidiaDriver {
    fn list(&self) -> Result<Vec<Listed>, DriverFault> {
        let count = self.nvml.device_count().map_err(driver_fault)?;
        let mut listed = Vec::new();
        let mut undescribed = Vec::new();
        for index in 0..count {
            match self.describe(index) {
                Ok(device) => listed.push(device),
                // One device that cannot be described must not hide the others; a driver that is gone concerns all.
                Err(Fault::Uninitialized) => return Err(DriverFault::Gone),
                Err(Fault::VersionMismatch) => return Err(DriverFault::VersionChanged),
                Err(fault) => undescribed.push((index, fault)),
            }
        }
        self.tell(undescribed.into_iter().collect());
        Ok(listed)
    }

    fn undescribed(&self) -> Vec<DriverFault> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.values().map(|fault| driver_fault(*fault)).collect()
    }

    fn open(&self, listed: &Listed) -> Result<Readers, DriverFault> {
        let open = || -> Result<Readers, Fault> {
            let device = self.nvml.device_by_uuid(&listed.identity.uuid)?;
            let slices = slices_of(&device)?;
            let peers = slow::Peers::of(&self.nvml, &device, listed.identity.index);
            Ok(Readers {
                fast: Box::new(fast::FastReader::new(&self.nvml, device.clone(), slices)?),
                slow: Box::new(slow::SlowReader::new(self.nvml.driver_version(), device, peers)),
            })
        };
        open().map_err(driver_fault)
    }

    fn faults(&self) -> Option<Box<dyn FaultStream>> {
        Some(Box::new(faults::XidStream::new(self.nvml.clone())))
    }
}

impl NvidiaDriver {
    fn tell(&self, undescribed: BTreeMap<u32, Fault>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((first, fault)) = undescribed.first_key_value()
            && *told != undescribed
        {
            warn!(gpu = first, problem = %fault, gpus = undescribed.len(), "cannot describe GPUs");
        }
        *told = undescribed;
    }

    fn describe(&self, index: u32) -> Result<Listed, Fault> {
        let device = self.nvml.device(index)?;
        let uuid = device.uuid()?;
        let layout = slices_of(&device)?
            .iter()
            .map(|slice| slice.uuid.to_string())
            .collect();
        let known = self.lock().get(uuid.as_str()).cloned();
        let identity = match known.filter(|identity| identity.index == index) {
            Some(identity) => identity,
            None => {
                let identity = Arc::new(self.identify(&device)?);
                self.lock().insert(identity.uuid.clone(), Arc::clone(&identity));
                identity
            }
        };
        Ok(Listed { identity, layout })
    }

    fn identify(&self, device: &Device) -> Result<Identity, Fault> {
        let told = device.identity()?;
        Ok(Identity {
            vendor: Vendor::Nvidia,
            index: u32::from(told.index.0),
            minor: told.minor.known(),
            uuid: told.uuid.to_string(),
            model: told.name,
            pci_bus_id: told.pci_address_long.to_string(),
            serial: told.serial.known(),
            vbios: told.vbios.known(),
            driver_version: self.nvml.driver().to_owned(),
            architecture: told.architecture.known().map(gpu_nvml::Architecture::as_str),
            board: Board::default(),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Identity>>> {
        self.identities.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slices of a device; none where it is not sliced or cannot be.
fn slices_of(device: &Device) -> Result<Vec<MigDevice>, Fault> {
    match device.mig_mode() {
        Ok(mode) if mode.current == Sliced::Yes => device.mig_devices(),
        Ok(_) | Err(Fault::Unsupported) => Ok(Vec::new()),
        Err(fault) => Err(fault),
    }
}

/// What a fault of one question means for the whole.
fn driver_fault(fault: Fault) -> DriverFault {
    match fault {
        Fault::Uninitialized => DriverFault::Gone,
        Fault::VersionMismatch => DriverFault::VersionChanged,
        Fault::Lost => DriverFault::DeviceLost,
        other => DriverFault::Failed { class: other.class() },
    }
}

/// Puts answers into fields. A value that this device does not have is asked for once and then never again; a fault that
/// concerns the whole device ends the cycle.
#[derive(Default)]
struct Asker {
    /// One bit a question, in the order in which a reader asks.
    never: u128,
    question: u32,
    last_fault: Option<Fault>,
    answered: u32,
}

impl Asker {
    fn start(&mut self) {
        self.question = 0;
        self.last_fault = None;
        self.answered = 0;
    }

    /// Asks, unless the answer was once that this device does not have the value.
    fn ask<T>(
        &mut self,
        into: &mut DeviceReadings,
        question: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<Reading<T>, DriverFault> {
        let bit = 1_u128 << (self.question % 128);
        self.question += 1;
        if self.never & bit != 0 {
            return Ok(Reading::Unsupported);
        }
        match question() {
            Ok(value) => {
                self.answered += 1;
                Ok(Reading::Known(value))
            }
            Err(Fault::Unsupported) => {
                self.never |= bit;
                Ok(Reading::Unsupported)
            }
            // Nothing to tell yet is not a failure: the first sample of a pair, or a counter that was just reset.
            Err(Fault::NoData) => Ok(Reading::Failed),
            Err(fault @ (Fault::Lost | Fault::Uninitialized | Fault::VersionMismatch)) => {
                Err(driver_fault(fault))
            }
            Err(fault) => {
                into.failed.push(fault.class());
                self.last_fault = Some(fault);
                Ok(Reading::Failed)
            }
        }
    }

    /// A question whose answer is one number.
    fn number(
        &mut self,
        into: &mut DeviceReadings,
        field: Field,
        question: impl FnOnce() -> Result<f64, Fault>,
    ) -> Result<(), DriverFault> {
        let reading = self.ask(into, question)?;
        into.set(field, reading);
        Ok(())
    }

    /// A device that answered nothing at all has failed as a whole.
    fn finish(&self) -> Result<(), DriverFault> {
        match self.last_fault {
            Some(fault) if self.answered == 0 => Err(driver_fault(fault)),
            _ => Ok(()),
        }
    }
}

/// A field and the number in an answer that goes there.
type Part<T> = (Field, fn(T) -> f64);

/// Sets the same outcome for several fields that one answer fills.
fn spread<T: Copy>(into: &mut DeviceReadings, answer: Reading<T>, fields: &[Part<T>]) {
    for (field, value) in fields {
        into.set(*field, answer.map(value));
    }
}

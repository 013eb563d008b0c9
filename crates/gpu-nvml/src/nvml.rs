//! The open session with the driver, and the devices in it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::device::Device;
use crate::events::EventSet;
use crate::fault::Answer;
use crate::gpm::GpmSample;
use crate::load::{self, LoadError};
use crate::raw::Library;

/// More GPUs than any machine has; a driver that claims more is not believed.
const MOST_DEVICES: u32 = 64;

/// A session with the driver. Clones share it; the last one to go ends it.
#[derive(Clone)]
pub struct Nvml {
    library: Arc<Library>,
    driver: Arc<str>,
    version: DriverVersion,
}

/// The two leading numbers of a driver's version, which decide what its numbers mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion {
    pub branch: u32,
    pub release: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaVersion {
    pub major: u32,
    pub minor: u32,
}

impl Nvml {
    /// Loads the driver's library from `path`, or from where drivers usually put it, and opens a session. A machine without
    /// GPUs is not an error as long as there is a driver.
    ///
    /// This may block as any call does.
    pub fn load(path: Option<&Path>) -> Result<Nvml, LoadError> {
        let library = Arc::new(load::find(path)?);
        library.start().map_err(LoadError::from_start)?;
        let driver = library.driver_version().map_err(LoadError::from_start)?;
        Ok(Nvml {
            library,
            version: DriverVersion::parse(&driver),
            driver: Arc::from(driver),
        })
    }

    /// Lets go of the driver, so that it can be upgraded or a GPU reset: from now on every call by this session, its
    /// clones and devices fails as uninitialised. A call that is under way keeps the driver until it returns; the answer is
    /// how many there are. Load again to start afresh.
    pub fn release(&self) -> u32 {
        self.library.close()
    }

    /// As the driver writes it, `570.133.20`.
    pub fn driver(&self) -> &str {
        &self.driver
    }

    pub fn driver_version(&self) -> DriverVersion {
        self.version
    }

    pub fn nvml_version(&self) -> Answer<String> {
        self.library.nvml_version()
    }

    /// The newest CUDA the driver can run.
    pub fn cuda_version(&self) -> Answer<CudaVersion> {
        let number = u32::try_from(self.library.cuda_version()?).map_err(|_| crate::Fault::Implausible)?;
        Ok(CudaVersion {
            major: number / 1000,
            minor: number % 1000 / 10,
        })
    }

    pub fn device_count(&self) -> Answer<u32> {
        self.library.device_count().map(|count| count.min(MOST_DEVICES))
    }

    pub fn device(&self, index: u32) -> Answer<Device> {
        let handle = self.library.device_by_index(index)?;
        Ok(Device::new(handle, self.version))
    }

    /// A GPU by `GPU-<uuid>`, or a slice by `MIG-<uuid>`.
    pub fn device_by_uuid(&self, uuid: &str) -> Answer<Device> {
        let handle = self.library.device_by_uuid(uuid)?;
        Ok(Device::new(handle, self.version))
    }

    /// A GPU by its bus address, with a domain of four or eight digits.
    pub fn device_by_pci(&self, address: &str) -> Answer<Device> {
        let handle = self.library.device_by_pci(address)?;
        Ok(Device::new(handle, self.version))
    }

    pub fn event_set(&self) -> Answer<EventSet> {
        self.library.event_set().map(EventSet::new)
    }

    pub fn gpm_sample(&self) -> Answer<GpmSample> {
        self.library.gpm_sample().map(GpmSample::new)
    }
}

impl fmt::Debug for Nvml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvml")
            .field("driver", &self.driver)
            .finish_non_exhaustive()
    }
}

impl DriverVersion {
    /// Zeros where the driver's text has no number.
    pub(crate) fn parse(text: &str) -> DriverVersion {
        let mut numbers = text.split('.').map(|part| part.parse().unwrap_or(0));
        DriverVersion {
            branch: numbers.next().unwrap_or(0),
            release: numbers.next().unwrap_or(0),
        }
    }
}

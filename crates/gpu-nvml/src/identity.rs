//! What a device is: names, numbers and kind. Asked once, so these may allocate.

use gpu_model::{GpuIndex, GpuUuid, PciAddress, Reading};

use crate::device::Device;
use crate::fault::{Answer, AnswerExt, Fault};
use crate::text::decode_chars;

/// All of it, as far as the driver says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub index: GpuIndex,
    pub uuid: GpuUuid,
    pub name: String,
    /// The number in `/dev/nvidia<minor>`, by which GKE names devices.
    pub minor: Reading<u32>,
    /// Lower case with a domain of four digits, as sysfs and Kubernetes write it: `0000:1b:00.0`.
    pub pci_address: PciAddress,
    /// Lower case with a domain of eight digits, as NVIDIA's tools write it: `00000000:1b:00.0`.
    pub pci_address_long: PciAddress,
    /// Device id in the upper half, vendor id in the lower.
    pub pci_device_id: u32,
    pub serial: Reading<String>,
    pub vbios: Reading<String>,
    pub board_part: Reading<String>,
    pub architecture: Reading<Architecture>,
    pub compute_capability: Reading<ComputeCapability>,
    pub brand: Reading<Brand>,
    pub numa_node: Reading<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    Kepler,
    Maxwell,
    Pascal,
    Volta,
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
    /// Newer than this program.
    Unknown(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    pub major: u32,
    pub minor: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Brand {
    Quadro,
    Tesla,
    Grid,
    GeForce,
    Titan,
    Nvidia,
    /// One of the rarer or newer ones.
    Other(u32),
}

impl Device {
    /// Position in the driver's list. It may change when a GPU vanishes.
    pub fn index(&self) -> Answer<GpuIndex> {
        let index = self.handle.index()?;
        u16::try_from(index).map(GpuIndex).map_err(|_| Fault::Implausible)
    }

    /// `GPU-<uuid>`, or `MIG-<uuid>` of a slice.
    pub fn uuid(&self) -> Answer<GpuUuid> {
        GpuUuid::new(self.handle.uuid()?).map_err(|_| Fault::Implausible)
    }

    pub fn name(&self) -> Answer<String> {
        self.handle.name()
    }

    /// Fails only when the device cannot even be told from others.
    pub fn identity(&self) -> Answer<Identity> {
        let pci = self.handle.pci()?;
        let function = decode_chars(pci.busId)
            .and_then(|text| text.chars().last())
            .and_then(|digit| digit.to_digit(8))
            .unwrap_or(0);
        let address = |width: usize| {
            let text = format!(
                "{:0width$x}:{:02x}:{:02x}.{function}",
                pci.domain, pci.bus, pci.device
            );
            PciAddress::new(text).map_err(|_| Fault::Implausible)
        };
        Ok(Identity {
            index: self.index()?,
            uuid: self.uuid()?,
            name: self.name()?,
            minor: self.handle.minor().reading(),
            pci_address: address(4)?,
            pci_address_long: address(8)?,
            pci_device_id: pci.pciDeviceId,
            serial: self.handle.serial().reading(),
            vbios: self.handle.vbios().reading(),
            board_part: self.handle.board_part().reading(),
            architecture: self.architecture().reading(),
            compute_capability: self.compute_capability().reading(),
            brand: self.handle.brand().map(Brand::from_number).reading(),
            numa_node: self.numa_node().reading(),
        })
    }

    pub fn architecture(&self) -> Answer<Architecture> {
        self.handle.architecture().map(Architecture::from_number)
    }

    pub fn compute_capability(&self) -> Answer<ComputeCapability> {
        let (major, minor) = self.handle.compute_capability()?;
        let number = |value| u32::try_from(value).map_err(|_| Fault::Implausible);
        Ok(ComputeCapability {
            major: number(major)?,
            minor: number(minor)?,
        })
    }

    /// The NUMA node whose memory is nearest.
    pub fn numa_node(&self) -> Answer<u32> {
        match self.handle.numa_node() {
            // Only coherent platforms answer that; on others the affinity of memory tells the same.
            Err(Fault::Unsupported) => {
                let mut words = [0; 1];
                self.handle.near_nodes(&mut words)?;
                if words[0] == 0 {
                    Err(Fault::NoData)
                } else {
                    Ok(words[0].trailing_zeros())
                }
            }
            other => other,
        }
    }

    /// A bit for each processor near the device, the first word for processors 0 to 63.
    pub fn near_processors(&self, words: &mut [u64]) -> Answer<()> {
        self.handle.near_processors(words)
    }
}

impl Architecture {
    fn from_number(number: u32) -> Architecture {
        match number {
            2 => Architecture::Kepler,
            3 => Architecture::Maxwell,
            4 => Architecture::Pascal,
            5 => Architecture::Volta,
            6 => Architecture::Turing,
            7 => Architecture::Ampere,
            8 => Architecture::Ada,
            9 => Architecture::Hopper,
            10 => Architecture::Blackwell,
            other => Architecture::Unknown(other),
        }
    }

    /// The value of a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Architecture::Kepler => "kepler",
            Architecture::Maxwell => "maxwell",
            Architecture::Pascal => "pascal",
            Architecture::Volta => "volta",
            Architecture::Turing => "turing",
            Architecture::Ampere => "ampere",
            Architecture::Ada => "ada",
            Architecture::Hopper => "hopper",
            Architecture::Blackwell => "blackwell",
            Architecture::Unknown(_) => "unknown",
        }
    }
}

impl Brand {
    fn from_number(number: u32) -> Brand {
        match number {
            1 | 12 => Brand::Quadro,
            2 => Brand::Tesla,
            4 => Brand::Grid,
            5 | 15 => Brand::GeForce,
            6 | 16 => Brand::Titan,
            13 | 14 => Brand::Nvidia,
            other => Brand::Other(other),
        }
    }
}

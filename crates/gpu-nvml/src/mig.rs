//! Slices of a GPU.

use gpu_model::{Bytes, GpuUuid};

use crate::device::Device;
use crate::fault::{Answer, Fault, INVALID_ARGUMENT};

/// Twice what any GPU can hold; a driver that claims more is not believed.
const MOST_SLICES: u32 = 16;
/// What NVML writes where there is no instance.
const NO_INSTANCE: u32 = u32::MAX;
const GIB: u64 = 1 << 30;
/// Sliced GPUs cut their memory into eight.
const MEMORY_SLICES: u64 = 8;

/// Whether the GPU is sliced now, and after the next reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigMode {
    pub current: Sliced,
    pub pending: Sliced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sliced {
    Yes,
    No,
}

/// A compute instance within a GPU instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MigInstance {
    pub gpu_instance: u32,
    pub compute_instance: u32,
}

/// One slice. It can be asked as a device for its memory and its processes.
#[derive(Debug, Clone)]
pub struct MigDevice {
    pub device: Device,
    pub uuid: GpuUuid,
    pub instance: MigInstance,
    /// As the driver names it, `1g.10gb`.
    pub profile: String,
    pub attributes: MigAttributes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigAttributes {
    pub multiprocessors: u32,
    pub gpu_slices: u32,
    pub compute_slices: u32,
    pub memory: Bytes,
    pub copy_engines: u32,
    pub decoders: u32,
    pub encoders: u32,
    pub jpeg_engines: u32,
    pub ofa_engines: u32,
}

impl MigInstance {
    pub(crate) fn from_numbers(gpu_instance: u32, compute_instance: u32) -> Option<MigInstance> {
        (gpu_instance != NO_INSTANCE).then_some(MigInstance {
            gpu_instance,
            compute_instance,
        })
    }
}

impl Sliced {
    fn from_number(number: u32) -> Sliced {
        if number == 0 { Sliced::No } else { Sliced::Yes }
    }
}

impl Device {
    /// Unsupported on a GPU that cannot be sliced.
    pub fn mig_mode(&self) -> Answer<MigMode> {
        self.handle.mig_mode().map(|(current, pending)| MigMode {
            current: Sliced::from_number(current),
            pending: Sliced::from_number(pending),
        })
    }

    /// The slices there are now, in the driver's order. Asked when the layout may have changed, so it may allocate.
    pub fn mig_devices(&self) -> Answer<Vec<MigDevice>> {
        let total = self.memory()?.total;
        let mut slices = Vec::new();
        for index in 0..self.handle.max_slices()?.min(MOST_SLICES) {
            match self.handle.slice(index) {
                Ok(handle) => slices.push(Device::new(handle, self.driver).describe(total)?),
                // Destroyed slices leave holes.
                Err(Fault::NotFound | INVALID_ARGUMENT) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(slices)
    }

    /// The whole GPU of a slice.
    pub fn mig_parent(&self) -> Answer<Device> {
        self.handle
            .parent()
            .map(|handle| Device::new(handle, self.driver))
    }

    fn describe(self, total: Bytes) -> Answer<MigDevice> {
        let raw = self.handle.attributes()?;
        let attributes = MigAttributes {
            multiprocessors: raw.multiprocessorCount,
            gpu_slices: raw.gpuInstanceSliceCount,
            compute_slices: raw.computeInstanceSliceCount,
            memory: Bytes(raw.memorySizeMB.saturating_mul(1 << 20)),
            copy_engines: raw.sharedCopyEngineCount,
            decoders: raw.sharedDecoderCount,
            encoders: raw.sharedEncoderCount,
            jpeg_engines: raw.sharedJpegCount,
            ofa_engines: raw.sharedOfaCount,
        };
        let name = self.name()?;
        let profile = name.split_once(" MIG ").map_or_else(
            || derived_profile(&attributes, total),
            |(_, profile)| profile.to_owned(),
        );
        Ok(MigDevice {
            uuid: self.uuid()?,
            instance: MigInstance {
                gpu_instance: self.handle.gpu_instance()?,
                compute_instance: self.handle.compute_instance()?,
            },
            profile,
            attributes,
            device: self,
        })
    }
}

/// The name by the rule NVIDIA's tools use, for drivers that do not put it into the device's name: slices, and the memory as
/// eighths of the GPU's in whole gigabytes.
fn derived_profile(attributes: &MigAttributes, total: Bytes) -> String {
    let eighths = (u128::from(attributes.memory.0) * u128::from(MEMORY_SLICES))
        .div_ceil(u128::from(total.0.max(1)))
        .min(u128::from(MEMORY_SLICES));
    let total_gb = u128::from(total.0.div_ceil(GIB));
    let gigabytes = (2 * eighths * total_gb + u128::from(MEMORY_SLICES)) / u128::from(2 * MEMORY_SLICES);
    let slices = attributes.gpu_slices;
    if attributes.compute_slices == slices {
        format!("{slices}g.{gigabytes}gb")
    } else {
        format!("{}c.{slices}g.{gigabytes}gb", attributes.compute_slices)
    }
}

#[cfg(test)]
mod tests;

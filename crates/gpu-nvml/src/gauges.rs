//! Utilisation, memory, power and temperature. None of these calls allocates.

use gpu_model::{Bytes, Celsius, Millijoules, Milliwatts};

use crate::device::Device;
use crate::fault::{Answer, Fault};
use crate::fields::Field;

/// As the driver gave it; more than a hundred is for the caller to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(pub u32);

/// Shares of the driver's last averaging period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utilization {
    /// Time in which at least one kernel ran.
    pub gpu: Percent,
    /// Time in which memory was being read or written.
    pub memory: Percent,
}

/// Engines for pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Encoder,
    Decoder,
    Jpeg,
    OpticalFlow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    pub total: Bytes,
    pub used: Bytes,
    pub free: Bytes,
    /// Kept by the driver. Absent on drivers that count it as used.
    pub reserved: Option<Bytes>,
}

/// The window through which the processor sees device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar1 {
    pub total: Bytes,
    pub used: Bytes,
    pub free: Bytes,
}

/// The range in which an administrator may put the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerLimits {
    pub min: Milliwatts,
    pub max: Milliwatts,
}

/// Temperatures at which the board acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    Shutdown,
    Slowdown,
    MemoryMax,
    GpuMax,
}

impl Device {
    /// Not supported on a sliced GPU and on slices.
    pub fn utilization(&self) -> Answer<Utilization> {
        self.handle.utilization().map(|rates| Utilization {
            gpu: Percent(rates.gpu),
            memory: Percent(rates.memory),
        })
    }

    pub fn engine_utilization(&self, engine: Engine) -> Answer<Percent> {
        let (percent, _period) = match engine {
            Engine::Encoder => self.handle.encoder(),
            Engine::Decoder => self.handle.decoder(),
            Engine::Jpeg => self.handle.jpeg(),
            Engine::OpticalFlow => self.handle.ofa(),
        }?;
        Ok(Percent(percent))
    }

    pub fn memory(&self) -> Answer<MemoryInfo> {
        match self.handle.memory_v2() {
            Ok(info) => Ok(MemoryInfo {
                total: Bytes(info.total),
                used: Bytes(info.used),
                free: Bytes(info.free),
                reserved: Some(Bytes(info.reserved)),
            }),
            Err(Fault::Unsupported) => self.handle.memory_v1().map(|info| MemoryInfo {
                total: Bytes(info.total),
                used: Bytes(info.used),
                free: Bytes(info.free),
                reserved: None,
            }),
            Err(fault) => Err(fault),
        }
    }

    pub fn bar1(&self) -> Answer<Bar1> {
        self.handle.bar1().map(|info| Bar1 {
            total: Bytes(info.bar1Total),
            used: Bytes(info.bar1Used),
            free: Bytes(info.bar1Free),
        })
    }

    /// Of the whole board; averaged over a second from Ampere on.
    pub fn power(&self) -> Answer<Milliwatts> {
        self.handle.power().map(Milliwatts)
    }

    pub fn power_instant(&self) -> Answer<Milliwatts> {
        let value = self.field(Field::PowerInstant)?.unsigned()?;
        u32::try_from(value)
            .map(Milliwatts)
            .map_err(|_| Fault::Implausible)
    }

    pub fn power_limit(&self) -> Answer<Milliwatts> {
        self.handle.power_limit().map(Milliwatts)
    }

    pub fn power_default_limit(&self) -> Answer<Milliwatts> {
        self.handle.power_default_limit().map(Milliwatts)
    }

    /// The lowest of all limits in force.
    pub fn power_enforced_limit(&self) -> Answer<Milliwatts> {
        self.handle.power_enforced_limit().map(Milliwatts)
    }

    pub fn power_limits(&self) -> Answer<PowerLimits> {
        self.handle.power_range().map(|(min, max)| PowerLimits {
            min: Milliwatts(min),
            max: Milliwatts(max),
        })
    }

    /// Counter since the driver was loaded.
    pub fn energy(&self) -> Answer<Millijoules> {
        self.handle.energy().map(Millijoules)
    }

    pub fn temperature(&self) -> Answer<Celsius> {
        const GPU: u32 = 0;
        self.handle.temperature(GPU).and_then(degrees)
    }

    pub fn memory_temperature(&self) -> Answer<Celsius> {
        let value = self.field(Field::MemoryTemperature)?.unsigned()?;
        i16::try_from(value).map(Celsius).map_err(|_| Fault::Implausible)
    }

    /// How much warmer it may get before the board slows down.
    pub fn temperature_margin(&self) -> Answer<Celsius> {
        let margin = self.handle.margin()?.marginTemperature;
        i16::try_from(margin).map(Celsius).map_err(|_| Fault::Implausible)
    }

    pub fn temperature_threshold(&self, threshold: Threshold) -> Answer<Celsius> {
        let number = match threshold {
            Threshold::Shutdown => 0,
            Threshold::Slowdown => 1,
            Threshold::MemoryMax => 2,
            Threshold::GpuMax => 3,
        };
        self.handle.threshold(number).and_then(degrees)
    }
}

fn degrees(number: u32) -> Answer<Celsius> {
    i16::try_from(number).map(Celsius).map_err(|_| Fault::Implausible)
}

//! Clocks, performance state, and why the clocks are held down. None of these calls allocates.

use std::time::Duration;

use gpu_model::Megahertz;

use crate::device::Device;
use crate::fault::{Answer, Fault};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clock {
    Graphics,
    Sm,
    Memory,
    Video,
}

/// 0 is the fastest, 15 the slowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerformanceState(pub u8);

/// All reasons that hold at this instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockReasons(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClockReason {
    GpuIdle,
    ClocksSetting,
    PowerCap,
    HardwareSlowdown,
    SyncBoost,
    SoftwareThermal,
    HardwareThermal,
    HardwarePowerBrake,
    DisplayClocks,
}

/// Policies for which the driver counts the time that the clocks were held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PerfPolicy {
    Power,
    Thermal,
    SyncBoost,
    BoardLimit,
    LowUtilization,
    Reliability,
    TotalAppClocks,
    TotalBaseClocks,
}

impl Clock {
    fn number(self) -> u32 {
        match self {
            Clock::Graphics => 0,
            Clock::Sm => 1,
            Clock::Memory => 2,
            Clock::Video => 3,
        }
    }
}

impl ClockReason {
    pub const ALL: [ClockReason; 9] = [
        ClockReason::GpuIdle,
        ClockReason::ClocksSetting,
        ClockReason::PowerCap,
        ClockReason::HardwareSlowdown,
        ClockReason::SyncBoost,
        ClockReason::SoftwareThermal,
        ClockReason::HardwareThermal,
        ClockReason::HardwarePowerBrake,
        ClockReason::DisplayClocks,
    ];

    pub fn bit(self) -> u64 {
        match self {
            ClockReason::GpuIdle => 0x1,
            ClockReason::ClocksSetting => 0x2,
            ClockReason::PowerCap => 0x4,
            ClockReason::HardwareSlowdown => 0x8,
            ClockReason::SyncBoost => 0x10,
            ClockReason::SoftwareThermal => 0x20,
            ClockReason::HardwareThermal => 0x40,
            ClockReason::HardwarePowerBrake => 0x80,
            ClockReason::DisplayClocks => 0x100,
        }
    }
}

impl ClockReasons {
    pub fn contains(self, reason: ClockReason) -> bool {
        self.0 & reason.bit() != 0
    }

    pub fn iter(self) -> impl Iterator<Item = ClockReason> {
        ClockReason::ALL
            .into_iter()
            .filter(move |reason| self.contains(*reason))
    }
}

impl Device {
    pub fn clock(&self, clock: Clock) -> Answer<Megahertz> {
        self.handle.clock(clock.number()).map(Megahertz)
    }

    pub fn max_clock(&self, clock: Clock) -> Answer<Megahertz> {
        self.handle.max_clock(clock.number()).map(Megahertz)
    }

    /// The clock that was asked for by an administrator.
    pub fn application_clock(&self, clock: Clock) -> Answer<Megahertz> {
        self.handle.application_clock(clock.number()).map(Megahertz)
    }

    pub fn performance_state(&self) -> Answer<PerformanceState> {
        match self.handle.performance_state()? {
            state @ 0..=15 => u8::try_from(state)
                .map(PerformanceState)
                .map_err(|_| Fault::Implausible),
            // NVML's word for "unknown".
            32 => Err(Fault::NoData),
            _ => Err(Fault::Implausible),
        }
    }

    /// Under its old name on drivers before 535.
    pub fn clock_reasons(&self) -> Answer<ClockReasons> {
        match self.handle.event_reasons() {
            Err(Fault::Unsupported) => self.handle.throttle_reasons(),
            other => other,
        }
        .map(ClockReasons)
    }

    /// Counter: the time a policy held the clocks down.
    pub fn violation(&self, policy: PerfPolicy) -> Answer<Duration> {
        let number = match policy {
            PerfPolicy::Power => 0,
            PerfPolicy::Thermal => 1,
            PerfPolicy::SyncBoost => 2,
            PerfPolicy::BoardLimit => 3,
            PerfPolicy::LowUtilization => 4,
            PerfPolicy::Reliability => 5,
            PerfPolicy::TotalAppClocks => 10,
            PerfPolicy::TotalBaseClocks => 11,
        };
        self.handle
            .violation(number)
            .map(|time| Duration::from_nanos(time.violationTime))
    }
}

//! What one GPU said at one instant. Every figure is a reading: what was not read is not here.

use std::time::Duration;

use crate::{Bytes, Celsius, Megahertz, Millijoules, Milliwatts, Permille, Reading};

/// The readings of a whole GPU. Gauges are of the instant, counters run since the driver started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuSample {
    /// Share of the time in which at least one kernel ran. One small kernel alone reads as the whole.
    pub utilization: Reading<Permille>,
    /// Share of the time in which device memory was being read or written.
    pub memory_bandwidth: Reading<Permille>,
    /// Share of the streaming multiprocessors with work.
    pub sm_active: Reading<Permille>,
    /// Share of the warps the multiprocessors could hold.
    pub sm_occupancy: Reading<Permille>,
    pub tensor_active: Reading<Permille>,
    pub dram_active: Reading<Permille>,
    pub memory_used: Reading<Bytes>,
    pub memory_total: Reading<Bytes>,
    pub power: Reading<Milliwatts>,
    pub power_limit: Reading<Milliwatts>,
    /// Counter.
    pub energy: Reading<Millijoules>,
    pub temperature: Reading<Celsius>,
    pub memory_temperature: Reading<Celsius>,
    pub compute_clock: Reading<Megahertz>,
    pub memory_clock: Reading<Megahertz>,
    /// Counter: time in which a kernel ran.
    pub busy: Reading<Duration>,
    /// Counter: received over the bus.
    pub pcie_received: Reading<Bytes>,
    /// Counter: sent over the bus.
    pub pcie_sent: Reading<Bytes>,
    pub processes: Reading<u32>,
    /// Counter: memory errors that could not be corrected, since the driver started.
    pub ecc_uncorrected: Reading<u64>,
    /// Whether a memory row could not be replaced: the board has no good memory left for it.
    pub row_remap_failed: Reading<bool>,
    /// Whether a replaced row waits for the next reset of the GPU.
    pub row_remap_pending: Reading<bool>,
    /// Why the clocks are held down at this instant; empty when they are not.
    pub throttled_by: Reading<Vec<ThrottleReason>>,
    /// Counters, one for each reason the device ever had.
    pub throttle_times: Vec<ThrottleTime>,
    /// Counters of driver faults (XIDs on NVIDIA), ordered by code.
    pub faults: Vec<FaultCount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThrottleReason {
    PowerCap,
    Thermal,
    HardwareSlowdown,
}

impl ThrottleReason {
    /// The value of the `reason` label.
    pub fn as_str(self) -> &'static str {
        match self {
            ThrottleReason::PowerCap => "power-cap",
            ThrottleReason::Thermal => "thermal",
            ThrottleReason::HardwareSlowdown => "hardware-slowdown",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottleTime {
    pub reason: ThrottleReason,
    pub total: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultCount {
    pub code: u32,
    pub count: u64,
}

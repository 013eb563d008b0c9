//! Why a device holds its clocks down, and which of the reasons a driver speaks of at all.

/// Why a device holds its clocks down. The order is that of the `reason` label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ThrottleReason {
    ClocksSetting,
    HardwarePowerBrake,
    HardwareSlowdown,
    HardwareThermal,
    MemoryThermal,
    PowerCap,
    ProcessorHot,
    RegulatorThermal,
    SoftwareThermal,
    SyncBoost,
}

impl ThrottleReason {
    pub const ALL: [Self; 10] = [
        Self::ClocksSetting,
        Self::HardwarePowerBrake,
        Self::HardwareSlowdown,
        Self::HardwareThermal,
        Self::MemoryThermal,
        Self::PowerCap,
        Self::ProcessorHot,
        Self::RegulatorThermal,
        Self::SoftwareThermal,
        Self::SyncBoost,
    ];

    /// The value of the `reason` label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClocksSetting => "clocks_setting",
            Self::HardwarePowerBrake => "hw_power_brake",
            Self::HardwareSlowdown => "hw_slowdown",
            Self::HardwareThermal => "hw_thermal",
            Self::MemoryThermal => "memory_thermal",
            Self::PowerCap => "power_cap",
            Self::ProcessorHot => "processor_hot",
            Self::RegulatorThermal => "regulator_thermal",
            Self::SoftwareThermal => "sw_thermal",
            Self::SyncBoost => "sync_boost",
        }
    }

    const fn bit(self) -> u16 {
        1 << (self as u8)
    }
}

/// The reasons that hold at once, among those that the driver judges. Of the others nothing is known, which is not the same as
/// that they do not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottleSet {
    judged: u16,
    holding: u16,
}

impl ThrottleSet {
    /// What NVML judges.
    const NVML: [ThrottleReason; 7] = [
        ThrottleReason::ClocksSetting,
        ThrottleReason::HardwarePowerBrake,
        ThrottleReason::HardwareSlowdown,
        ThrottleReason::HardwareThermal,
        ThrottleReason::PowerCap,
        ThrottleReason::SoftwareThermal,
        ThrottleReason::SyncBoost,
    ];

    /// A set of a driver that judges these reasons, none of which holds yet.
    pub fn judging(reasons: &[ThrottleReason]) -> Self {
        Self {
            judged: reasons.iter().fold(0, |all, reason| all | reason.bit()),
            holding: 0,
        }
    }

    /// Says that a reason holds, which is to judge it.
    pub fn insert(&mut self, reason: ThrottleReason) {
        self.judged |= reason.bit();
        self.holding |= reason.bit();
    }

    pub fn contains(self, reason: ThrottleReason) -> bool {
        self.holding & reason.bit() != 0
    }

    /// Whether a reason holds, where the driver judges it.
    pub fn judgement(self, reason: ThrottleReason) -> Option<bool> {
        (self.judged & reason.bit() != 0).then(|| self.contains(reason))
    }
}

impl Default for ThrottleSet {
    fn default() -> Self {
        Self::judging(&Self::NVML)
    }
}

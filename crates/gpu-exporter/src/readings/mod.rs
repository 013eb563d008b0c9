//! What sources read from devices: numbers by field, links, slices, processes. Plain values in base units; nothing here
//! knows a vendor's interface, a pod or a metric's name.

mod field;
mod values;

pub use field::{Field, FieldSpec, Kind};
pub use values::{Accepted, Values};

use gpu_model::Reading;

/// Why a device holds its clocks down. The order is that of the `reason` label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ThrottleReason {
    ClocksSetting,
    HardwarePowerBrake,
    HardwareSlowdown,
    HardwareThermal,
    PowerCap,
    SoftwareThermal,
    SyncBoost,
}

impl ThrottleReason {
    pub const ALL: [Self; 7] = [
        Self::ClocksSetting,
        Self::HardwarePowerBrake,
        Self::HardwareSlowdown,
        Self::HardwareThermal,
        Self::PowerCap,
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
            Self::PowerCap => "power_cap",
            Self::SoftwareThermal => "sw_thermal",
            Self::SyncBoost => "sync_boost",
        }
    }
}

/// A set of reasons that hold at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThrottleSet(u8);

impl ThrottleSet {
    pub fn insert(&mut self, reason: ThrottleReason) {
        self.0 |= 1 << (reason as u8);
    }

    pub fn contains(self, reason: ThrottleReason) -> bool {
        self.0 & (1 << (reason as u8)) != 0
    }
}

/// A process that holds a context on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessReading {
    pub pid: u32,
    /// The GPU instance and compute instance it runs on, where the device is sliced.
    pub slice: Option<SliceId>,
    pub memory_bytes: Reading<f64>,
    /// Share of the device's time since the last sample, 0 to 1.
    pub utilization: Reading<f64>,
}

/// A hardware slice of a device by its two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SliceId {
    pub gi: u32,
    pub ci: u32,
}

/// A hardware slice of a device: a MIG device, or later an AMD partition.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceReadings {
    pub id: SliceId,
    /// The slice's own id, such as `MIG-<uuid>`.
    pub uuid: String,
    /// The profile, such as `1g.10gb`.
    pub profile: String,
    /// Only what the driver measures for the slice alone.
    pub values: Values,
}

impl SliceReadings {
    /// Room for a slice, to be filled.
    pub fn empty() -> Self {
        Self {
            id: SliceId { gi: 0, ci: 0 },
            uuid: String::new(),
            profile: String::new(),
            values: Values::default(),
        }
    }
}

/// One link to another GPU or switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkReadings {
    pub link: u32,
    pub active: Reading<bool>,
    pub sent_bytes: Reading<f64>,
    pub received_bytes: Reading<f64>,
    pub replay_errors: Reading<f64>,
    pub recovery_errors: Reading<f64>,
    pub crc_errors: Reading<f64>,
}

/// The nearest way from a device to another one of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerPath {
    /// The other device's index.
    pub peer: u32,
    pub path: Path,
}

/// What lies between two devices, from near to far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// So many direct links, or links over a switch made for them.
    Links(u32),
    SameBoard,
    OneSwitch,
    ManySwitches,
    HostBridge,
    NumaNode,
    System,
}

impl Path {
    /// The value of the `path` label; the short words are those of `nvidia-smi topo`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Links(_) => "link",
            Self::SameBoard => "board",
            Self::OneSwitch => "pix",
            Self::ManySwitches => "pxb",
            Self::HostBridge => "phb",
            Self::NumaNode => "node",
            Self::System => "sys",
        }
    }
}

/// Everything one device said in one cycle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceReadings {
    pub values: Values,
    pub throttled: Reading<ThrottleSet>,
    /// The driver's own time counters by reason, in seconds, where it keeps them; in the order of [`ThrottleReason::ALL`].
    pub throttle_seconds: [Reading<f64>; ThrottleReason::ALL.len()],
    pub links: Vec<LinkReadings>,
    pub slices: Vec<SliceReadings>,
    pub processes: Reading<Vec<ProcessReading>>,
    /// The code of the last fault since faults are watched, 0 while there was none.
    pub last_fault: Reading<u32>,
    /// How the device reaches the other devices of its node.
    pub peers: Vec<PeerPath>,
    /// The class of each question that failed in this cycle.
    pub failed: Vec<&'static str>,
    /// Numbers that could not be true and were refused in this cycle.
    pub rejected: u32,
}

impl DeviceReadings {
    /// Forgets what was counted in the last cycle; the numbers stay until they are read again.
    pub fn start(&mut self) {
        self.rejected = 0;
        self.failed.clear();
    }

    /// Takes a number over and counts it when it is refused.
    pub fn set(&mut self, field: Field, reading: Reading<f64>) {
        if self.values.set(field, reading) == Accepted::OutOfRange {
            self.rejected += 1;
        }
    }

    /// These readings with what only the other half of the device's readers knows.
    pub fn joined_with(&self, slow: &Self) -> Self {
        let mut joined = self.clone();
        joined.values.fill_from(&slow.values);
        for (own, other) in joined.throttle_seconds.iter_mut().zip(&slow.throttle_seconds) {
            if *own == Reading::Unsupported {
                *own = *other;
            }
        }
        if joined.links.is_empty() {
            joined.links.clone_from(&slow.links);
        }
        if joined.peers.is_empty() {
            joined.peers.clone_from(&slow.peers);
        }
        joined
    }
}

//! What sources read from devices: numbers by field, links, slices, processes. Plain values in base units; nothing here
//! knows a vendor's interface, a pod or a metric's name.

mod blocks;
mod field;
mod parts;
#[cfg(test)]
mod tests;
mod throttle;
mod values;

pub use blocks::{BlockErrors, ErrorBlock};
pub use field::{Field, FieldSpec, Kind};
pub use parts::{PartField, PartReading, Parts};
pub use throttle::{ThrottleReason, ThrottleSet};
pub use values::{Accepted, Values};

use gpu_model::Reading;

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

/// How many compute units a process occupies, where a driver counts that by process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessOccupancy {
    pub pid: u32,
    pub slice: Option<SliceId>,
    pub compute_units: f64,
}

/// A hardware slice of a device by its two numbers. An AMD partition has its own number and 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SliceId {
    pub gi: u32,
    pub ci: u32,
}

/// A hardware slice of a device: a MIG device or an AMD partition.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceReadings {
    pub id: SliceId,
    /// The slice's own id, such as `MIG-<uuid>`; of an AMD partition the name by which it is handed out: `amdgpu_xcp_30`, or the
    /// PCI address for the first of a device.
    pub uuid: String,
    /// The profile, such as `1g.10gb` or `cpx_nps4`.
    pub profile: String,
    /// The number of the render device file (`renderD129`), where the slice has one of its own.
    pub render: Option<u32>,
    /// Only what the driver measures for the slice alone.
    pub values: Values,
    /// The same of its parts.
    pub parts: Parts,
}

impl SliceReadings {
    /// Room for a slice, to be filled.
    pub fn empty() -> Self {
        Self {
            id: SliceId { gi: 0, ci: 0 },
            uuid: String::new(),
            profile: String::new(),
            render: None,
            values: Values::default(),
            parts: Parts::default(),
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
    /// What the device has several of. On a device with slices, only what belongs to no slice.
    pub parts: Parts,
    /// Errors by block, each block once.
    pub blocks: Vec<BlockErrors>,
    pub links: Vec<LinkReadings>,
    pub slices: Vec<SliceReadings>,
    pub processes: Reading<Vec<ProcessReading>>,
    pub occupancy: Vec<ProcessOccupancy>,
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

    /// Takes the number of a part over and counts it when it is refused.
    pub fn push(&mut self, field: PartField, index: u16, reading: Reading<f64>) {
        if self.parts.push(field, index, reading) == Accepted::OutOfRange {
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
        if joined.parts.is_empty() {
            joined.parts.clone_from(&slow.parts);
        }
        if joined.blocks.is_empty() {
            joined.blocks.clone_from(&slow.blocks);
        }
        if joined.occupancy.is_empty() {
            joined.occupancy.clone_from(&slow.occupancy);
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

//! GPU models by the name the driver prints: memory, power and clock range, MIG profiles, and what they can tell.
//!
//! A model that is not here still works everywhere: the catalogue adds what a driver does not say, it permits nothing.

use crate::{Bytes, Megahertz, MigTable, Milliwatts, Vendor};

/// What a GPU of this kind can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
    Cdna2,
    Cdna3,
}

impl Architecture {
    /// NVML's performance monitoring (SM, tensor and DRAM activity without DCGM) began with Hopper.
    pub fn has_gpm(self) -> bool {
        match self {
            Architecture::Hopper | Architecture::Blackwell => true,
            Architecture::Turing
            | Architecture::Ampere
            | Architecture::Ada
            | Architecture::Cdna2
            | Architecture::Cdna3 => false,
        }
    }
}

/// The clock of a GPU at rest and at its highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRange {
    pub idle: Megahertz,
    pub max: Megahertz,
}

/// One model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuModel {
    /// As NVML's or amdgpu's product name has it.
    pub name: &'static str,
    pub vendor: Vendor,
    pub architecture: Architecture,
    /// Total frame buffer as the driver reports it.
    pub memory: Bytes,
    /// A typical draw with no process on the GPU. Boards differ by some watts: a rule that leans on it needs a margin.
    pub idle: Milliwatts,
    /// The board's default power limit.
    pub max: Milliwatts,
    pub compute_clock: ClockRange,
    pub memory_clock: ClockRange,
    pub pci_device_id: u16,
}

impl GpuModel {
    pub fn find(name: &str) -> Option<&'static GpuModel> {
        MODELS.iter().find(|model| model.name == name)
    }

    /// The MIG profiles, for a model that can be sliced.
    pub fn mig(&self) -> Option<&'static MigTable> {
        match self.vendor {
            Vendor::Nvidia => MigTable::for_pci_device(self.pci_device_id),
            Vendor::Amd | Vendor::Intel => None,
        }
    }
}

const fn clock(idle: u32, max: u32) -> ClockRange {
    ClockRange {
        idle: Megahertz(idle),
        max: Megahertz(max),
    }
}

const fn watts(watts: u32) -> Milliwatts {
    Milliwatts::from_watts(watts)
}

/// The models we know, NVIDIA by age, then AMD.
pub static MODELS: &[GpuModel] = &[
    GpuModel {
        name: "Tesla T4",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Turing,
        memory: Bytes::from_mib(15_360),
        idle: watts(10),
        max: watts(70),
        compute_clock: clock(300, 1590),
        memory_clock: clock(405, 5001),
        pci_device_id: 0x1EB8,
    },
    GpuModel {
        name: "NVIDIA A30",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Ampere,
        memory: Bytes::from_mib(24_576),
        idle: watts(30),
        max: watts(165),
        compute_clock: clock(210, 1440),
        memory_clock: clock(1215, 1215),
        pci_device_id: 0x20B7,
    },
    GpuModel {
        name: "NVIDIA A100-SXM4-40GB",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Ampere,
        memory: Bytes::from_mib(40_960),
        idle: watts(52),
        max: watts(400),
        compute_clock: clock(210, 1410),
        memory_clock: clock(1215, 1215),
        pci_device_id: 0x20B0,
    },
    GpuModel {
        name: "NVIDIA A100-SXM4-80GB",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Ampere,
        memory: Bytes::from_mib(81_920),
        idle: watts(62),
        max: watts(400),
        compute_clock: clock(210, 1410),
        memory_clock: clock(1593, 1593),
        pci_device_id: 0x20B2,
    },
    GpuModel {
        name: "NVIDIA L4",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Ada,
        memory: Bytes::from_mib(23_034),
        idle: watts(16),
        max: watts(72),
        compute_clock: clock(210, 2040),
        memory_clock: clock(405, 6251),
        pci_device_id: 0x27B8,
    },
    GpuModel {
        name: "NVIDIA L40S",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Ada,
        memory: Bytes::from_mib(46_068),
        idle: watts(34),
        max: watts(350),
        compute_clock: clock(210, 2520),
        memory_clock: clock(405, 9001),
        pci_device_id: 0x26B9,
    },
    GpuModel {
        name: "NVIDIA H100 80GB HBM3",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Hopper,
        memory: Bytes::from_mib(81_559),
        idle: watts(70),
        max: watts(700),
        compute_clock: clock(345, 1980),
        memory_clock: clock(2619, 2619),
        pci_device_id: 0x2330,
    },
    GpuModel {
        name: "NVIDIA H200",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Hopper,
        memory: Bytes::from_mib(143_771),
        idle: watts(76),
        max: watts(700),
        compute_clock: clock(345, 1980),
        memory_clock: clock(3201, 3201),
        pci_device_id: 0x2335,
    },
    GpuModel {
        name: "NVIDIA B200",
        vendor: Vendor::Nvidia,
        architecture: Architecture::Blackwell,
        memory: Bytes::from_mib(183_359),
        idle: watts(140),
        max: watts(1000),
        compute_clock: clock(120, 1965),
        memory_clock: clock(3996, 3996),
        pci_device_id: 0x2901,
    },
    GpuModel {
        name: "AMD Instinct MI210",
        vendor: Vendor::Amd,
        architecture: Architecture::Cdna2,
        memory: Bytes::from_gib(64),
        idle: watts(42),
        max: watts(300),
        compute_clock: clock(500, 1700),
        memory_clock: clock(400, 1600),
        pci_device_id: 0x740F,
    },
    GpuModel {
        name: "AMD Instinct MI300X",
        vendor: Vendor::Amd,
        architecture: Architecture::Cdna3,
        memory: Bytes::from_gib(192),
        idle: watts(140),
        max: watts(750),
        compute_clock: clock(132, 2100),
        memory_clock: clock(900, 1300),
        pci_device_id: 0x74A1,
    },
];

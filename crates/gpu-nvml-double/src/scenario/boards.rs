//! The models a scenario can name, and what tells one board from another.

use serde::{Deserialize, Serialize};

use super::gpu::Clocks;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Model {
    #[serde(rename = "h100-80gb-hbm3")]
    H100,
    #[serde(rename = "h200")]
    H200,
    #[serde(rename = "b200")]
    B200,
    #[serde(rename = "a100-sxm4-80gb")]
    A100Gb80,
    #[serde(rename = "a100-sxm4-40gb")]
    A100Gb40,
    #[serde(rename = "t4")]
    T4,
    #[serde(rename = "l40s")]
    L40s,
    #[serde(rename = "rtx-3080")]
    Rtx3080,
}

impl Model {
    pub const ALL: [Model; 8] = [
        Model::H100,
        Model::H200,
        Model::B200,
        Model::A100Gb80,
        Model::A100Gb40,
        Model::T4,
        Model::L40s,
        Model::Rtx3080,
    ];
}

/// What tells one board from another.
pub(super) struct Board {
    pub(super) name: &'static str,
    pub(super) architecture: u32,
    pub(super) compute: (i32, i32),
    pub(super) brand: u32,
    pub(super) device_id: u32,
    pub(super) part: Option<&'static str>,
    pub(super) vbios: &'static str,
    pub(super) memory_mib: u64,
    pub(super) reserved_mib: u64,
    pub(super) bar1_mib: u64,
    pub(super) watts: u32,
    pub(super) min_watts: u32,
    /// Under the preset's load.
    pub(super) clocks: Clocks,
    pub(super) max: Clocks,
    pub(super) pcie_generation: u32,
    pub(super) links: u32,
    pub(super) link_version: u32,
    pub(super) mig: bool,
    pub(super) ecc: bool,
    /// HBM boards report the memory's temperature, T4 and GeForce do not.
    pub(super) memory_temperature: bool,
    pub(super) switch: bool,
    pub(super) serial: bool,
}

const fn clocks(core: u32, memory: u32, video: u32) -> Clocks {
    Clocks {
        graphics: core,
        sm: core,
        memory,
        video,
    }
}

/// An SXM board of the Hopper generation, from which its siblings differ in a few values.
const H100: Board = Board {
    name: "NVIDIA H100 80GB HBM3",
    architecture: 9,
    compute: (9, 0),
    brand: 14,
    device_id: 0x2330,
    part: Some("692-2G520-0200-000"),
    vbios: "96.00.74.00.01",
    memory_mib: 81_559,
    reserved_mib: 551,
    bar1_mib: 131_072,
    watts: 700,
    min_watts: 200,
    clocks: clocks(1755, 2619, 1365),
    max: clocks(1980, 2619, 1545),
    pcie_generation: 5,
    links: 18,
    link_version: 7,
    mig: true,
    ecc: true,
    memory_temperature: true,
    switch: true,
    serial: true,
};

const A100_80: Board = Board {
    name: "NVIDIA A100-SXM4-80GB",
    architecture: 7,
    compute: (8, 0),
    device_id: 0x20B2,
    part: Some("692-2G506-0212-002"),
    vbios: "92.00.45.00.05",
    memory_mib: 81_920,
    reserved_mib: 600,
    watts: 400,
    min_watts: 100,
    clocks: clocks(1275, 1593, 1125),
    max: clocks(1410, 1593, 1290),
    pcie_generation: 4,
    links: 12,
    link_version: 5,
    ..H100
};

const T4: Board = Board {
    name: "Tesla T4",
    architecture: 6,
    compute: (7, 5),
    brand: 2,
    device_id: 0x1EB8,
    part: Some("900-2G183-0000-001"),
    vbios: "90.04.A7.00.01",
    memory_mib: 15_360,
    reserved_mib: 449,
    bar1_mib: 256,
    watts: 70,
    min_watts: 60,
    clocks: clocks(1230, 5000, 1140),
    max: clocks(1590, 5001, 1470),
    pcie_generation: 3,
    links: 0,
    mig: false,
    memory_temperature: false,
    switch: false,
    ..H100
};

const H200: Board = Board {
    name: "NVIDIA H200",
    device_id: 0x2335,
    part: Some("692-2G520-0280-000"),
    memory_mib: 143_771,
    bar1_mib: 262_144,
    max: clocks(1980, 3201, 1545),
    clocks: clocks(1755, 3201, 1365),
    ..H100
};

const B200: Board = Board {
    name: "NVIDIA B200",
    architecture: 10,
    compute: (10, 0),
    device_id: 0x2901,
    part: Some("692-2G525-0220-000"),
    vbios: "97.00.88.00.0F",
    memory_mib: 183_359,
    bar1_mib: 262_144,
    watts: 1000,
    clocks: clocks(1830, 3996, 1500),
    max: clocks(1965, 3996, 1965),
    link_version: 8,
    ..H100
};

const A100_40: Board = Board {
    name: "NVIDIA A100-SXM4-40GB",
    device_id: 0x20B0,
    part: Some("692-2G506-0200-002"),
    memory_mib: 40_960,
    reserved_mib: 410,
    bar1_mib: 65_536,
    clocks: clocks(1275, 1215, 1125),
    max: clocks(1410, 1215, 1290),
    ..A100_80
};

const L40S: Board = Board {
    name: "NVIDIA L40S",
    architecture: 8,
    compute: (8, 9),
    brand: 14,
    device_id: 0x26B9,
    part: Some("900-2G133-0080-000"),
    vbios: "95.02.66.00.02",
    memory_mib: 46_068,
    reserved_mib: 604,
    bar1_mib: 65_536,
    watts: 350,
    min_watts: 100,
    clocks: clocks(2310, 9000, 1905),
    max: clocks(2520, 9001, 1965),
    pcie_generation: 4,
    ..T4
};

const RTX_3080: Board = Board {
    name: "NVIDIA GeForce RTX 3080",
    architecture: 7,
    compute: (8, 6),
    brand: 5,
    device_id: 0x2206,
    part: None,
    vbios: "94.02.42.40.4B",
    memory_mib: 10_240,
    reserved_mib: 323,
    watts: 320,
    min_watts: 100,
    clocks: clocks(1890, 9251, 1665),
    max: clocks(2100, 9501, 1950),
    pcie_generation: 4,
    ecc: false,
    serial: false,
    ..T4
};

pub(super) const fn board(model: Model) -> Board {
    match model {
        Model::H100 => H100,
        Model::H200 => H200,
        Model::B200 => B200,
        Model::A100Gb80 => A100_80,
        Model::A100Gb40 => A100_40,
        Model::T4 => T4,
        Model::L40s => L40S,
        Model::Rtx3080 => RTX_3080,
    }
}

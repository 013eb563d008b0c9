//! A GPU of each model: the limits and abilities of the real board, and a moderate load on it.

use std::collections::BTreeMap;

use super::boards::{Board, Model, board};
use super::gpu::{
    Bar1, Ecc, Fabric, Gpu, Memory, Mig, NvLink, NvLinkErrors, Pcie, Power, Remapped, Remote, Retired,
    Temperatures, Throttled, Utilization,
};

const MIB: u64 = 1024 * 1024;

impl Gpu {
    /// The `index`-th GPU of a machine, with values that depend on nothing but the model and the index.
    pub fn preset(model: Model, index: usize) -> Gpu {
        let b = board(model);
        let n = u32::try_from(index).unwrap_or(u32::MAX);
        let hopper = b.architecture >= 9;
        Gpu {
            model,
            name: b.name.to_owned(),
            uuid: format!(
                "GPU-{:08x}-{:04x}-4a6c-9f10-{index:012x}",
                b.device_id * 0x1_0001,
                0x1000 + n
            ),
            minor: n,
            pci_domain: 0,
            pci_bus: 0x1B + 0x0D * n,
            pci_device: 0,
            pci_device_id: b.device_id << 16 | 0x10DE,
            serial: b.serial.then(|| format!("16530230{n:05}")),
            vbios: Some(b.vbios.to_owned()),
            board_part: b.part.map(str::to_owned),
            architecture: b.architecture,
            compute_capability: b.compute,
            brand: b.brand,
            numa_node: b.switch.then_some(n / 4),
            utilization: Some(Utilization {
                gpu: 40 + n,
                memory: 21 + n,
            }),
            encoder: Some(0),
            decoder: Some(3),
            jpeg: (b.architecture >= 7).then_some(0),
            ofa: (b.architecture >= 6).then_some(0),
            memory: Memory {
                total: b.memory_mib * MIB,
                reserved: b.reserved_mib * MIB,
                used: b.memory_mib / 4 * MIB,
            },
            bar1: Some(Bar1 {
                total: b.bar1_mib * MIB,
                used: 2 * MIB,
            }),
            power: Some(power(&b, n)),
            energy_millijoules: Some(3_600_000_000 + u64::from(n) * 1_000_000),
            temperatures: temperatures(&b, n),
            clocks: b.clocks,
            max_clocks: b.max,
            // GeForce boards and Blackwell have no application clocks.
            application_clocks: (b.ecc && b.architecture < 10).then_some(b.max),
            performance_state: 0,
            clock_reasons: 0,
            throttled: Some(Throttled {
                power_cap: 12_000_000_000,
                ..Throttled::default()
            }),
            pcie: pcie(&b, hopper),
            nvlink: (b.links > 0).then(|| links(&b)),
            ecc: b.ecc.then(|| Ecc {
                enabled: true,
                pending: true,
                ..Ecc::default()
            }),
            // Ampere and newer data-centre boards remap rows; what came before retires pages.
            remapped: (b.ecc && b.architecture >= 7).then(Remapped::default),
            retired: (b.ecc && b.architecture < 7).then(Retired::default),
            fabric: (b.switch && hopper).then(fabric),
            mig: b.mig.then(unsliced),
            processes: Vec::new(),
            licence: None,
            gpm: hopper.then(gpm_values),
            lost: false,
            vanished: false,
        }
    }
}

fn fabric() -> Fabric {
    Fabric {
        cluster: [0; 16],
        status: 0,
        clique: 0,
        state: 3,
        // Two bits a condition, each saying "not the case", and no wrong configuration.
        health_mask: 0x1AA,
        health_summary: 1,
    }
}

fn unsliced() -> Mig {
    Mig {
        enabled: false,
        pending: false,
        max_devices: 7,
        instances: Vec::new(),
    }
}

fn power(b: &Board, n: u32) -> Power {
    let usage = b.watts * 600 + 1000 * n;
    Power {
        usage,
        instant: (b.architecture >= 7).then_some(usage + 250),
        limit: b.watts * 1000,
        default_limit: b.watts * 1000,
        min_limit: b.min_watts * 1000,
        max_limit: b.watts * 1000,
        enforced: b.watts * 1000,
    }
}

fn temperatures(b: &Board, n: u32) -> Temperatures {
    let hopper = b.architecture >= 9;
    Temperatures {
        gpu: 41 + n,
        memory: b.memory_temperature.then_some(52 + n),
        // From Hopper on the driver speaks of the distance to the limit instead of the limit.
        margin: hopper.then(|| 87 - 41 - n.cast_signed()),
        slowdown: Some(if hopper { 87 } else { 89 }),
        shutdown: Some(if hopper { 92 } else { 94 }),
        gpu_max: Some(85),
        memory_max: b.memory_temperature.then_some(95),
    }
}

fn pcie(b: &Board, counts_bytes: bool) -> Pcie {
    Pcie {
        replays: 0,
        generation: b.pcie_generation,
        width: 16,
        max_generation: b.pcie_generation,
        max_width: 16,
        tx_kib_per_second: 2_048,
        rx_kib_per_second: 1_024,
        tx_bytes: counts_bytes.then_some(1 << 40),
        rx_bytes: counts_bytes.then_some(1 << 39),
    }
}

fn links(b: &Board) -> NvLink {
    NvLink {
        links: b.links,
        version: b.link_version,
        down: Vec::new(),
        remote: if b.switch { Remote::Switch } else { Remote::Gpu },
        tx_kib: 1 << 30,
        rx_kib: 1 << 29,
        tx_kib_per_second: 4_194_304,
        rx_kib_per_second: 2_097_152,
        errors: NvLinkErrors::default(),
    }
}

/// Percent for activities, MiB per second for links, as GPM documents them.
fn gpm_values() -> BTreeMap<u32, Option<f64>> {
    [
        (1, 41.0),
        (2, 38.5),
        (3, 22.25),
        (4, 5.0),
        (5, 30.5),
        (6, 0.0),
        (7, 30.0),
        (9, 0.0),
        (10, 27.75),
        (11, 0.0),
        (12, 12.5),
        (13, 1.25),
        (20, 2.0),
        (21, 1.0),
        (30, 3.0),
        (40, 0.0),
        (50, 0.0),
        (60, 2048.0),
        (61, 4096.0),
    ]
    .into_iter()
    .map(|(id, value)| (id, Some(value)))
    .collect()
}

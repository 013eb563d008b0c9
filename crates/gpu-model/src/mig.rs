//! Which MIG profiles a GPU offers: names, slices, counts and, where it is documented, memory and placement.
//!
//! Tables are keyed by PCI device id, because marketing names of one chip differ between drivers. A figure that is not
//! documented for a GPU is absent here and has to be read from the driver on the node.

use crate::Bytes;

/// One profile of one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigProfile {
    pub name: &'static str,
    /// Compute slices, of the table's `compute_slices`.
    pub compute_slices: u8,
    /// Memory slices, of the table's `memory_slices`.
    pub memory_slices: u8,
    /// How many instances one GPU holds when it holds nothing else.
    pub max_instances: u8,
    /// Memory of one instance.
    pub memory: Option<Bytes>,
    /// Memory slices at which an instance may begin. Instances in use are never moved, so order matters.
    pub starts: Option<&'static [u8]>,
}

/// The profiles of one GPU, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigTable {
    pub pci_device_ids: &'static [u16],
    pub compute_slices: u8,
    pub memory_slices: u8,
    pub profiles: &'static [MigProfile],
}

impl MigTable {
    pub fn for_pci_device(id: u16) -> Option<&'static MigTable> {
        MIG_TABLES.iter().find(|table| table.pci_device_ids.contains(&id))
    }

    pub fn profile(&self, name: &str) -> Option<&'static MigProfile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }
}

type Memory = Option<Bytes>;

const fn mib(mebibytes: u64) -> Memory {
    Some(Bytes::from_mib(mebibytes))
}

/// Placement of the A100, the only seven-slice part whose placement is documented outside the driver.
const A100_STARTS: [Option<&[u8]>; 6] = [
    Some(&[0, 1, 2, 3, 4, 5, 6]),
    Some(&[0, 2, 4, 6]),
    Some(&[0, 2, 4]),
    Some(&[0, 4]),
    Some(&[0]),
    Some(&[0]),
];

/// The six profiles every seven-slice part has: 1g, 1g with double memory, 2g, 3g, 4g, 7g.
const fn seven_slices(
    names: [&'static str; 6],
    memory: [Memory; 6],
    starts: [Option<&'static [u8]>; 6],
) -> [MigProfile; 6] {
    const COMPUTE: [u8; 6] = [1, 1, 2, 3, 4, 7];
    const MEMORY: [u8; 6] = [1, 2, 2, 4, 4, 8];
    const COUNT: [u8; 6] = [7, 4, 3, 2, 1, 1];
    let mut profiles = [MigProfile {
        name: "",
        compute_slices: 0,
        memory_slices: 0,
        max_instances: 0,
        memory: None,
        starts: None,
    }; 6];
    let mut i = 0;
    while i < 6 {
        profiles[i] = MigProfile {
            name: names[i],
            compute_slices: COMPUTE[i],
            memory_slices: MEMORY[i],
            max_instances: COUNT[i],
            memory: memory[i],
            starts: starts[i],
        };
        i += 1;
    }
    profiles
}

/// The three profiles of a four-slice part.
const fn four_slices(
    names: [&'static str; 3],
    memory: [Memory; 3],
    starts: [Option<&'static [u8]>; 3],
) -> [MigProfile; 3] {
    [
        MigProfile {
            name: names[0],
            compute_slices: 1,
            memory_slices: 1,
            max_instances: 4,
            memory: memory[0],
            starts: starts[0],
        },
        MigProfile {
            name: names[1],
            compute_slices: 2,
            memory_slices: 2,
            max_instances: 2,
            memory: memory[1],
            starts: starts[1],
        },
        MigProfile {
            name: names[2],
            compute_slices: 4,
            memory_slices: 4,
            max_instances: 1,
            memory: memory[2],
            starts: starts[2],
        },
    ]
}

const UNKNOWN: [Memory; 6] = [None; 6];
const ANYWHERE: [Option<&[u8]>; 6] = [None; 6];

const A30: [MigProfile; 3] = four_slices(
    ["1g.6gb", "2g.12gb", "4g.24gb"],
    [mib(5836), mib(11672), mib(23344)],
    [Some(&[0, 1, 2, 3]), Some(&[0, 2]), Some(&[0])],
);
const RTX_PRO_6000: [MigProfile; 3] = four_slices(["1g.24gb", "2g.48gb", "4g.96gb"], [None; 3], [None; 3]);
const A100_40: [MigProfile; 6] = seven_slices(
    ["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"],
    [
        mib(4864),
        mib(9856),
        mib(9856),
        mib(19968),
        mib(19968),
        mib(40192),
    ],
    A100_STARTS,
);
const A100_80: [MigProfile; 6] = seven_slices(
    ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"],
    [mib(9856), None, mib(19968), mib(40192), None, mib(80384)],
    A100_STARTS,
);
const H100_80: [MigProfile; 6] = seven_slices(
    ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"],
    UNKNOWN,
    ANYWHERE,
);
const H100_94: [MigProfile; 6] = seven_slices(
    ["1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"],
    UNKNOWN,
    ANYWHERE,
);
const GH200_96: [MigProfile; 6] = seven_slices(
    ["1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"],
    UNKNOWN,
    ANYWHERE,
);
const H200_141: [MigProfile; 6] = seven_slices(
    ["1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"],
    UNKNOWN,
    ANYWHERE,
);
const B200_180: [MigProfile; 6] = seven_slices(
    ["1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"],
    UNKNOWN,
    ANYWHERE,
);
const GB200_186: [MigProfile; 6] = seven_slices(
    ["1g.23gb", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"],
    UNKNOWN,
    ANYWHERE,
);
const B300: [MigProfile; 6] = seven_slices(
    [
        "1g.34gb", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb", "7g.269gb",
    ],
    UNKNOWN,
    ANYWHERE,
);
const GB300: [MigProfile; 6] = seven_slices(
    [
        "1g.35gb", "1g.70gb", "2g.70gb", "3g.139gb", "4g.139gb", "7g.278gb",
    ],
    UNKNOWN,
    ANYWHERE,
);

const fn seven(pci_device_ids: &'static [u16], profiles: &'static [MigProfile]) -> MigTable {
    MigTable {
        pci_device_ids,
        compute_slices: 7,
        memory_slices: 8,
        profiles,
    }
}

const fn four(pci_device_ids: &'static [u16], profiles: &'static [MigProfile]) -> MigTable {
    MigTable {
        pci_device_ids,
        compute_slices: 4,
        memory_slices: 4,
        profiles,
    }
}

/// Every GPU whose profiles are documented.
pub static MIG_TABLES: &[MigTable] = &[
    four(&[0x20B7], &A30),
    seven(&[0x20B0, 0x20B1, 0x20F1, 0x20F6], &A100_40),
    seven(&[0x20B2, 0x20B5, 0x20F3, 0x20F5], &A100_80),
    seven(&[0x2330, 0x2331], &H100_80),
    seven(&[0x2321, 0x233A], &H100_94),
    seven(&[0x2342, 0x2329], &GH200_96),
    seven(&[0x2335, 0x233B], &H200_141),
    seven(&[0x2901], &B200_180),
    seven(&[0x2941], &GB200_186),
    seven(&[0x3182], &B300),
    seven(&[0x31C2], &GB300),
    four(&[0x2BB5], &RTX_PRO_6000),
];

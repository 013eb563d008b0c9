//! A page like that of dcgm-exporter, for as many nodes as asked. The same call gives the same bytes everywhere.

use std::fmt::Write as _;

use gpu_exposition::{FamilyMeta, Format, LabelBlock, MetricKind, PageWriter, Value, WriteError};

const GPUS_PER_NODE: u32 = 8;

/// How the value of a family looks.
#[derive(Clone, Copy)]
enum Shape {
    Percent,
    Mebibytes,
    Celsius,
    Watts,
    Ratio,
    Energy,
    Rare,
}

const FAMILIES: [(FamilyMeta<'static>, Shape); 20] = [
    (
        gauge("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz)."),
        Shape::Mebibytes,
    ),
    (
        gauge("DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz)."),
        Shape::Mebibytes,
    ),
    (
        gauge("DCGM_FI_DEV_MEMORY_TEMP", "Memory temperature (in C)."),
        Shape::Celsius,
    ),
    (
        gauge("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C)."),
        Shape::Celsius,
    ),
    (
        gauge("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W)."),
        Shape::Watts,
    ),
    (
        counter(
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
            "Total energy since boot (in mJ).",
        ),
        Shape::Energy,
    ),
    (
        counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "Total number of PCIe retries."),
        Shape::Rare,
    ),
    (
        gauge("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %)."),
        Shape::Percent,
    ),
    (
        gauge("DCGM_FI_DEV_MEM_COPY_UTIL", "Memory utilization (in %)."),
        Shape::Percent,
    ),
    (
        gauge("DCGM_FI_DEV_ENC_UTIL", "Encoder utilization (in %)."),
        Shape::Percent,
    ),
    (
        gauge("DCGM_FI_DEV_DEC_UTIL", "Decoder utilization (in %)."),
        Shape::Percent,
    ),
    (
        gauge(
            "DCGM_FI_DEV_XID_ERRORS",
            "Value of the last XID error encountered.",
        ),
        Shape::Rare,
    ),
    (
        gauge("DCGM_FI_DEV_FB_FREE", "Frame buffer memory free (in MB)."),
        Shape::Mebibytes,
    ),
    (
        gauge("DCGM_FI_DEV_FB_USED", "Frame buffer memory used (in MB)."),
        Shape::Mebibytes,
    ),
    (
        gauge("DCGM_FI_DEV_FB_TOTAL", "Frame buffer memory total (in MB)."),
        Shape::Mebibytes,
    ),
    (
        counter(
            "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
            "Number of remapped rows.",
        ),
        Shape::Rare,
    ),
    (
        gauge(
            "DCGM_FI_DEV_ROW_REMAP_FAILURE",
            "Whether remapping of rows has failed.",
        ),
        Shape::Rare,
    ),
    (
        gauge(
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
            "Ratio of time the graphics engine is active.",
        ),
        Shape::Ratio,
    ),
    (
        gauge(
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
            "Ratio of cycles the tensor pipe is active.",
        ),
        Shape::Ratio,
    ),
    (
        gauge(
            "DCGM_FI_PROF_DRAM_ACTIVE",
            "Ratio of cycles the memory interface is active.",
        ),
        Shape::Ratio,
    ),
];

const fn gauge(name: &'static str, help: &'static str) -> FamilyMeta<'static> {
    FamilyMeta::new(name, help, MetricKind::Gauge)
}

const fn counter(name: &'static str, help: &'static str) -> FamilyMeta<'static> {
    FamilyMeta::new(name, help, MetricKind::Counter)
}

/// Label blocks of a fleet, rendered once as an exporter does, with a source of values.
pub(crate) struct Fleet {
    gpus: Vec<LabelBlock>,
    seed: u64,
}

impl Fleet {
    pub(crate) fn new(nodes: u32) -> Result<Self, WriteError> {
        let mut fleet = Self {
            gpus: Vec::new(),
            seed: 0x9E37_79B9_7F4A_7C15,
        };
        for node in 0..nodes {
            for gpu in 0..GPUS_PER_NODE {
                let labels = fleet.labels(node, gpu)?;
                fleet.gpus.push(labels);
            }
        }
        Ok(fleet)
    }

    /// Appends the page for all nodes.
    pub(crate) fn write(&mut self, page: &mut String, format: Format) -> Result<(), WriteError> {
        let mut writer = PageWriter::new(page, format);
        for (meta, shape) in &FAMILIES {
            let mut family = writer.family(meta)?;
            for gpu in &self.gpus {
                family.sample(gpu, draw(&mut self.seed, *shape))?;
            }
        }
        writer.finish();
        Ok(())
    }

    fn labels(&mut self, node: u32, gpu: u32) -> Result<LabelBlock, WriteError> {
        let (high, low) = (next(&mut self.seed), next(&mut self.seed));
        let mut uuid = String::from("GPU-");
        for (part, digits) in [
            (high >> 32, 8),
            (high >> 16, 4),
            (high, 4),
            (low >> 48, 4),
            (low, 12),
        ] {
            let mask = (1_u64 << (digits * 4)) - 1;
            let dash = if digits == 12 { "" } else { "-" };
            write!(uuid, "{:0digits$x}{dash}", part & mask).expect("a String accepts every write");
        }
        LabelBlock::new([
            ("gpu", gpu.to_string()),
            ("UUID", uuid),
            ("pci_bus_id", format!("00000000:{:02X}:00.0", gpu * 16 + 7)),
            ("device", format!("nvidia{gpu}")),
            ("modelName", "NVIDIA H100 80GB HBM3".to_owned()),
            ("Hostname", format!("gpu-node-{node:05}")),
            ("container", "trainer".to_owned()),
            ("namespace", format!("team-{}", node % 17)),
            ("pod", format!("pretrain-{}-worker-{gpu}", node / 4)),
        ])
    }
}

/// A text page of at least `bytes` bytes.
pub(crate) fn page_of(bytes: usize, format: Format) -> Result<String, WriteError> {
    let mut one = String::new();
    Fleet::new(1)?.write(&mut one, format)?;
    // One node's page carries the metadata once too often for an exact rule of three, so round up by one node.
    let nodes = u32::try_from(bytes / one.len() + 1 + bytes / 10 / one.len()).unwrap_or(u32::MAX);
    let mut page = String::with_capacity(bytes + bytes / 4);
    Fleet::new(nodes)?.write(&mut page, format)?;
    Ok(page)
}

fn draw(seed: &mut u64, shape: Shape) -> Value {
    let mut below = |bound: u32| {
        u32::try_from(next(seed) % u64::from(bound)).expect("a remainder is below its 32-bit divisor")
    };
    match shape {
        Shape::Percent => below(101).into(),
        Shape::Mebibytes => below(81_559).into(),
        Shape::Celsius => (30 + below(60)).into(),
        Shape::Watts => (f64::from(below(700_000)) / 1000.0).into(),
        Shape::Ratio => (f64::from(below(1_000_000)) / 1_000_000.0).into(),
        Shape::Energy => (u64::from(below(900_000)) * 1_000_003_137).into(),
        Shape::Rare => u32::from(below(97) == 0).into(),
    }
}

/// xorshift64: enough variety for a page, and the same on every machine.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

//! A node of the compute driver's topology: `properties` under `/sys/class/kfd/kfd/topology/nodes/N`.

use std::fmt;

use super::pci::PciAddress;
use super::{lines, number, pair};

/// What a node says of itself. A node is a processor, a GPU, or one partition of a GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KfdNode {
    pub cpu_cores: Option<u64>,
    pub simd_count: Option<u64>,
    pub simd_per_cu: Option<u64>,
    pub gfx_target: Option<GfxTarget>,
    pub vendor_id: Option<u64>,
    pub device_id: Option<u64>,
    pub location_id: Option<u64>,
    pub domain: Option<u64>,
    /// The number of `/dev/dri/renderD*`; none on a node without one.
    pub drm_render_minor: Option<u64>,
    /// GPUs with the same number are linked by xGMI; none where there are no such links.
    pub hive_id: Option<u64>,
    /// The same for all partitions of a GPU; none on cards that have no such number.
    pub unique_id: Option<u64>,
    /// Compute dies of the node.
    pub num_xcc: Option<u64>,
    pub local_mem_bytes: Option<u64>,
    pub max_clock_megahertz: Option<u64>,
}

impl KfdNode {
    pub fn is_gpu(&self) -> bool {
        self.simd_count.is_some_and(|count| count > 0)
    }

    pub fn compute_units(&self) -> Option<u64> {
        self.simd_count?.checked_div(self.simd_per_cu?)
    }

    /// Where the GPU is. The function is that of the GPU itself, which is always 0: in its place, the nodes of a partitioned GPU
    /// have the number of the partition, see [`KfdNode::partition`].
    pub fn pci_address(&self) -> Option<PciAddress> {
        let location = u32::try_from(self.location_id?).ok()?;
        Some(PciAddress {
            domain: u32::try_from(self.domain.unwrap_or(0)).ok()?,
            bus: u8::try_from((location >> 8) & 0xff).ok()?,
            device: u8::try_from((location >> 3) & 0x1f).ok()?,
            function: 0,
        })
    }

    /// The number of the partition; 0 also for a GPU that is not partitioned. Kernels put it into the lowest three bits, in the
    /// place of the function, or into the highest four.
    pub fn partition(&self) -> Option<u32> {
        let location = u32::try_from(self.location_id?).ok()?;
        Some(match location >> 28 {
            0 => location & 0b111,
            high => high,
        })
    }
}

/// The instruction set, such as `gfx942`: two digits of major, one of minor and one of stepping in the kernel's number, the
/// latter two in hexadecimal where people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GfxTarget {
    pub major: u32,
    pub minor: u32,
    pub stepping: u32,
}

impl GfxTarget {
    fn from_number(number: u64) -> Option<Self> {
        let number = u32::try_from(number).ok().filter(|number| *number > 0)?;
        Some(Self {
            major: number / 10_000,
            minor: number / 100 % 100,
            stepping: number % 100,
        })
    }
}

impl fmt::Display for GfxTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gfx{}{:x}{:x}", self.major, self.minor, self.stepping)
    }
}

/// Reads lines `name value`. Names that are not known and values that are no numbers are passed over.
pub fn kfd_node(text: &str) -> KfdNode {
    let mut node = KfdNode::default();
    for (name, value) in lines(text).filter_map(pair) {
        let Some(value) = number(value) else {
            continue;
        };
        let some = Some(value);
        // The kernel writes 0 where it has none.
        let unless_zero = some.filter(|value| *value != 0);
        match name {
            "cpu_cores_count" => node.cpu_cores = some,
            "simd_count" => node.simd_count = some,
            "simd_per_cu" => node.simd_per_cu = some,
            "gfx_target_version" => node.gfx_target = GfxTarget::from_number(value),
            "vendor_id" => node.vendor_id = some,
            "device_id" => node.device_id = some,
            "location_id" => node.location_id = some,
            "domain" => node.domain = some,
            "drm_render_minor" => node.drm_render_minor = unless_zero,
            "hive_id" => node.hive_id = unless_zero,
            "unique_id" => node.unique_id = unless_zero,
            "num_xcc" => node.num_xcc = some,
            "local_mem_size" => node.local_mem_bytes = unless_zero,
            "max_engine_clk_fcompute" => node.max_clock_megahertz = some,
            _ => {}
        }
    }
    node
}

//! What a `gpu_metrics` table says, the same for every version. A number is `None` where the version has no such field,
//! where the firmware said that it does not know, and where the read ended before it.

/// Stacks of memory with a sensor of their own, at most.
pub const MAX_HBM: usize = 8;
/// Links to other GPUs, at most.
pub const MAX_XGMI_LINKS: usize = 8;
/// Compute dies, and so also partitions, at most.
pub const MAX_XCC: usize = 8;
/// Instances of a clock that is not that of a compute die, at most.
pub const MAX_CLOCKS: usize = 4;
/// Video engines, at most.
pub const MAX_VCN: usize = 4;
/// JPEG engines, at most.
pub const MAX_JPEG: usize = 40;

/// How far the energy counter of Instinct cards gets with a joule, in every version.
pub const ENERGY_STEPS_A_JOULE: u64 = 1 << 16;
/// The unit of the counters of links to other GPUs, which the interface calls KB.
pub const XGMI_UNIT_BYTES: u64 = 1024;

/// The two revisions in the header of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub format: u8,
    pub content: u8,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "v{}.{}", self.format, self.content)
    }
}

/// One table, in base units. An accumulator counts in a unit of its own: only its growth between two tables means
/// something, mostly divided by that of [`Metrics::accumulation_counter`].
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    pub version: Version,

    pub gfx_busy_ratio: Option<f64>,
    /// The number of v3.0, percent or hundredths of it depending on the firmware: `gpu_busy_percent` has it converted.
    pub gfx_busy_raw: Option<u64>,
    /// The memory controller's share of busy time.
    pub memory_busy_ratio: Option<f64>,
    /// Video engines together. Left out for v2.0 to v2.3 and v3.0, whose firmwares disagree about the unit.
    pub media_busy_ratio: Option<f64>,
    pub gfx_activity_accumulator: Option<u64>,
    pub memory_activity_accumulator: Option<u64>,

    pub edge_celsius: Option<f64>,
    pub hotspot_celsius: Option<f64>,
    pub memory_celsius: Option<f64>,
    pub vr_gfx_celsius: Option<f64>,
    pub vr_soc_celsius: Option<f64>,
    pub vr_memory_celsius: Option<f64>,
    pub hbm_celsius: [Option<f64>; MAX_HBM],
    /// The graphics part of an APU.
    pub gfx_celsius: Option<f64>,
    /// The rest of an APU's chip.
    pub soc_celsius: Option<f64>,
    pub skin_celsius: Option<f64>,

    /// Now, v1.4 and later.
    pub socket_power_watts: Option<f64>,
    /// Over a window of the firmware's choice, which is not known.
    pub average_socket_power_watts: Option<f64>,
    /// The number of v2.0 to v2.2, watts on some firmwares and milliwatts on others: hwmon has it converted by the driver.
    pub average_socket_power_raw: Option<u64>,
    pub average_apu_power_watts: Option<f64>,
    pub average_gfx_power_watts: Option<f64>,
    pub average_soc_power_watts: Option<f64>,
    pub average_cpu_power_watts: Option<f64>,
    /// v1.4 and later, where the unit is part of the format.
    pub energy_joules: Option<f64>,
    /// The counter of v1.0 to v1.3: [`ENERGY_STEPS_A_JOULE`] on Instinct cards (gfx908, gfx90a), another unit on Radeon cards,
    /// and 0 for ever on those that do not count.
    pub energy_raw: Option<u64>,

    /// One a compute die; a single one on cards that have one clock.
    pub gfx_clock_hertz: [Option<f64>; MAX_XCC],
    pub soc_clock_hertz: [Option<f64>; MAX_CLOCKS],
    pub video_clock_hertz: [Option<f64>; MAX_CLOCKS],
    pub decode_clock_hertz: [Option<f64>; MAX_CLOCKS],
    pub memory_clock_hertz: Option<f64>,
    pub fabric_clock_hertz: Option<f64>,
    pub average_gfx_clock_hertz: Option<f64>,
    pub average_soc_clock_hertz: Option<f64>,
    pub average_memory_clock_hertz: Option<f64>,
    pub average_fabric_clock_hertz: Option<f64>,
    pub average_video_clock_hertz: [Option<f64>; 2],
    pub average_decode_clock_hertz: [Option<f64>; 2],
    /// What the graphics clock is held under (v3.0).
    pub gfx_clock_limit_hertz: Option<f64>,
    /// One bit a compute die whose clock is locked.
    pub gfx_clock_lock_bits: Option<u64>,

    /// Bits whose meaning differs between chips.
    pub throttle_bits_of_chip: Option<u64>,
    /// Bits with one meaning for all chips; see [`Metrics::throttlers`].
    pub throttle_bits: Option<u64>,
    /// The firmware's cycles: what the residencies are shares of.
    pub accumulation_counter: Option<u64>,
    pub residency: Residency,

    pub fan_rpm: Option<f64>,
    pub fan_pwm_raw: Option<u64>,

    pub pcie_link_lanes: Option<u64>,
    pub pcie_link_transfers_per_second: Option<f64>,
    pub pcie_bytes_per_second: Option<f64>,
    pub pcie_bandwidth_accumulator: Option<u64>,
    pub pcie_l0_to_recovery_count: Option<u64>,
    pub pcie_replay_count: Option<u64>,
    pub pcie_replay_rollover_count: Option<u64>,
    pub pcie_nak_sent_count: Option<u64>,
    pub pcie_nak_received_count: Option<u64>,
    pub pcie_other_end_recovery_count: Option<u64>,

    pub xgmi_link_lanes: Option<u64>,
    pub xgmi_link_bits_per_second: Option<f64>,
    pub xgmi_read_bytes: [Option<u64>; MAX_XGMI_LINKS],
    pub xgmi_write_bytes: [Option<u64>; MAX_XGMI_LINKS],
    pub xgmi_link_active: [Option<bool>; MAX_XGMI_LINKS],

    pub memory_bandwidth_limit_bytes_per_second: Option<f64>,
    pub dram_read_bytes_per_second: Option<f64>,
    pub dram_write_bytes_per_second: Option<f64>,

    /// The firmware's clock: the right divisor for the growth of its accumulators.
    pub firmware_timestamp_nanoseconds: Option<u64>,
    /// The kernel's clock since boot, when it took the table.
    pub system_clock_nanoseconds: Option<u64>,

    pub gfx_volts: Option<f64>,
    pub soc_volts: Option<f64>,
    pub memory_volts: Option<f64>,
    pub cpu_volts: Option<f64>,
    pub gfx_amperes: Option<f64>,
    pub soc_amperes: Option<f64>,
    pub cpu_amperes: Option<f64>,

    pub partition_count: Option<u64>,
    /// Engines of the whole device, from versions that do not split them by partition (v1.4, v1.5, v1.9).
    pub whole: Engines,
    /// Engines by partition (v1.6 to v1.8); those from `partition_count` on are empty.
    pub partitions: [Engines; MAX_XCC],
}

/// How long each throttler held the clocks down, in the firmware's cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residency {
    pub prochot: Option<u64>,
    /// The limit on the package's power.
    pub package_power: Option<u64>,
    pub socket_thermal: Option<u64>,
    pub vr_thermal: Option<u64>,
    pub hbm_thermal: Option<u64>,
    /// Those of APUs (v3.0): sustained, fast and slow limit on power, and three places that get hot.
    pub sustained_power: Option<u64>,
    pub fast_power: Option<u64>,
    pub slow_power: Option<u64>,
    pub core_thermal: Option<u64>,
    pub gfx_thermal: Option<u64>,
    pub soc_thermal: Option<u64>,
}

/// Engines of a partition or of the whole device: by compute die, by JPEG engine, by video engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Engines {
    pub gfx_busy_ratio: [Option<f64>; MAX_XCC],
    pub jpeg_busy_ratio: [Option<f64>; MAX_JPEG],
    pub vcn_busy_ratio: [Option<f64>; MAX_VCN],
    pub gfx_busy_accumulator: [Option<u64>; MAX_XCC],
    /// Time under the host's limit, for whatever reason (v1.7).
    pub below_host_limit_accumulator: [Option<u64>; MAX_XCC],
    /// The same, split by reason (v1.8 and later).
    pub below_host_limit_power_accumulator: [Option<u64>; MAX_XCC],
    pub below_host_limit_thermal_accumulator: [Option<u64>; MAX_XCC],
    pub below_host_limit_total_accumulator: [Option<u64>; MAX_XCC],
    pub low_utilization_accumulator: [Option<u64>; MAX_XCC],
}

/// A throttler in the sense of the residencies of newer tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Throttler {
    Prochot,
    PackagePower,
    /// A limit on current.
    Current,
    SocketThermal,
    VrThermal,
    HbmThermal,
    /// Reliability and power management reasons that fit none of the above.
    Other,
}

impl Throttler {
    pub const ALL: [Self; 7] = [
        Self::Prochot,
        Self::PackagePower,
        Self::Current,
        Self::SocketThermal,
        Self::VrThermal,
        Self::HbmThermal,
        Self::Other,
    ];

    /// The bits of the chip-independent status that belong here.
    const fn bits(self) -> u64 {
        match self {
            // Bits 46 and 47: the processor's and the graphics part's line.
            Self::Prochot => 0b11 << 46,
            // Bits 0 to 7: limits on the power of packages and rails.
            Self::PackagePower => 0xff,
            // Bits 16 to 23: thermal and electrical design current, and its control loop.
            Self::Current => 0xff << 16,
            // 32 chip, 33 core, 35 edge, 36 hotspot, 37 the rest of the chip, 42 and 43 liquid.
            Self::SocketThermal => (0b11 << 32) | (0b111 << 35) | (0b11 << 42),
            // 38 to 41 sensors of the regulators, 44 and 45 their own lines.
            Self::VrThermal => (0b1111 << 38) | (0b11 << 44),
            Self::HbmThermal => 1 << 34,
            Self::Other => 0b11 << 56,
        }
    }
}

/// Throttlers that were active when the table was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThrottlerSet(u64);

impl ThrottlerSet {
    pub fn contains(self, throttler: Throttler) -> bool {
        self.0 & throttler.bits() != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Throttler> {
        Throttler::ALL
            .into_iter()
            .filter(move |throttler| self.contains(*throttler))
    }
}

impl Metrics {
    /// What held the clocks down at this moment, from versions that say so for all chips alike (v1.3, v2.2 to v2.4).
    pub fn throttlers(&self) -> Option<ThrottlerSet> {
        self.throttle_bits.map(ThrottlerSet)
    }

    /// Nothing known.
    pub const EMPTY: Self = Self {
        version: Version {
            format: 0,
            content: 0,
        },
        gfx_busy_ratio: None,
        gfx_busy_raw: None,
        memory_busy_ratio: None,
        media_busy_ratio: None,
        gfx_activity_accumulator: None,
        memory_activity_accumulator: None,
        edge_celsius: None,
        hotspot_celsius: None,
        memory_celsius: None,
        vr_gfx_celsius: None,
        vr_soc_celsius: None,
        vr_memory_celsius: None,
        hbm_celsius: [None; MAX_HBM],
        gfx_celsius: None,
        soc_celsius: None,
        skin_celsius: None,
        socket_power_watts: None,
        average_socket_power_watts: None,
        average_socket_power_raw: None,
        average_apu_power_watts: None,
        average_gfx_power_watts: None,
        average_soc_power_watts: None,
        average_cpu_power_watts: None,
        energy_joules: None,
        energy_raw: None,
        gfx_clock_hertz: [None; MAX_XCC],
        soc_clock_hertz: [None; MAX_CLOCKS],
        video_clock_hertz: [None; MAX_CLOCKS],
        decode_clock_hertz: [None; MAX_CLOCKS],
        memory_clock_hertz: None,
        fabric_clock_hertz: None,
        average_gfx_clock_hertz: None,
        average_soc_clock_hertz: None,
        average_memory_clock_hertz: None,
        average_fabric_clock_hertz: None,
        average_video_clock_hertz: [None; 2],
        average_decode_clock_hertz: [None; 2],
        gfx_clock_limit_hertz: None,
        gfx_clock_lock_bits: None,
        throttle_bits_of_chip: None,
        throttle_bits: None,
        accumulation_counter: None,
        residency: Residency::EMPTY,
        fan_rpm: None,
        fan_pwm_raw: None,
        pcie_link_lanes: None,
        pcie_link_transfers_per_second: None,
        pcie_bytes_per_second: None,
        pcie_bandwidth_accumulator: None,
        pcie_l0_to_recovery_count: None,
        pcie_replay_count: None,
        pcie_replay_rollover_count: None,
        pcie_nak_sent_count: None,
        pcie_nak_received_count: None,
        pcie_other_end_recovery_count: None,
        xgmi_link_lanes: None,
        xgmi_link_bits_per_second: None,
        xgmi_read_bytes: [None; MAX_XGMI_LINKS],
        xgmi_write_bytes: [None; MAX_XGMI_LINKS],
        xgmi_link_active: [None; MAX_XGMI_LINKS],
        memory_bandwidth_limit_bytes_per_second: None,
        dram_read_bytes_per_second: None,
        dram_write_bytes_per_second: None,
        firmware_timestamp_nanoseconds: None,
        system_clock_nanoseconds: None,
        gfx_volts: None,
        soc_volts: None,
        memory_volts: None,
        cpu_volts: None,
        gfx_amperes: None,
        soc_amperes: None,
        cpu_amperes: None,
        partition_count: None,
        whole: Engines::EMPTY,
        partitions: [Engines::EMPTY; MAX_XCC],
    };
}

impl Default for Metrics {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Residency {
    pub const EMPTY: Self = Self {
        prochot: None,
        package_power: None,
        socket_thermal: None,
        vr_thermal: None,
        hbm_thermal: None,
        sustained_power: None,
        fast_power: None,
        slow_power: None,
        core_thermal: None,
        gfx_thermal: None,
        soc_thermal: None,
    };
}

impl Engines {
    pub const EMPTY: Self = Self {
        gfx_busy_ratio: [None; MAX_XCC],
        jpeg_busy_ratio: [None; MAX_JPEG],
        vcn_busy_ratio: [None; MAX_VCN],
        gfx_busy_accumulator: [None; MAX_XCC],
        below_host_limit_accumulator: [None; MAX_XCC],
        below_host_limit_power_accumulator: [None; MAX_XCC],
        below_host_limit_thermal_accumulator: [None; MAX_XCC],
        below_host_limit_total_accumulator: [None; MAX_XCC],
        low_utilization_accumulator: [None; MAX_XCC],
    };
}

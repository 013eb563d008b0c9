//! One observation of one GPU, and of one part of a divided GPU, in as few bytes as it takes.
//!
//! The largest value of a field stands for "not read"; nothing here turns that into a zero.

use gpu_model::{Bytes, Permille, Reading};

/// Forty bytes times slots times GPUs is the memory of the whole: think before adding a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpuSlot {
    pub(crate) cycle: u32,
    memory_mib: u32,
    utilization: u16,
    busy: u16,
    sm: u16,
    tensor: u16,
    dram: u16,
    power_deciwatts: u16,
    drawn_deciwatts: u16,
    traffic_mib: u16,
    clock_megahertz: u16,
    heat: u8,
    cap: u8,
    processes: u8,
    faults: u8,
}

const NO_U16: u16 = u16::MAX;
const NO_U32: u32 = u32::MAX;
const NO_U8: u8 = u8::MAX;

/// What a slot is made of. Absent is what was not read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GpuFigures {
    pub(crate) memory_mib: Option<u64>,
    /// Of the instant.
    pub(crate) utilization: Option<u16>,
    /// Share of the time since the observation before, from the counter.
    pub(crate) busy: Option<u16>,
    pub(crate) sm: Option<u16>,
    pub(crate) tensor: Option<u16>,
    pub(crate) dram: Option<u16>,
    /// Of the instant.
    pub(crate) power_milliwatts: Option<u64>,
    /// On average since the observation before, from the counter.
    pub(crate) drawn_milliwatts: Option<u64>,
    /// Mebibytes a second in both directions since the observation before.
    pub(crate) traffic_mib: Option<u64>,
    pub(crate) clock_megahertz: Option<u32>,
    /// Percent of the time held down by heat or the hardware.
    pub(crate) heat: Option<u64>,
    /// Percent of the time held down by the power limit.
    pub(crate) cap: Option<u64>,
    pub(crate) processes: Option<u32>,
    pub(crate) faults: Option<u64>,
}

impl GpuSlot {
    /// No cycle has the number 0.
    pub(crate) const EMPTY: Self = Self {
        cycle: 0,
        memory_mib: NO_U32,
        utilization: NO_U16,
        busy: NO_U16,
        sm: NO_U16,
        tensor: NO_U16,
        dram: NO_U16,
        power_deciwatts: NO_U16,
        drawn_deciwatts: NO_U16,
        traffic_mib: NO_U16,
        clock_megahertz: NO_U16,
        heat: NO_U8,
        cap: NO_U8,
        processes: NO_U8,
        faults: NO_U8,
    };

    pub(crate) fn pack(cycle: u32, figures: &GpuFigures) -> Self {
        Self {
            cycle,
            memory_mib: pack_u32(figures.memory_mib),
            utilization: pack_u16(figures.utilization.map(u64::from)),
            busy: pack_u16(figures.busy.map(u64::from)),
            sm: pack_u16(figures.sm.map(u64::from)),
            tensor: pack_u16(figures.tensor.map(u64::from)),
            dram: pack_u16(figures.dram.map(u64::from)),
            power_deciwatts: pack_u16(figures.power_milliwatts.map(|milliwatts| milliwatts / 100)),
            drawn_deciwatts: pack_u16(figures.drawn_milliwatts.map(|milliwatts| milliwatts / 100)),
            traffic_mib: pack_u16(figures.traffic_mib),
            clock_megahertz: pack_u16(figures.clock_megahertz.map(u64::from)),
            heat: pack_u8(figures.heat),
            cap: pack_u8(figures.cap),
            processes: pack_u8(figures.processes.map(u64::from)),
            faults: pack_u8(figures.faults),
        }
    }

    pub(crate) fn memory_mib(&self) -> Option<u32> {
        (self.memory_mib != NO_U32).then_some(self.memory_mib)
    }

    pub(crate) fn utilization(&self) -> Option<u16> {
        read_u16(self.utilization)
    }

    /// The share of time with a kernel: the counter's average where there is one, or the instant.
    pub(crate) fn time(&self) -> Option<u16> {
        match (read_u16(self.busy), read_u16(self.utilization)) {
            (Some(busy), _) => Some(busy),
            (None, instant) => instant,
        }
    }

    /// The largest of the two ways to read the time.
    pub(crate) fn most_time(&self) -> Option<u16> {
        read_u16(self.busy).max(read_u16(self.utilization))
    }

    pub(crate) fn sm(&self) -> Option<u16> {
        read_u16(self.sm)
    }

    pub(crate) fn tensor(&self) -> Option<u16> {
        read_u16(self.tensor)
    }

    pub(crate) fn dram(&self) -> Option<u16> {
        read_u16(self.dram)
    }

    /// The largest of the activities that need profiling.
    pub(crate) fn activity(&self) -> Option<u16> {
        self.sm().max(self.tensor()).max(self.dram())
    }

    /// The average draw where the counter gives it, or the instant's.
    pub(crate) fn draw_milliwatts(&self) -> Option<u32> {
        let deciwatts = read_u16(self.drawn_deciwatts).or(read_u16(self.power_deciwatts))?;
        Some(u32::from(deciwatts) * 100)
    }

    /// The larger of the two ways to read the draw.
    pub(crate) fn most_milliwatts(&self) -> Option<u32> {
        let deciwatts = read_u16(self.drawn_deciwatts).max(read_u16(self.power_deciwatts))?;
        Some(u32::from(deciwatts) * 100)
    }

    pub(crate) fn traffic_mib(&self) -> Option<u16> {
        read_u16(self.traffic_mib)
    }

    pub(crate) fn clock_megahertz(&self) -> Option<u16> {
        read_u16(self.clock_megahertz)
    }

    pub(crate) fn heat_percent(&self) -> Option<u8> {
        read_u8(self.heat)
    }

    pub(crate) fn cap_percent(&self) -> Option<u8> {
        read_u8(self.cap)
    }

    pub(crate) fn processes(&self) -> Option<u8> {
        read_u8(self.processes)
    }

    pub(crate) fn faults(&self) -> Option<u8> {
        read_u8(self.faults)
    }
}

/// One observation of a part of a divided GPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartSlot {
    pub(crate) cycle: u32,
    memory_mib: u32,
    utilization: u16,
    sm: u16,
    processes: u8,
}

impl PartSlot {
    pub(crate) const EMPTY: Self = Self {
        cycle: 0,
        memory_mib: NO_U32,
        utilization: NO_U16,
        sm: NO_U16,
        processes: NO_U8,
    };

    pub(crate) fn pack(cycle: u32, usage: &gpu_model::PartUsage) -> Self {
        Self {
            cycle,
            memory_mib: pack_u32(mib(usage.memory_used)),
            utilization: pack_u16(share(usage.utilization).map(u64::from)),
            sm: pack_u16(share(usage.sm_active).map(u64::from)),
            processes: pack_u8(usage.processes.known().map(u64::from)),
        }
    }

    pub(crate) fn memory_mib(&self) -> Option<u32> {
        (self.memory_mib != NO_U32).then_some(self.memory_mib)
    }

    pub(crate) fn utilization(&self) -> Option<u16> {
        read_u16(self.utilization)
    }

    pub(crate) fn sm(&self) -> Option<u16> {
        read_u16(self.sm)
    }

    pub(crate) fn processes(&self) -> Option<u8> {
        read_u8(self.processes)
    }
}

pub(crate) fn mib(reading: Reading<Bytes>) -> Option<u64> {
    reading.known().map(Bytes::whole_mib)
}

pub(crate) fn share(reading: Reading<Permille>) -> Option<u16> {
    reading.known().map(Permille::get)
}

fn pack_u16(value: Option<u64>) -> u16 {
    value.map_or(NO_U16, |value| {
        u16::try_from(value).unwrap_or(NO_U16).min(NO_U16 - 1)
    })
}

fn pack_u32(value: Option<u64>) -> u32 {
    value.map_or(NO_U32, |value| {
        u32::try_from(value).unwrap_or(NO_U32).min(NO_U32 - 1)
    })
}

fn pack_u8(value: Option<u64>) -> u8 {
    value.map_or(NO_U8, |value| u8::try_from(value).unwrap_or(NO_U8).min(NO_U8 - 1))
}

fn read_u16(value: u16) -> Option<u16> {
    (value != NO_U16).then_some(value)
}

fn read_u8(value: u8) -> Option<u8> {
    (value != NO_U8).then_some(value)
}

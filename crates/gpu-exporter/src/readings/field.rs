//! The closed list of numbers that one device can give, in base units. A vocabulary names them; a source fills them; the
//! range of each is what physics and the interface allow, so that a driver's nonsense is refused at the door.

/// Whether a number is of the instant or only ever grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of the instant.
    Gauge,
    /// Runs since the driver started; it may begin again at a lower value, never run backwards.
    Counter,
}

/// What is known of a field before it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldSpec {
    pub kind: Kind,
    pub lowest: f64,
    pub highest: f64,
}

impl FieldSpec {
    /// Whether a number can be true.
    pub const fn fits(&self, value: f64) -> bool {
        value.is_finite() && self.lowest <= value && value <= self.highest
    }
}

/// A terabyte of device memory is more than twice what any accelerator has.
const MEMORY: f64 = 1_099_511_627_776.0;
/// Five kilowatts: three times the largest board.
const WATTS: f64 = 5_000.0;
/// Six gigahertz and more is a misread register; memory clocks are reported per data rate.
const HERTZ: f64 = 20e9;
/// DCGM drops temperatures above 200 degrees as garbage; boards live outdoors in winter at most.
const HOTTEST: f64 = 200.0;
const COLDEST: f64 = -55.0;
/// Numbers beyond this are no longer exact in a double and hide a wrapped or uninitialised counter.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Two terabytes a second: above every link of a single GPU.
const LINK_RATE: f64 = 4e12;
/// Sixteen terabytes of host memory: more than a node of GPUs has.
const HOST_MEMORY: f64 = 16.0 * MEMORY;
/// A hundred terabytes a second: above what the memory of any board moves.
const MEMORY_RATE: f64 = 1e14;
/// Rails of a GPU carry about one volt; the board itself is fed with 54 at most.
const VOLTS: f64 = 60.0;
/// A terabit a second on one lane: five times the fastest bus there is.
const LANE_RATE: f64 = 1e12;
/// The fastest fans turn some thirty thousand times a minute.
const TURNS: f64 = 100_000.0;

macro_rules! fields {
    ($($name:ident: $kind:ident $lowest:expr, $highest:expr;)*) => {
        /// One number of a device. The unit is in the comment above its group.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Field { $($name),* }

        impl Field {
            /// Every field, in the order in which values are stored.
            pub const ALL: &'static [Field] = &[$(Field::$name),*];

            /// What is known of the field.
            pub const fn spec(self) -> FieldSpec {
                match self { $(Field::$name => FieldSpec { kind: Kind::$kind, lowest: $lowest, highest: $highest }),* }
            }
        }
    };
}

fields! {
    // Shares of time or capacity, 0 to 1.
    Utilization: Gauge 0.0, 1.0;
    MemoryBandwidthUtilization: Gauge 0.0, 1.0;
    EncoderUtilization: Gauge 0.0, 1.0;
    DecoderUtilization: Gauge 0.0, 1.0;
    JpegUtilization: Gauge 0.0, 1.0;
    OfaUtilization: Gauge 0.0, 1.0;
    // All media engines together, where a driver does not tell them apart.
    MediaUtilization: Gauge 0.0, 1.0;
    GraphicsActive: Gauge 0.0, 1.0;
    SmActive: Gauge 0.0, 1.0;
    SmOccupancy: Gauge 0.0, 1.0;
    TensorActive: Gauge 0.0, 1.0;
    DramActive: Gauge 0.0, 1.0;
    Fp64Active: Gauge 0.0, 1.0;
    Fp32Active: Gauge 0.0, 1.0;
    Fp16Active: Gauge 0.0, 1.0;
    IntegerActive: Gauge 0.0, 1.0;
    // Bytes.
    MemoryTotal: Gauge 1.0, MEMORY;
    MemoryUsed: Gauge 0.0, MEMORY;
    MemoryFree: Gauge 0.0, MEMORY;
    MemoryReserved: Gauge 0.0, MEMORY;
    Bar1Total: Gauge 0.0, MEMORY;
    Bar1Used: Gauge 0.0, MEMORY;
    Bar1Free: Gauge 0.0, MEMORY;
    // The part of device memory that the host can address, and the host's memory that the device can (GTT).
    VisibleMemoryTotal: Gauge 0.0, MEMORY;
    VisibleMemoryUsed: Gauge 0.0, MEMORY;
    HostMemoryTotal: Gauge 0.0, HOST_MEMORY;
    HostMemoryUsed: Gauge 0.0, HOST_MEMORY;
    // Bytes a second that device memory moves at most.
    MemoryBandwidthMax: Gauge 0.0, MEMORY_RATE;
    // Watts, and joules for the counter. `Power` is what the driver names first; the two others are filled only where it says
    // which of them it is.
    Power: Gauge 0.0, WATTS;
    PowerInstant: Gauge 0.0, WATTS;
    PowerAverage: Gauge 0.0, WATTS;
    PowerLimit: Gauge 0.0, WATTS;
    PowerLimitManagement: Gauge 0.0, WATTS;
    PowerLimitDefault: Gauge 0.0, WATTS;
    PowerLimitMin: Gauge 0.0, WATTS;
    PowerLimitMax: Gauge 0.0, WATTS;
    Energy: Counter 0.0, EXACT;
    // Degrees Celsius. A margin may be negative: the limit is then exceeded. `Temperature` is the chip's first sensor: on AMD
    // that of the edge, or the hottest spot (junction) where there is no other.
    Temperature: Gauge COLDEST, HOTTEST;
    EdgeTemperature: Gauge COLDEST, HOTTEST;
    HotspotTemperature: Gauge COLDEST, HOTTEST;
    GraphicsRegulatorTemperature: Gauge COLDEST, HOTTEST;
    SocRegulatorTemperature: Gauge COLDEST, HOTTEST;
    MemoryRegulatorTemperature: Gauge COLDEST, HOTTEST;
    MemoryTemperature: Gauge COLDEST, HOTTEST;
    TemperatureMargin: Gauge -HOTTEST, HOTTEST;
    TemperatureSlowdown: Gauge COLDEST, HOTTEST;
    TemperatureShutdown: Gauge COLDEST, HOTTEST;
    TemperatureMaxOperating: Gauge COLDEST, HOTTEST;
    MemoryTemperatureMaxOperating: Gauge COLDEST, HOTTEST;
    // Hertz.
    SmClock: Gauge 0.0, HERTZ;
    GraphicsClock: Gauge 0.0, HERTZ;
    MemoryClock: Gauge 0.0, HERTZ;
    VideoClock: Gauge 0.0, HERTZ;
    SmClockMax: Gauge 0.0, HERTZ;
    GraphicsClockMax: Gauge 0.0, HERTZ;
    MemoryClockMax: Gauge 0.0, HERTZ;
    VideoClockMax: Gauge 0.0, HERTZ;
    SocClock: Gauge 0.0, HERTZ;
    FabricClock: Gauge 0.0, HERTZ;
    DecoderClock: Gauge 0.0, HERTZ;
    SocClockMax: Gauge 0.0, HERTZ;
    FabricClockMax: Gauge 0.0, HERTZ;
    DecoderClockMax: Gauge 0.0, HERTZ;
    GraphicsClockMin: Gauge 0.0, HERTZ;
    MemoryClockMin: Gauge 0.0, HERTZ;
    VideoClockMin: Gauge 0.0, HERTZ;
    SocClockMin: Gauge 0.0, HERTZ;
    FabricClockMin: Gauge 0.0, HERTZ;
    DecoderClockMin: Gauge 0.0, HERTZ;
    // Volts by rail.
    GraphicsVoltage: Gauge 0.0, VOLTS;
    SocVoltage: Gauge 0.0, VOLTS;
    MemoryVoltage: Gauge 0.0, VOLTS;
    // Turns a minute, and the share of what the fan can do.
    FanSpeed: Gauge 0.0, TURNS;
    FanDuty: Gauge 0.0, 1.0;
    // A state from 0 (fastest) to 15.
    PerformanceState: Gauge 0.0, 15.0;
    // Counts of the bus, and bytes a second of its two directions.
    PcieReplays: Counter 0.0, EXACT;
    PcieReplayRollovers: Counter 0.0, EXACT;
    PcieRecoveries: Counter 0.0, EXACT;
    PcieOtherEndRecoveries: Counter 0.0, EXACT;
    PcieNaksSent: Counter 0.0, EXACT;
    PcieNaksReceived: Counter 0.0, EXACT;
    PcieLinkGeneration: Gauge 0.0, 16.0;
    PcieLinkGenerationMax: Gauge 0.0, 16.0;
    PcieLinkWidth: Gauge 0.0, 64.0;
    PcieLinkWidthMax: Gauge 0.0, 64.0;
    // Transfers a second on a lane: 32e9 is the 32 GT/s of generation 5.
    PcieLinkSpeed: Gauge 0.0, LANE_RATE;
    PcieLinkSpeedMax: Gauge 0.0, LANE_RATE;
    // Bytes a second in both directions together, where the driver does not tell them apart.
    PcieBandwidth: Gauge 0.0, LINK_RATE;
    // The sum of such rates over the driver's own ticks, in GB a second: only differences mean anything.
    PcieBandwidthAccumulated: Counter 0.0, EXACT;
    PcieSentRate: Gauge 0.0, LINK_RATE;
    PcieReceivedRate: Gauge 0.0, LINK_RATE;
    // The same over some milliseconds out of half a minute: a glimpse, never to be summed up.
    PcieSentSample: Gauge 0.0, LINK_RATE;
    PcieReceivedSample: Gauge 0.0, LINK_RATE;
    // Bytes over all links between GPUs, and the rates where only rates are given.
    LinkSentBytes: Counter 0.0, EXACT;
    LinkReceivedBytes: Counter 0.0, EXACT;
    LinkSentRate: Gauge 0.0, LINK_RATE;
    LinkReceivedRate: Gauge 0.0, LINK_RATE;
    // Lanes of a link between GPUs, and bits a second on one of them.
    LinkWidth: Gauge 0.0, 1_024.0;
    LinkSpeed: Gauge 0.0, LANE_RATE;
    // Memory errors, pages and rows.
    EccCorrectedVolatile: Counter 0.0, EXACT;
    EccUncorrectedVolatile: Counter 0.0, EXACT;
    // Found bad and set aside, not yet consumed.
    EccDeferredVolatile: Counter 0.0, EXACT;
    EccCorrectedAggregate: Counter 0.0, EXACT;
    EccUncorrectedAggregate: Counter 0.0, EXACT;
    RemappedRowsCorrectable: Counter 0.0, EXACT;
    RemappedRowsUncorrectable: Counter 0.0, EXACT;
    RowRemapPending: Gauge 0.0, 1.0;
    RowRemapFailure: Gauge 0.0, 1.0;
    RetiredPagesSingleBit: Counter 0.0, EXACT;
    RetiredPagesDoubleBit: Counter 0.0, EXACT;
    RetiredPagesPending: Gauge 0.0, 1.0;
    // Pages by what became of them, where the driver does not tell why they went bad.
    BadPagesRetired: Gauge 0.0, EXACT;
    BadPagesPending: Gauge 0.0, EXACT;
    BadPagesUnreservable: Gauge 0.0, EXACT;
    // Seconds below the clocks asked for, by the policy that held them down.
    ViolationPower: Counter 0.0, EXACT;
    ViolationThermal: Counter 0.0, EXACT;
    ViolationSyncBoost: Counter 0.0, EXACT;
    ViolationBoardLimit: Counter 0.0, EXACT;
    ViolationLowUtilization: Counter 0.0, EXACT;
    ViolationReliability: Counter 0.0, EXACT;
    ViolationAppClocks: Counter 0.0, EXACT;
    ViolationBaseClocks: Counter 0.0, EXACT;
    // Ticks of the firmware, about a thousand a second, and how many of them each limit held the clocks down. Only differences
    // mean anything: idle boards are known to show sums that say they were throttled all their lives.
    LimitTicks: Counter 0.0, EXACT;
    LimitTicksProchot: Counter 0.0, EXACT;
    LimitTicksPower: Counter 0.0, EXACT;
    LimitTicksThermal: Counter 0.0, EXACT;
    LimitTicksRegulator: Counter 0.0, EXACT;
    LimitTicksMemory: Counter 0.0, EXACT;
    // The same as shares of the time between the last two readings.
    LimitShareProchot: Gauge 0.0, 1.0;
    LimitSharePower: Gauge 0.0, 1.0;
    LimitShareThermal: Gauge 0.0, 1.0;
    LimitShareRegulator: Gauge 0.0, 1.0;
    LimitShareMemory: Gauge 0.0, 1.0;
    // Utilisation summed over the firmware's ticks, in percent: only differences mean anything.
    UtilizationAccumulated: Counter 0.0, EXACT;
    MemoryUtilizationAccumulated: Counter 0.0, EXACT;
    // States as the driver numbers them.
    FabricState: Gauge 0.0, 255.0;
    FabricStatus: Gauge 0.0, 4_294_967_295.0;
    FabricHealthMask: Gauge 0.0, 4_294_967_295.0;
    VgpuLicensed: Gauge 0.0, 1.0;
    MigEnabled: Gauge 0.0, 1.0;
}

impl Field {
    pub const COUNT: usize = Self::ALL.len();

    pub(super) const fn slot(self) -> usize {
        self as usize
    }
}

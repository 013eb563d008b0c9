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
    // Watts, and joules for the counter.
    Power: Gauge 0.0, WATTS;
    PowerInstant: Gauge 0.0, WATTS;
    PowerLimit: Gauge 0.0, WATTS;
    PowerLimitManagement: Gauge 0.0, WATTS;
    PowerLimitDefault: Gauge 0.0, WATTS;
    PowerLimitMin: Gauge 0.0, WATTS;
    PowerLimitMax: Gauge 0.0, WATTS;
    Energy: Counter 0.0, EXACT;
    // Degrees Celsius. A margin may be negative: the limit is then exceeded.
    Temperature: Gauge COLDEST, HOTTEST;
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
    // A state from 0 (fastest) to 15.
    PerformanceState: Gauge 0.0, 15.0;
    // Counts of the bus, and bytes a second of its two directions.
    PcieReplays: Counter 0.0, EXACT;
    PcieLinkGeneration: Gauge 0.0, 16.0;
    PcieLinkGenerationMax: Gauge 0.0, 16.0;
    PcieLinkWidth: Gauge 0.0, 64.0;
    PcieLinkWidthMax: Gauge 0.0, 64.0;
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
    // Memory errors, pages and rows.
    EccCorrectedVolatile: Counter 0.0, EXACT;
    EccUncorrectedVolatile: Counter 0.0, EXACT;
    EccCorrectedAggregate: Counter 0.0, EXACT;
    EccUncorrectedAggregate: Counter 0.0, EXACT;
    RemappedRowsCorrectable: Counter 0.0, EXACT;
    RemappedRowsUncorrectable: Counter 0.0, EXACT;
    RowRemapPending: Gauge 0.0, 1.0;
    RowRemapFailure: Gauge 0.0, 1.0;
    RetiredPagesSingleBit: Counter 0.0, EXACT;
    RetiredPagesDoubleBit: Counter 0.0, EXACT;
    RetiredPagesPending: Gauge 0.0, 1.0;
    // Seconds below the clocks asked for, by the policy that held them down.
    ViolationPower: Counter 0.0, EXACT;
    ViolationThermal: Counter 0.0, EXACT;
    ViolationSyncBoost: Counter 0.0, EXACT;
    ViolationBoardLimit: Counter 0.0, EXACT;
    ViolationLowUtilization: Counter 0.0, EXACT;
    ViolationReliability: Counter 0.0, EXACT;
    ViolationAppClocks: Counter 0.0, EXACT;
    ViolationBaseClocks: Counter 0.0, EXACT;
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

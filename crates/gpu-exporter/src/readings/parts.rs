//! Numbers of which a device has several: one a memory stack, compute die or media engine. A short list of what was read, so
//! that devices without such parts carry nothing.

use gpu_model::Reading;

use super::field::{FieldSpec, Kind};
use super::values::Accepted;

/// Eight partitions of eight dies with six numbers each, their engines and clocks: what the largest table has. It bounds what
/// a broken one can make us keep.
const MOST: usize = 1_024;

macro_rules! part_fields {
    ($($(#[$doc:meta])* $name:ident: $kind:ident $lowest:expr, $highest:expr;)*) => {
        /// What is read of each part. The number of the part counts from 0 within the device or slice.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum PartField { $($(#[$doc])* $name),* }

        impl PartField {
            pub const ALL: &'static [PartField] = &[$(PartField::$name),*];

            /// What is known of the field.
            pub const fn spec(self) -> FieldSpec {
                match self {
                    $(PartField::$name => FieldSpec { kind: Kind::$kind, lowest: $lowest, highest: $highest }),*
                }
            }
        }
    };
}

/// Beyond this a double is no longer exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

part_fields! {
    /// Degrees Celsius of a stack of high-bandwidth memory.
    StackTemperature: Gauge -55.0, 200.0;
    /// Hertz of a compute die (XCC).
    GraphicsClock: Gauge 0.0, 20e9;
    /// Hertz.
    SocClock: Gauge 0.0, 20e9;
    /// Hertz of a video engine's first clock (VCLK).
    VideoClock: Gauge 0.0, 20e9;
    /// Hertz of a video engine's second clock (DCLK).
    DecoderClock: Gauge 0.0, 20e9;
    /// Share of the instant in which a compute die (XCC) worked.
    GraphicsBusy: Gauge 0.0, 1.0;
    /// The same summed over the firmware's ticks, in percent: only differences mean anything.
    GraphicsBusyAccumulated: Counter 0.0, EXACT;
    /// Share of the instant in which a video engine (VCN) worked.
    VideoBusy: Gauge 0.0, 1.0;
    /// Share of the instant in which a JPEG engine worked.
    JpegBusy: Gauge 0.0, 1.0;
    /// Share of the last second or so in which a video engine worked, of tables that average.
    VideoActivity: Gauge 0.0, 1.0;
    /// The same of a JPEG engine.
    JpegActivity: Gauge 0.0, 1.0;
    /// Firmware ticks in which a compute die ran below the host's limit because of power.
    BelowLimitTicksPower: Counter 0.0, EXACT;
    /// The same because of heat.
    BelowLimitTicksThermal: Counter 0.0, EXACT;
    /// The same for any reason.
    BelowLimitTicksTotal: Counter 0.0, EXACT;
    /// Firmware ticks in which a compute die ran below the limit for want of work.
    LowUtilizationTicks: Counter 0.0, EXACT;
    /// The four above as shares of the time between the last two readings.
    BelowLimitSharePower: Gauge 0.0, 1.0;
    BelowLimitShareThermal: Gauge 0.0, 1.0;
    BelowLimitShareTotal: Gauge 0.0, 1.0;
    LowUtilizationShare: Gauge 0.0, 1.0;
}

/// One number of one part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartReading {
    pub field: PartField,
    pub index: u16,
    pub value: f64,
}

/// The numbers of a device's or slice's parts, as they were read. What was not read is not in the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts(Vec<PartReading>);

impl Parts {
    /// Forgets all and keeps the room.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes a number over, unless it cannot be true or there are more than a device can have.
    pub fn push(&mut self, field: PartField, index: u16, reading: Reading<f64>) -> Accepted {
        let Reading::Known(value) = reading else {
            return Accepted::Yes;
        };
        if !field.spec().fits(value) || self.0.len() == MOST {
            return Accepted::OutOfRange;
        }
        self.0.push(PartReading { field, index, value });
        Accepted::Yes
    }

    /// What was read of one field, in the order in which it was read, each part once.
    pub fn of(&self, field: PartField) -> impl Iterator<Item = (u16, f64)> + '_ {
        let is_first = move |at: usize| {
            let one = &self.0[at];
            !self.0[..at]
                .iter()
                .any(|earlier| (earlier.field, earlier.index) == (one.field, one.index))
        };
        let all = self
            .0
            .iter()
            .enumerate()
            .filter(move |(_, part)| part.field == field);
        all.filter(move |(at, _)| is_first(*at))
            .map(|(_, part)| (part.index, part.value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

//! Many values in one call. A batch is made once and asked again and again without allocating.

use nvml_wrapper_sys::bindings::nvmlFieldValue_t;

use crate::device::Device;
use crate::fault::{Answer, Fault};
use crate::nvml::DriverVersion;
use crate::raw;

/// From here on the ids 251 to 273 mean other values than before.
const RENUMBERED_AT: DriverVersion = DriverVersion {
    branch: 580,
    release: 82,
};

/// Asks for the sum over all links.
pub const ALL_LINKS: u32 = u32::MAX;

/// Values that the driver gives by number. Times are nanoseconds, powers milliwatts, energy millijoules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    EccCorrectedVolatile,
    EccUncorrectedVolatile,
    EccCorrectedAggregate,
    EccUncorrectedAggregate,
    RetiredSingleBit,
    RetiredDoubleBit,
    RetiredPending,
    /// Time held down by the power cap; the same as the clock event reason `sw_power_cap`.
    ThrottledByPower,
    ThrottledByThermal,
    /// The same as the clock event reason `sync_boost`.
    ThrottledBySyncBoost,
    ThrottledByBoardLimit,
    ThrottledByLowUtilization,
    ThrottledByReliability,
    ThrottledAppClocks,
    ThrottledBaseClocks,
    MemoryTemperature,
    Energy,
    LinkCount,
    PcieReplays,
    /// KiB of a link, or of all.
    LinkSent,
    LinkReceived,
    RemappedCorrectable,
    RemappedUncorrectable,
    RemappedPending,
    RemappedFailure,
    /// Hopper and newer, of a link.
    LinkReplayErrors,
    LinkRecoveryErrors,
    LinkCrcErrors,
    PowerAverage,
    PowerInstant,
    /// Bytes, Hopper and newer.
    PcieSent,
    PcieReceived,
    RecoveryAction,
    ReasonSoftwareThermal,
    ReasonHardwareThermal,
    ReasonHardwarePowerBrake,
}

/// A field and, for links, which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldQuery {
    pub field: Field,
    pub scope: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldValue {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

/// Questions in a fixed order, and the last answers to them.
pub struct FieldBatch {
    values: Vec<nvmlFieldValue_t>,
}

impl Field {
    /// The number under a driver.
    pub fn id(self, driver: DriverVersion) -> u32 {
        let shift = if driver >= RENUMBERED_AT { 18 } else { 0 };
        match self {
            Field::EccCorrectedVolatile => 3,
            Field::EccUncorrectedVolatile => 4,
            Field::EccCorrectedAggregate => 5,
            Field::EccUncorrectedAggregate => 6,
            Field::RetiredSingleBit => 29,
            Field::RetiredDoubleBit => 30,
            Field::RetiredPending => 31,
            Field::ThrottledByPower => 74,
            Field::ThrottledByThermal => 75,
            Field::ThrottledBySyncBoost => 76,
            Field::ThrottledByBoardLimit => 77,
            Field::ThrottledByLowUtilization => 78,
            Field::ThrottledByReliability => 79,
            Field::ThrottledAppClocks => 80,
            Field::ThrottledBaseClocks => 81,
            Field::MemoryTemperature => 82,
            Field::Energy => 83,
            Field::LinkCount => 91,
            Field::PcieReplays => 94,
            Field::LinkSent => 138,
            Field::LinkReceived => 139,
            Field::RemappedCorrectable => 142,
            Field::RemappedUncorrectable => 143,
            Field::RemappedPending => 144,
            Field::RemappedFailure => 145,
            Field::LinkReplayErrors => 161,
            Field::LinkRecoveryErrors => 162,
            Field::LinkCrcErrors => 163,
            Field::PowerAverage => 185,
            Field::PowerInstant => 186,
            Field::PcieSent => 197,
            Field::PcieReceived => 198,
            Field::RecoveryAction => 230,
            Field::ReasonSoftwareThermal => 251 + shift,
            Field::ReasonHardwareThermal => 252 + shift,
            Field::ReasonHardwarePowerBrake => 253 + shift,
        }
    }
}

impl From<Field> for FieldQuery {
    fn from(field: Field) -> FieldQuery {
        FieldQuery { field, scope: 0 }
    }
}

impl FieldValue {
    /// A count, an amount or a time, none of which is negative or broken.
    pub fn unsigned(self) -> Answer<u64> {
        match self {
            FieldValue::Unsigned(value) => Ok(value),
            FieldValue::Signed(value) => u64::try_from(value).map_err(|_| Fault::Implausible),
            FieldValue::Float(_) => Err(Fault::Implausible),
        }
    }
}

impl FieldBatch {
    pub fn new(driver: DriverVersion, queries: &[FieldQuery]) -> FieldBatch {
        let values = queries
            .iter()
            .map(|query| raw::field_value(query.field.id(driver), query.scope))
            .collect();
        FieldBatch { values }
    }

    /// The last answer to the question at `place`.
    pub fn get(&self, place: usize) -> Answer<FieldValue> {
        raw::field_answer(self.values.get(place).ok_or(Fault::NotFound)?)
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Device {
    /// Asks a whole batch in one call. On a fault the batch holds no answers.
    pub fn read_fields(&self, batch: &mut FieldBatch) -> Answer<()> {
        for value in &mut batch.values {
            *value = raw::field_value(value.fieldId, value.scopeId);
        }
        self.handle.fields(&mut batch.values)
    }

    /// One field by itself.
    pub fn field(&self, query: impl Into<FieldQuery>) -> Answer<FieldValue> {
        let query = query.into();
        let mut values = [raw::field_value(query.field.id(self.driver), query.scope)];
        self.handle.fields(&mut values)?;
        raw::field_answer(&values[0])
    }
}

#[cfg(test)]
mod tests;

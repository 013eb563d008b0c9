//! From a measure of the catalogue to a number of a snapshot, or none. What was not read, or is withheld, has no number.

use gpu_model::Reading;

use super::catalog::Measure;
use crate::readings::{Field, Values};
use crate::snapshot::{DeviceSnapshot, Restriction};

/// The number of the whole device, in base units.
pub(super) fn of_device(measure: Measure, device: &DeviceSnapshot) -> Option<f64> {
    let totals = &device.totals;
    let seconds = |times: &[Reading<f64>], reason| times.get(reason as usize)?.known();
    match measure {
        Measure::Busy if is_utilization_withheld(device) => None,
        Measure::Busy => totals.busy_seconds.known(),
        Measure::Energy => totals.energy_joules.known(),
        Measure::PcieSent => totals.pcie_sent_bytes.known(),
        Measure::PcieReceived => totals.pcie_received_bytes.known(),
        Measure::Throttle(reason) => seconds(&totals.throttle_seconds, reason),
        Measure::DriverThrottle(reason) => seconds(&device.readings.throttle_seconds, reason),
        Measure::Throttled(reason) => device
            .readings
            .throttled
            .known()
            .and_then(|set| set.judgement(reason))
            .map(|holds| f64::from(u8::from(holds))),
        Measure::Field(_) | Measure::Share(..) | Measure::Both(..) | Measure::Left(..) => {
            of_values(measure, &device.readings.values, device)
        }
    }
}

/// The number of a part that has values of its own. Only fields are read per part.
pub(super) fn of_values(measure: Measure, values: &Values, device: &DeviceSnapshot) -> Option<f64> {
    let read = |field| {
        if is_withheld(field, device) {
            None
        } else {
            values.known(field)
        }
    };
    match measure {
        Measure::Field(field) => read(field),
        Measure::Share(part, whole) => {
            let (part, whole) = (read(part)?, read(whole)?);
            (whole > 0.0).then(|| part / whole)
        }
        Measure::Both(one, other) => Some(read(one)? + read(other)?),
        // The two are read one after the other: in between, a little more may have been taken than there was.
        Measure::Left(whole, taken) => Some((read(whole)? - read(taken)?).max(0.0)),
        _ => None,
    }
}

/// Both numbers come from the same counter of the driver, so what pins one pins the other.
fn is_withheld(field: Field, device: &DeviceSnapshot) -> bool {
    matches!(field, Field::Utilization | Field::MemoryBandwidthUtilization) && is_utilization_withheld(device)
}

pub(super) fn is_utilization_withheld(device: &DeviceSnapshot) -> bool {
    match device.restricted {
        Some(Restriction::UtilizationPinnedAtZero) => true,
        None => false,
    }
}

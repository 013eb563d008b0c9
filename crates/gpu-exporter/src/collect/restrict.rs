//! Signals that contradict each other. Some clouds pin the utilisation of a shared GPU at 0 while it works; publishing that 0
//! would call a busy GPU idle, so the value is withheld and the reason is shown.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gpu_model::GpuModel;

use crate::readings::{DeviceReadings, Field};
use crate::snapshot::{Identity, Restriction};

/// A GPU between two kernels also reads 0 at full clocks; half a minute without a single busy sample while the board draws
/// far more than when idle is not that.
const SUSPICIOUS_FOR: Duration = Duration::from_secs(30);
/// An idle board with a context open draws up to a third more than its idle power; twice is work.
const WORKING_OVER_IDLE: f64 = 2.0;
/// Where the model is unknown: idle boards stay below a quarter of their limit.
const WORKING_OF_LIMIT: f64 = 0.4;

/// Since when each device contradicts itself.
#[derive(Debug, Default)]
pub(super) struct Suspicions {
    since: BTreeMap<String, Instant>,
}

impl Suspicions {
    /// Judges one device after a sample.
    pub(super) fn judge(
        &mut self,
        identity: &Identity,
        readings: &DeviceReadings,
        sampled_at: Option<Instant>,
        now: Instant,
    ) -> Option<Restriction> {
        let fresh = sampled_at.is_some_and(|at| now.saturating_duration_since(at) < SUSPICIOUS_FOR);
        if !fresh || !contradicts(&identity.model, readings) {
            self.since.remove(&identity.uuid);
            return None;
        }
        let since = *self.since.entry(identity.uuid.clone()).or_insert(now);
        (now.saturating_duration_since(since) >= SUSPICIOUS_FOR)
            .then_some(Restriction::UtilizationPinnedAtZero)
    }
}

/// No kernel ran, it says, yet processes hold memory and the board draws the power of work.
fn contradicts(model: &str, readings: &DeviceReadings) -> bool {
    let values = &readings.values;
    let pinned = values.known(Field::Utilization) == Some(0.0);
    let held = readings
        .processes
        .as_ref()
        .known()
        .is_some_and(|processes| !processes.is_empty());
    pinned && held && draws_power_of_work(model, readings)
}

fn draws_power_of_work(model: &str, readings: &DeviceReadings) -> bool {
    let Some(power) = readings.values.known(Field::Power) else {
        return false;
    };
    if let Some(known) = GpuModel::find(model) {
        return power * 1000.0 > known.idle.0 as f64 * WORKING_OVER_IDLE;
    }
    readings
        .values
        .known(Field::PowerLimit)
        .is_some_and(|limit| power > limit * WORKING_OF_LIMIT)
}

#[cfg(test)]
mod tests {
    //! A busy board that reads 0 is suspect after half a minute; an idle or unknown one never is.

    use std::time::{Duration, Instant};

    use gpu_model::{Reading, Vendor};

    use super::{SUSPICIOUS_FOR, Suspicions};
    use crate::readings::{DeviceReadings, Field, ProcessReading};
    use crate::snapshot::{Board, Identity, Restriction};

    fn readings(utilization: Reading<f64>, watts: f64, processes: usize) -> DeviceReadings {
        let process = ProcessReading {
            pid: 1,
            slice: None,
            memory_bytes: Reading::Unsupported,
            utilization: Reading::Unsupported,
        };
        let mut readings = DeviceReadings {
            processes: Reading::Known(vec![process; processes]),
            ..Default::default()
        };
        readings.set(Field::Utilization, utilization);
        readings.set(Field::Power, Reading::Known(watts));
        readings
    }

    #[track_caller]
    fn check(readings: &DeviceReadings, after: Duration, expected: Option<Restriction>) {
        let identity = Identity {
            vendor: Vendor::Nvidia,
            index: 0,
            minor: None,
            uuid: "GPU-0".to_owned(),
            model: "Tesla T4".to_owned(),
            pci_bus_id: String::new(),
            serial: None,
            vbios: None,
            driver_version: String::new(),
            architecture: None,
            board: Board::default(),
        };
        let start = Instant::now();
        let mut suspicions = Suspicions::default();
        assert_eq!(suspicions.judge(&identity, readings, Some(start), start), None);
        let later = start + after;
        assert_eq!(
            suspicions.judge(&identity, readings, Some(later), later),
            expected
        );
    }

    #[test]
    fn only_a_lasting_contradiction_withholds_the_value() {
        let pinned = Some(Restriction::UtilizationPinnedAtZero);
        check(&readings(Reading::Known(0.0), 60.0, 1), SUSPICIOUS_FOR, pinned);
        check(
            &readings(Reading::Known(0.0), 60.0, 1),
            Duration::from_secs(5),
            None,
        );
        check(&readings(Reading::Known(0.0), 60.0, 0), SUSPICIOUS_FOR, None);
        check(&readings(Reading::Known(0.0), 11.0, 1), SUSPICIOUS_FOR, None);
        check(&readings(Reading::Known(0.3), 60.0, 1), SUSPICIOUS_FOR, None);
        check(&readings(Reading::Unsupported, 60.0, 1), SUSPICIOUS_FOR, None);
    }
}

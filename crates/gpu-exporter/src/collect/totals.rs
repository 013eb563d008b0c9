//! Sums over time that the exporter keeps itself: a busy second between two scrapes is not lost. Pure; time comes in.

use std::time::Duration;

use gpu_model::Reading;

use crate::readings::{DeviceReadings, Field, ThrottleReason};
use crate::snapshot::Totals;

/// A gap longer than this was not observed and is not filled in: the sum then stays behind the truth, and the age metric
/// says so. Ten seconds ride out a slow driver at the default interval.
const LONGEST_GAP: Duration = Duration::from_secs(10);

/// Adds one sample, `elapsed` after the one before it; `None` for the first.
pub(super) fn add(totals: &mut Totals, readings: &DeviceReadings, elapsed: Option<Duration>) {
    let seconds = elapsed
        .filter(|gap| *gap <= LONGEST_GAP)
        .map_or(0.0, |gap| gap.as_secs_f64());
    let values = &readings.values;
    integrate(&mut totals.busy_seconds, values.get(Field::Utilization), seconds);
    match values.get(Field::Energy) {
        Reading::Unsupported => integrate(&mut totals.energy_joules, values.get(Field::Power), seconds),
        counter => totals.energy_joules = keep_last(totals.energy_joules, counter),
    }
    integrate(
        &mut totals.pcie_sent_bytes,
        values.get(Field::PcieSentRate),
        seconds,
    );
    integrate(
        &mut totals.pcie_received_bytes,
        values.get(Field::PcieReceivedRate),
        seconds,
    );
    for (slot, reason) in ThrottleReason::ALL.into_iter().enumerate() {
        let total = &mut totals.throttle_seconds[slot];
        match readings.throttle_seconds[slot] {
            Reading::Unsupported => {
                let held = readings.throttled.and_then(|set| match set.judgement(reason) {
                    Some(true) => Reading::Known(1.0),
                    Some(false) => Reading::Known(0.0),
                    None => Reading::Unsupported,
                });
                integrate(total, held, seconds);
            }
            counter => *total = keep_last(*total, counter),
        }
    }
}

/// A sum exists from the first known sample on, and a sample that failed adds nothing to it.
fn integrate(total: &mut Reading<f64>, rate: Reading<f64>, seconds: f64) {
    *total = match (*total, rate) {
        (Reading::Known(sum), Reading::Known(rate)) => Reading::Known(sum + rate * seconds),
        (Reading::Known(sum), _) => Reading::Known(sum),
        (_, Reading::Known(_)) => Reading::Known(0.0),
        (Reading::Failed, _) | (_, Reading::Failed) => Reading::Failed,
        (Reading::Unsupported, Reading::Unsupported) => Reading::Unsupported,
    };
}

/// A counter of the driver that could not be read once is still what it was.
pub(super) fn keep_last(before: Reading<f64>, now: Reading<f64>) -> Reading<f64> {
    match (before, now) {
        (Reading::Known(value), Reading::Failed) => Reading::Known(value),
        (_, now) => now,
    }
}

#[cfg(test)]
mod tests {
    //! What is summed, what is passed through, and what is left out.

    use std::time::Duration;

    use gpu_model::Reading;

    use super::add;
    use crate::readings::{DeviceReadings, Field, ThrottleReason, ThrottleSet};
    use crate::snapshot::Totals;

    fn sample(field: Field, value: Reading<f64>) -> DeviceReadings {
        let mut readings = DeviceReadings::default();
        readings.set(field, value);
        readings
    }

    #[track_caller]
    fn check(samples: &[(u64, Reading<f64>)], expected: Reading<f64>) {
        let mut totals = Totals::default();
        for (index, (seconds, value)) in samples.iter().enumerate() {
            let elapsed = (index > 0).then(|| Duration::from_secs(*seconds));
            add(&mut totals, &sample(Field::Utilization, *value), elapsed);
        }
        assert_eq!(totals.busy_seconds, expected);
    }

    #[test]
    fn utilisation_becomes_busy_seconds() {
        check(
            &[
                (0, Reading::Known(0.5)),
                (1, Reading::Known(0.5)),
                (2, Reading::Known(1.0)),
            ],
            Reading::Known(2.5),
        );
    }

    #[test]
    fn what_was_not_measured_adds_nothing() {
        check(
            &[(0, Reading::Unsupported), (1, Reading::Unsupported)],
            Reading::Unsupported,
        );
        check(&[(0, Reading::Failed)], Reading::Failed);
        check(
            &[
                (0, Reading::Known(1.0)),
                (1, Reading::Failed),
                (1, Reading::Known(1.0)),
            ],
            Reading::Known(1.0),
        );
        check(
            &[(0, Reading::Known(1.0)), (3600, Reading::Known(1.0))],
            Reading::Known(0.0),
        );
    }

    #[test]
    fn the_drivers_energy_counter_wins_over_integrated_power() {
        let mut totals = Totals::default();
        let mut readings = sample(Field::Power, Reading::Known(100.0));
        add(&mut totals, &readings, None);
        add(&mut totals, &readings, Some(Duration::from_secs(2)));
        assert_eq!(totals.energy_joules, Reading::Known(200.0));
        readings.set(Field::Energy, Reading::Known(7.0));
        add(&mut totals, &readings, Some(Duration::from_secs(2)));
        assert_eq!(totals.energy_joules, Reading::Known(7.0));
        readings.set(Field::Energy, Reading::Failed);
        add(&mut totals, &readings, Some(Duration::from_secs(2)));
        assert_eq!(totals.energy_joules, Reading::Known(7.0));
    }

    #[test]
    fn reasons_become_time() {
        let mut totals = Totals::default();
        let mut set = ThrottleSet::default();
        set.insert(ThrottleReason::PowerCap);
        let readings = DeviceReadings {
            throttled: Reading::Known(set),
            ..DeviceReadings::default()
        };
        add(&mut totals, &readings, None);
        add(&mut totals, &readings, Some(Duration::from_secs(3)));
        let power_cap = ThrottleReason::ALL
            .iter()
            .position(|reason| *reason == ThrottleReason::PowerCap)
            .unwrap();
        assert_eq!(totals.throttle_seconds[power_cap], Reading::Known(3.0));
        assert_eq!(totals.throttle_seconds[0], Reading::Known(0.0));
    }
}

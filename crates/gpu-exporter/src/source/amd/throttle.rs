//! What holds the clocks down: from the status bits of older tables, and from the growth of the counters of newer ones.

use gpu_model::Reading;

use super::fill::put;
use super::growth::{Held, Ticks};
use super::tables::{Metrics, Throttler};
use crate::readings::{DeviceReadings, Field, ThrottleReason, ThrottleSet};

/// What status bits can tell.
const BY_BITS: [ThrottleReason; 6] = [
    ThrottleReason::HardwareSlowdown,
    ThrottleReason::HardwareThermal,
    ThrottleReason::MemoryThermal,
    ThrottleReason::PowerCap,
    ThrottleReason::ProcessorHot,
    ThrottleReason::RegulatorThermal,
];

/// The counted reasons, in the order of [`Throttling::held`], with the field of their share.
const COUNTED: [(ThrottleReason, Field); 5] = [
    (ThrottleReason::ProcessorHot, Field::LimitShareProchot),
    (ThrottleReason::PowerCap, Field::LimitSharePower),
    (ThrottleReason::HardwareThermal, Field::LimitShareThermal),
    (ThrottleReason::RegulatorThermal, Field::LimitShareRegulator),
    (ThrottleReason::MemoryThermal, Field::LimitShareMemory),
];

/// The counters of one device from table to table.
#[derive(Debug, Default)]
pub(super) struct Throttling {
    ticks: Ticks,
    held: [Held; COUNTED.len()],
}

impl Throttling {
    /// Takes one table over, `seconds` after the one before; returns how many ticks of the firmware passed between them.
    pub(super) fn update(&mut self, table: &Metrics, seconds: f64, into: &mut DeviceReadings) -> Option<u64> {
        let ticks = self.ticks.pass(table.accumulation_counter);
        let residency = &table.residency;
        let counted = |counter: Option<u64>| counter.filter(|_| !mirrors(table));
        let counters = [
            residency.prochot,
            counted(residency.package_power),
            counted(residency.socket_thermal),
            residency.vr_thermal,
            counted(residency.hbm_thermal),
        ];
        let by_bits = table.throttlers();
        // Room for all of them; the rest repeats a reason that is judged anyway.
        let mut judged = [ThrottleReason::PowerCap; COUNTED.len()];
        let mut count = 0;
        for ((held, counter), (reason, field)) in self.held.iter_mut().zip(counters).zip(COUNTED) {
            held.update(counter, ticks, seconds);
            put(into, field, held.share());
            into.throttle_seconds[reason as usize] = match held.seconds() {
                Some(seconds) => Reading::Known(seconds),
                None => Reading::Unsupported,
            };
            if held.share().is_some() {
                judged[count] = reason;
                count += 1;
            }
        }
        into.throttled = match (by_bits, count) {
            (Some(bits), _) => {
                let mut set = ThrottleSet::judging(&BY_BITS);
                bits.iter().for_each(|throttler| set.insert(reason(throttler)));
                Reading::Known(set)
            }
            (None, 0) => Reading::Unsupported,
            (None, _) => Reading::Known(self.holding(ThrottleSet::judging(&judged[..count]))),
        };
        ticks
    }

    fn holding(&self, mut set: ThrottleSet) -> ThrottleSet {
        for (held, (reason, _)) in self.held.iter().zip(COUNTED) {
            if held.share().is_some_and(|share| share > 0.0) {
                set.insert(reason);
            }
        }
        set
    }
}

/// Drivers are known whose counters of power and heat are copies of the tick counter, on boards that idle: nothing was counted.
fn mirrors(table: &Metrics) -> bool {
    let residency = &table.residency;
    let counters = [
        residency.package_power,
        residency.socket_thermal,
        residency.hbm_thermal,
    ];
    table.accumulation_counter.is_some_and(|ticks| ticks > 0)
        && counters
            .iter()
            .all(|counter| *counter == table.accumulation_counter)
}

fn reason(throttler: Throttler) -> ThrottleReason {
    match throttler {
        Throttler::Prochot => ThrottleReason::ProcessorHot,
        // A limit on current is one on power for whoever asks why the clocks are low.
        Throttler::PackagePower | Throttler::Current => ThrottleReason::PowerCap,
        Throttler::SocketThermal => ThrottleReason::HardwareThermal,
        Throttler::VrThermal => ThrottleReason::RegulatorThermal,
        Throttler::HbmThermal => ThrottleReason::MemoryThermal,
        Throttler::Other => ThrottleReason::HardwareSlowdown,
    }
}

#[cfg(test)]
mod tests {
    //! Reasons from bits, from counters, and from counters that count nothing.

    use gpu_model::Reading;

    use super::{Metrics, Throttling};
    use crate::readings::{DeviceReadings, Field, ThrottleReason};

    fn table(ticks: u64, power: u64, thermal: u64) -> Metrics {
        let mut table = Metrics::EMPTY;
        table.accumulation_counter = Some(ticks);
        table.residency.package_power = Some(power);
        table.residency.socket_thermal = Some(thermal);
        table.residency.hbm_thermal = Some(thermal);
        table
    }

    fn after(tables: &[Metrics]) -> DeviceReadings {
        let (mut throttling, mut readings) = (Throttling::default(), DeviceReadings::default());
        for table in tables {
            throttling.update(table, 1.0, &mut readings);
        }
        readings
    }

    #[test]
    fn counters_become_shares_seconds_and_reasons() {
        let readings = after(&[table(1_000, 10, 0), table(2_000, 510, 0)]);
        assert_eq!(readings.values.known(Field::LimitSharePower), Some(0.5));
        assert_eq!(readings.values.known(Field::LimitShareThermal), Some(0.0));
        let set = readings.throttled.known().unwrap();
        assert_eq!(set.judgement(ThrottleReason::PowerCap), Some(true));
        assert_eq!(set.judgement(ThrottleReason::HardwareThermal), Some(false));
        assert_eq!(
            set.judgement(ThrottleReason::ProcessorHot),
            None,
            "nobody counted it"
        );
        let seconds = |reason: ThrottleReason| readings.throttle_seconds[reason as usize];
        assert_eq!(seconds(ThrottleReason::PowerCap), Reading::Known(0.5));
        assert_eq!(seconds(ThrottleReason::ProcessorHot), Reading::Unsupported);
    }

    #[test]
    fn copies_of_the_tick_counter_are_no_throttling() {
        let readings = after(&[table(1_000, 1_000, 1_000), table(2_000, 2_000, 2_000)]);
        assert_eq!(readings.values.known(Field::LimitSharePower), None);
        assert_eq!(readings.throttled, Reading::Unsupported);
        let power = readings.throttle_seconds[ThrottleReason::PowerCap as usize];
        assert_eq!(power, Reading::Unsupported);
    }

    #[test]
    fn bits_name_reasons_at_once() {
        let mut table = Metrics::EMPTY;
        table.throttle_bits = Some(1 << 34 | 1);
        let set = after(&[table]).throttled.known().unwrap();
        let holding = ThrottleReason::ALL
            .into_iter()
            .filter(|reason| set.contains(*reason));
        let expected = [ThrottleReason::MemoryThermal, ThrottleReason::PowerCap];
        assert_eq!(holding.collect::<Vec<_>>(), expected);
        assert_eq!(set.judgement(ThrottleReason::SyncBoost), None);
    }
}

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
        let counters = [
            residency.prochot,
            residency.package_power,
            residency.socket_thermal,
            residency.vr_thermal,
            residency.hbm_thermal,
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

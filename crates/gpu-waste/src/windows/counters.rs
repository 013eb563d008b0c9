//! Counters become differences. A counter that went back was reset: that difference is not known.

use std::time::Duration;

use gpu_model::{FaultCount, GpuSample, ThrottleReason};
use jiff::Timestamp;

/// What the counters said at the observation before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    at: Option<Timestamp>,
    energy_millijoules: Option<u64>,
    busy_millis: Option<u64>,
    traffic_bytes: Option<u64>,
    heat_millis: u64,
    cap_millis: u64,
    program_faults: u64,
    device_faults: u64,
    uncorrected: Option<u64>,
}

/// What happened between two observations, each as an average over that time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rates {
    pub(crate) drawn_milliwatts: Option<u64>,
    pub(crate) busy: Option<u16>,
    pub(crate) traffic_mib: Option<u64>,
    pub(crate) heat_percent: Option<u64>,
    pub(crate) cap_percent: Option<u64>,
    pub(crate) faults: Option<u64>,
    /// Faults that say that the device is broken, and not the program on it.
    pub(crate) device_faults: Option<u64>,
}

impl Counters {
    /// Takes the counters of an observation and says what happened since the one before. A difference over more than
    /// `longest` would speak for a moment it knows little of, and is not given.
    pub(crate) fn advance(&mut self, at: Timestamp, sample: &GpuSample, longest: Duration) -> Rates {
        let next = Self::read(at, sample);
        let before = std::mem::replace(self, next);
        let Some(elapsed) = before.at.and_then(|before| elapsed_millis(before, at)) else {
            return Rates::default();
        };
        let faults = self.faults().checked_sub(before.faults());
        let since = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        let errors = since(self.uncorrected, before.uncorrected).unwrap_or(0);
        let device_faults = self.device_faults.checked_sub(before.device_faults);
        let device_faults = device_faults.map(|faults| faults.saturating_add(errors));
        if u128::from(elapsed) > longest.as_millis() {
            // Faults are counted, not averaged: whenever it was, it was.
            return Rates {
                faults,
                device_faults,
                ..Rates::default()
            };
        }
        let percent = |now: u64, before: u64| Some(now.checked_sub(before)?.saturating_mul(100) / elapsed);
        let busy =
            since(self.busy_millis, before.busy_millis).map(|millis| millis.saturating_mul(1000) / elapsed);
        Rates {
            drawn_milliwatts: since(self.energy_millijoules, before.energy_millijoules)
                .map(|energy| energy.saturating_mul(1000) / elapsed),
            busy: busy.map(|busy| u16::try_from(busy.min(1000)).unwrap_or(1000)),
            traffic_mib: since(self.traffic_bytes, before.traffic_bytes)
                .map(|bytes| (bytes >> 20).saturating_mul(1000) / elapsed),
            heat_percent: percent(self.heat_millis, before.heat_millis).map(|share| share.min(100)),
            cap_percent: percent(self.cap_millis, before.cap_millis).map(|share| share.min(100)),
            faults,
            device_faults,
        }
    }

    fn read(at: Timestamp, sample: &GpuSample) -> Self {
        let held = |wanted: fn(ThrottleReason) -> bool| {
            let times = sample.throttle_times.iter().filter(|time| wanted(time.reason));
            times.fold(0u64, |sum, time| sum.saturating_add(millis(time.total)))
        };
        let traffic = sample.pcie_received.zip(sample.pcie_sent).known();
        let (device, program): (Vec<&FaultCount>, Vec<&FaultCount>) = sample
            .faults
            .iter()
            .partition(|fault| is_device_fault(fault.code));
        let count = |faults: Vec<&FaultCount>| {
            faults
                .iter()
                .fold(0u64, |sum, fault| sum.saturating_add(fault.count))
        };
        Self {
            at: Some(at),
            energy_millijoules: sample.energy.known().map(|energy| energy.0),
            busy_millis: sample.busy.known().map(millis),
            traffic_bytes: traffic.map(|(received, sent)| received.saturating_add(sent).0),
            heat_millis: held(|reason| reason != ThrottleReason::PowerCap),
            cap_millis: held(|reason| reason == ThrottleReason::PowerCap),
            program_faults: count(program),
            device_faults: count(device),
            uncorrected: sample.ecc_uncorrected.known(),
        }
    }

    fn faults(&self) -> u64 {
        self.program_faults.saturating_add(self.device_faults)
    }
}

/// XIDs that NVIDIA's documentation lays at the door of the hardware: memory errors, lost links, a device off its bus. The
/// others, a page fault above all, are errors of programs.
fn is_device_fault(code: u32) -> bool {
    matches!(
        code,
        48 | 54 | 62 | 63 | 64 | 74 | 79 | 92 | 94 | 95 | 110 | 119 | 120 | 121 | 140 | 149
    )
}

fn elapsed_millis(before: Timestamp, now: Timestamp) -> Option<u64> {
    u64::try_from(now.as_millisecond() - before.as_millisecond())
        .ok()
        .filter(|elapsed| *elapsed > 0)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

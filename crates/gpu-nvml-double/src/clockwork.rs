//! Counters that run with the clock, and keep what they have when the scenario changes.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::scenario::{Gpu, Scenario};

const SW_POWER_CAP: u64 = 0x4;
const SYNC_BOOST: u64 = 0x10;
const SW_THERMAL: u64 = 0x20;
const HW_THERMAL: u64 = 0x40;
const HW_POWER_BRAKE: u64 = 0x80;

/// What one GPU counted beyond the values in its scenario.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) energy_millijoules: u64,
    pub(crate) pcie_tx_bytes: u64,
    pub(crate) pcie_rx_bytes: u64,
    pub(crate) link_tx_kib: u64,
    pub(crate) link_rx_kib: u64,
    pub(crate) power_cap_ns: u64,
    pub(crate) sync_boost_ns: u64,
    pub(crate) sw_thermal_ns: u64,
    pub(crate) hw_thermal_ns: u64,
    pub(crate) hw_power_brake_ns: u64,
}

/// Totals of every GPU up to the last change of the scenario.
#[derive(Debug)]
pub(crate) struct Clockwork {
    since: Instant,
    kept: BTreeMap<String, Totals>,
}

impl Clockwork {
    pub(crate) fn start() -> Clockwork {
        Clockwork {
            since: Instant::now(),
            kept: BTreeMap::new(),
        }
    }

    /// The totals of a GPU now.
    pub(crate) fn totals(&self, scenario: &Scenario, gpu: &Gpu) -> Totals {
        let mut totals = self.kept.get(&gpu.uuid).copied().unwrap_or_default();
        if !scenario.frozen {
            let ran = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
            totals.run(gpu, ran);
        }
        totals
    }

    /// Books what ran under the old scenario before a new one takes over.
    pub(crate) fn change(&mut self, old: &Scenario) {
        for gpu in &old.gpus {
            let totals = self.totals(old, gpu);
            self.kept.insert(gpu.uuid.clone(), totals);
        }
        self.since = Instant::now();
    }
}

impl Totals {
    fn run(&mut self, gpu: &Gpu, micros: u64) {
        let of = |per_second: u64| per_second.saturating_mul(micros) / 1_000_000;
        if let Some(power) = &gpu.power {
            // One milliwatt for one second is one millijoule.
            self.energy_millijoules += of(u64::from(power.usage));
        }
        self.pcie_tx_bytes += of(u64::from(gpu.pcie.tx_kib_per_second) * 1024);
        self.pcie_rx_bytes += of(u64::from(gpu.pcie.rx_kib_per_second) * 1024);
        if let Some(link) = &gpu.nvlink {
            self.link_tx_kib += of(link.tx_kib_per_second);
            self.link_rx_kib += of(link.rx_kib_per_second);
        }
        let held = |reason: u64| {
            if gpu.clock_reasons & reason == 0 {
                0
            } else {
                micros * 1000
            }
        };
        self.power_cap_ns += held(SW_POWER_CAP);
        self.sync_boost_ns += held(SYNC_BOOST);
        self.sw_thermal_ns += held(SW_THERMAL);
        self.hw_thermal_ns += held(HW_THERMAL);
        self.hw_power_brake_ns += held(HW_POWER_BRAKE);
    }
}

//! How the ledger is kept.

use std::time::Duration;

use gpu_cost::{Grain, Settings, WatchSettings};
use gpu_store::Retention;

#[derive(Debug, Clone)]
pub struct LedgerSettings {
    pub watch: WatchSettings,
    /// How a window's price is divided. Its grain is the window.
    pub settle: Settings,
    /// How long after its end a window is closed. Something that two looks miss has to be told before.
    pub lateness_ms: i64,
    /// How far back a window is settled again when a price or an event comes late.
    pub correct_for_ms: i64,
    /// How much time the books hold while the store is away. What is older is settled without its samples.
    pub hold_for_ms: i64,
    pub retention: Retention,
    /// How long a round waits for the store before it goes on without.
    pub patience: Duration,
}

impl LedgerSettings {
    /// The settings that go with rounds of an interval.
    pub fn every(interval_ms: i64) -> Self {
        Self {
            watch: WatchSettings::every(interval_ms),
            settle: Settings {
                // Five minutes make every roll-up exact by itself, and a killed process has little to make up for.
                grain: Grain::FiveMinutes,
                ..Settings::default()
            },
            lateness_ms: interval_ms.saturating_mul(4).max(120_000),
            // The hour whose use is summed up, and prices that a feed brings with some delay.
            correct_for_ms: 3_600_000,
            // Samples of 8,000 GPUs take some 15 MiB an hour.
            hold_for_ms: 4 * 3_600_000,
            retention: Retention::default(),
            // Much shorter than a round: a slow store must not make anybody blind.
            patience: Duration::from_secs(2),
        }
    }
}

impl Default for LedgerSettings {
    fn default() -> Self {
        Self::every(30_000)
    }
}

//! What an operator may choose. Every default is the one that users are told.

use std::time::Duration;

use gpu_model::Permille;

/// How much is remembered of every GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSettings {
    /// `analysis-window`.
    pub window: Duration,
    /// `analysis-interval`: the time between two observations. More frequent ones are folded into facts and take no room.
    pub interval: Duration,
}

impl Default for WindowSettings {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(600),
            interval: Duration::from_secs(30),
        }
    }
}

/// More slots than this would let one setting take a gigabyte on a large fleet.
const MOST_SLOTS: u128 = 512;

impl WindowSettings {
    /// How many observations the window holds.
    pub(crate) fn slots(self) -> usize {
        let interval = self.interval.as_millis().max(1);
        let slots = self.window.as_millis().div_ceil(interval).clamp(2, MOST_SLOTS);
        usize::try_from(slots).expect("at most 512")
    }
}

/// When something counts as waste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// `waste-threshold`: work that fills less of its GPU than this may be under-used.
    pub threshold: Permille,
    /// `waste-after`: nothing younger is waste.
    pub after: Duration,
    /// `waste-score`: findings that score less are counted and not listed.
    pub least_score: u8,
    /// How long a pod may take from its start to its first use of a GPU: pulling images, loading a model, opening a notebook.
    pub warm_up: Duration,
    /// How long work must have been watched before its GPU is called too large: a peak may still come.
    pub size_after: Duration,
    pub deviations: Deviations,
}

/// Whether workloads that leave their own pattern are reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Deviations {
    #[default]
    Ignored,
    Reported,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threshold: Permille::clamped(500),
            after: Duration::from_secs(300),
            least_score: 50,
            warm_up: Duration::from_secs(1800),
            size_after: Duration::from_secs(1200),
            deviations: Deviations::Ignored,
        }
    }
}

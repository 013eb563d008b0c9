//! What fleet to simulate.

use jiff::Timestamp;

/// Beyond this a view no longer fits the time budget of a one-second clock.
const MOST_NODES: u32 = 5000;

/// Monday, 5 January 2026, 08:00 UTC: a working day is about to begin.
const DEFAULT_START: i64 = 1_767_600_000;

/// The fleet to build. The default of 12 nodes has 96 GPUs and holds one node of every shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetSpec {
    pub nodes: u32,
    pub seed: u64,
    pub start: Timestamp,
}

/// Why a fleet cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("cannot simulate a fleet of {0} nodes: ask for 1 to {MOST_NODES}")]
    Nodes(u32),
    #[error("cannot start a simulated fleet at {0}: choose an instant from 1971 to 9000")]
    Start(Timestamp),
}

/// Pods of the first instant are older than the fleet's clock, and the clock must have room to run.
const EARLIEST_START: i64 = 31_536_000;
const LATEST_START: i64 = 221_845_392_000;

impl FleetSpec {
    pub fn new(nodes: u32, seed: u64, start: Timestamp) -> Result<Self, SpecError> {
        let spec = Self { nodes, seed, start };
        spec.validate().map(|()| spec)
    }

    pub(crate) fn validate(&self) -> Result<(), SpecError> {
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return Err(SpecError::Nodes(self.nodes));
        }
        if !(EARLIEST_START..=LATEST_START).contains(&self.start.as_second()) {
            return Err(SpecError::Start(self.start));
        }
        Ok(())
    }
}

impl Default for FleetSpec {
    fn default() -> Self {
        let start = Timestamp::from_second(DEFAULT_START).expect("the default start lies in the calendar");
        Self {
            nodes: 12,
            seed: 1,
            start,
        }
    }
}

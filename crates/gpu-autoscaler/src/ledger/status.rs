//! How the ledger fares, for probes, metrics and people.

use gpu_cost::Moment;
use jiff::Timestamp;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerStatus {
    pub state: LedgerState,
    /// The ledger is whole up to here.
    pub settled_until: Option<Timestamp>,
    /// What the store said last, while it cannot be written to or read.
    pub problem: Option<String>,
    /// Since when it says so.
    pub problem_since: Option<Timestamp>,
    pub rows_written: u64,
    /// Windows that were settled again and turned out otherwise.
    pub windows_corrected: u64,
    /// Windows whose rows the store refused; their time is not in the ledger.
    pub windows_set_aside: u64,
    /// Objects and events that could not be taken note of.
    pub set_aside: u64,
    /// Time in which nobody watched, and time whose samples were given up while the store was away, in seconds since the start.
    pub blind_seconds: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LedgerState {
    /// The store has not told yet where the ledger ends.
    #[default]
    Opening,
    /// Another replica writes; the books are kept warm.
    Following,
    /// This replica writes.
    Keeping,
    /// This replica would write, and the store does not take it. Nothing is lost within the bound.
    Holding,
}

impl LedgerState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Following => "following",
            Self::Keeping => "keeping",
            Self::Holding => "holding",
        }
    }
}

impl LedgerStatus {
    /// For `/readyz`: what is wrong, in words.
    pub fn check(&self) -> Result<(), String> {
        let Some(problem) = &self.problem else {
            return Ok(());
        };
        let since = self.problem_since.map(|since| format!(" since {since}"));
        let until = match self.settled_until {
            Some(until) => {
                format!("; the ledger is whole up to {until}, and what comes after is held in memory")
            }
            None => "; nothing is written until the store tells where the ledger ends".to_owned(),
        };
        Err(format!("{problem}{}{until}", since.unwrap_or_default()))
    }

    pub(super) fn say(&mut self, problem: String, now: Moment) {
        self.problem = Some(problem);
        self.problem_since.get_or_insert(now.timestamp());
    }

    pub(super) fn settle(&mut self) {
        self.problem = None;
        self.problem_since = None;
    }
}

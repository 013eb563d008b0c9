//! Questions to the ledger and their answers.

use gpu_cost::{Grain, LedgerRow, Moment, Part, Span};
use gpu_model::ClusterId;

use crate::ledger::{Dimension, Sums};

/// More columns than this is a copy of the ledger, not an answer.
pub const MOST_GROUPS: usize = 6;
/// A page of rows.
pub const MOST_ROWS: usize = 10_000;

/// Whether an answer is one sum or a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Whole,
    /// One line a bucket; the window has to start and end at one.
    Every(Grain),
}

/// Only costs whose dimension has one of these values; none stands for "not known".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    pub dimension: Dimension,
    pub values: Vec<Option<String>>,
}

/// Costs over a window, by dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostQuery {
    /// None asks over all clusters of the store.
    pub cluster: Option<ClusterId>,
    pub window: Span,
    pub group_by: Vec<Dimension>,
    pub filters: Vec<Filter>,
    pub step: Step,
}

impl CostQuery {
    pub fn by(window: Span, group_by: Vec<Dimension>) -> Self {
        Self {
            cluster: None,
            window,
            group_by,
            filters: Vec::new(),
            step: Step::Whole,
        }
    }
}

/// The sums of one group. Lines come in the order of time, values and part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostLine {
    /// The start of the bucket, when the answer comes in steps.
    pub at: Option<Moment>,
    /// One value for every dimension asked by.
    pub values: Vec<Option<String>>,
    pub part: Part,
    pub sums: Sums,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostAnswer {
    pub lines: Vec<CostLine>,
    /// From what the answer was made, coarsest first; for people who wonder how long it took.
    pub grains: Vec<Option<Grain>>,
}

/// Rows themselves, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowQuery {
    pub cluster: Option<ClusterId>,
    /// Only rows of this pod.
    pub pod_uid: Option<String>,
    /// Only rows that touch this window.
    pub window: Option<Span>,
    /// The `next` of the page before.
    pub after: Option<i64>,
    /// At most this many, and never more than [`MOST_ROWS`].
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPage {
    pub rows: Vec<LedgerRow>,
    /// None when there is nothing further.
    pub next: Option<i64>,
}

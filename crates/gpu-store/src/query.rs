//! Questions to the ledger and their answers.

use std::sync::Arc;

use gpu_cost::{Grain, LedgerRow, Moment, Part, PriceNote, Span};
use gpu_model::ClusterId;

use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{Dimension, Dimensions, Sums, WindowError, floor};

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

/// Sums of whole sets of dimensions in whole buckets, in the order of time: what is left of rows that were dropped. Rows that are not
/// folded yet are not part of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumQuery {
    pub cluster: Option<ClusterId>,
    /// Hours, or days that are over. There are none of five minutes.
    pub grain: Grain,
    /// Whole buckets.
    pub window: Span,
    /// The `next` of the page before.
    pub after: Option<SumPlace>,
    /// At most this many, and never more than [`MOST_ROWS`].
    pub limit: usize,
}

/// A place among the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumPlace {
    pub(crate) bucket: i64,
    pub(crate) cluster: i32,
    pub(crate) set: i64,
    pub(crate) part: i16,
    pub(crate) price: i64,
}

/// The sums of a set of dimensions in a bucket, of one price where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSum {
    pub grain: Grain,
    pub bucket: Span,
    pub dimensions: Arc<Dimensions>,
    pub part: Part,
    /// None for a day, which may have had several.
    pub price: Option<Arc<PriceNote>>,
    pub sums: Sums,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumPage {
    pub sums: Vec<SetSum>,
    /// None when there is nothing further.
    pub next: Option<SumPlace>,
}

impl SumQuery {
    /// Refuses what is not there or not whole.
    pub(crate) fn check(&self, state: &State) -> Result<(), StoreError> {
        for edge in [self.window.start, self.window.end] {
            if self.grain == Grain::FiveMinutes || floor(self.grain, edge) != edge {
                return Err(StoreError::StepEdge {
                    step: self.grain.as_str(),
                    edge,
                });
            }
        }
        let kept_from = state.floors.of(Some(self.grain));
        if self.window.start < kept_from {
            return Err(WindowError::Dropped { kept_from }.into());
        }
        if self.grain == Grain::Day && self.window.end > state.closed {
            return Err(WindowError::NotClosed { until: state.closed }.into());
        }
        Ok(())
    }

    pub(crate) fn rows(&self) -> usize {
        self.limit.clamp(1, MOST_ROWS)
    }
}

/// A sum as a database keeps it: numbers of what it is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundSum {
    pub(crate) place: SumPlace,
    pub(crate) part: Part,
    pub(crate) sums: Sums,
}

impl FoundSum {
    pub(crate) fn named(
        &self,
        grain: Grain,
        dimensions: Arc<Dimensions>,
        price: Option<Arc<PriceNote>>,
    ) -> SetSum {
        SetSum {
            grain,
            bucket: grain.bucket(Moment(self.place.bucket)),
            dimensions,
            part: self.part,
            price,
            sums: self.sums,
        }
    }
}

//! Sums over a bucket of time. They are derived from rows and can be made anew at any time.

use std::sync::Arc;

use gpu_model::{ClusterId, NanoUsd};

use super::{Amounts, GpuTime, Holder, Part};
use crate::{Grain, Moment};

/// What a roll-up is kept under.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RollupKey {
    pub grain: Grain,
    pub start: Moment,
    pub cluster: ClusterId,
    pub part: Part,
    pub holder: Option<Arc<Holder>>,
}

/// What happened in a bucket under one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollupRow {
    pub key: RollupKey,
    pub time: GpuTime,
    /// The sum over what has a price.
    pub amounts: Amounts,
    /// The part of `time.held_ms` that has none: a sum is whole only where this is 0.
    pub unpriced_ms: i64,
    /// The part of `amounts.allocated` that rests on an assumed share or on a price of another zone.
    pub estimated: NanoUsd,
}

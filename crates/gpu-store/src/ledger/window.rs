//! Which roll-ups answer a window: the coarsest whose buckets lie wholly inside, finer ones for the edges, rows for what is left.
//! The answer is exact or it is refused; it is never rounded.

use gpu_cost::{Grain, Moment, Span};

use super::bucket::{ceil, floor};
use crate::retention::Floors;

/// A part of a window and where it is answered from; no grain means from the rows themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub grain: Option<Grain>,
    pub span: Span,
}

/// What has been summed up for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The grains that hold an answer.
    pub grains: &'static [Grain],
    /// The coarsest grain that may be used, when the answer comes in steps.
    pub coarsest: Grain,
    /// Days from this one on have no sums of their own yet: their hours answer.
    pub days_until: Moment,
}

/// Why a window cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    #[error("the window ends at {to}, not after its start {from}")]
    Empty { from: Moment, to: Moment },
    #[error("costs before {kept_from} are no longer kept; ask from there")]
    Dropped { kept_from: Moment },
    #[error("days from {until} on are not over; ask for their hours")]
    NotClosed { until: Moment },
    #[error(
        "a bill needs the price of every charge, which is kept from {kept_from} on; ask from there, or for sums of whole days as CSV"
    )]
    NoPrices { kept_from: Moment },
    #[error("{edge} lies where only sums of a whole {kept} are kept; move it to {before} or {after}")]
    TooFine {
        edge: Moment,
        kept: &'static str,
        before: Moment,
        after: Moment,
    },
}

/// Cuts a window into segments, in the order of time.
pub fn plan(window: Span, source: Source, floors: &Floors) -> Result<Vec<Segment>, WindowError> {
    if window.is_empty() {
        return Err(WindowError::Empty {
            from: window.start,
            to: window.end,
        });
    }
    let grains: Vec<Grain> = [Grain::Day, Grain::Hour, Grain::FiveMinutes]
        .into_iter()
        .filter(|grain| source.grains.contains(grain) && *grain <= source.coarsest)
        .collect();
    let mut segments = Vec::new();
    cover(window, &grains, source.days_until, &mut segments);
    for segment in &segments {
        kept(segment, floors)?;
    }
    Ok(segments)
}

fn cover(span: Span, grains: &[Grain], days_until: Moment, segments: &mut Vec<Segment>) {
    if span.is_empty() {
        return;
    }
    let Some((grain, finer)) = grains.split_first() else {
        segments.push(Segment { grain: None, span });
        return;
    };
    let end = match grain {
        Grain::Day => span.end.min(days_until),
        Grain::Hour | Grain::FiveMinutes => span.end,
    };
    let inner = Span::new(ceil(*grain, span.start), floor(*grain, end));
    if inner.is_empty() {
        return cover(span, finer, days_until, segments);
    }
    cover(Span::new(span.start, inner.start), finer, days_until, segments);
    segments.push(Segment {
        grain: Some(*grain),
        span: inner,
    });
    cover(Span::new(inner.end, span.end), finer, days_until, segments);
}

/// Refuses a segment whose grain is no longer kept there.
fn kept(segment: &Segment, floors: &Floors) -> Result<(), WindowError> {
    if segment.span.start >= floors.of(segment.grain) {
        return Ok(());
    }
    if segment.span.start < floors.day {
        return Err(WindowError::Dropped {
            kept_from: floors.day,
        });
    }
    // Whole days are kept longest, then hours; advise the finest that still is.
    let (grain, name) = if segment.span.start >= floors.hour && segment.grain != Some(Grain::Hour) {
        (Grain::Hour, "hour")
    } else {
        (Grain::Day, "day")
    };
    let edge = if floor(grain, segment.span.start) == segment.span.start {
        segment.span.end
    } else {
        segment.span.start
    };
    Err(WindowError::TooFine {
        edge,
        kept: name,
        before: floor(grain, edge),
        after: ceil(grain, edge),
    })
}

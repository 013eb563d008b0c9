//! A cell: one carrier of one stretch of time, with its weight.

use std::collections::BTreeSet;

use crate::{Claim, HolderClass, Moment, Part, Phase, ShareBasis, Span};

/// One carrier of one stretch of a GPU's time. The weight is in units times milliseconds; `used` and `unmeasured` are parts
/// of it.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) span: Span,
    pub(super) part: Part,
    pub(super) phase: Phase,
    pub(super) basis: ShareBasis,
    pub(super) claim: Option<&'a Claim>,
    pub(super) weight: u64,
    pub(super) used: u64,
    pub(super) unmeasured: u64,
}

impl<'a> Cell<'a> {
    pub(super) fn of_nobody(span: Span, part: Part, basis: ShareBasis, weight: u64) -> Self {
        Self {
            span,
            part,
            phase: Phase::None,
            basis,
            claim: None,
            weight,
            used: 0,
            unmeasured: 0,
        }
    }

    /// Used, unused, unmeasured.
    pub(super) fn use_weights(&self) -> [u64; 3] {
        if self.weight == 0 {
            return [0, 1, 0];
        }
        let used = self.used.min(self.weight);
        let unmeasured = self.unmeasured.min(self.weight - used);
        [used, self.weight - used - unmeasured, unmeasured]
    }

    /// Whether `next` only goes on with what this says, so that both can be one row.
    fn continues(&self, next: &Self) -> bool {
        let same_claim = match (self.claim, next.claim) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (None, None) => true,
            _ => false,
        };
        let rate = |cell: &Self, over: &Self| u128::from(cell.weight) * u128::from(milliseconds(over.span));
        same_claim
            && self.span.end == next.span.start
            && self.part == next.part
            && self.phase == next.phase
            && self.basis == next.basis
            && rate(self, next) == rate(next, self)
    }
}

pub(super) fn part_of(claim: &Claim) -> Part {
    match claim.class {
        HolderClass::Workload => Part::Pod,
        HolderClass::System => Part::System,
    }
}

pub(super) fn milliseconds(span: Span) -> u64 {
    u64::try_from(span.milliseconds()).unwrap_or(0)
}

/// Joins what goes on unchanged: a pod beside which others come and go has one row and not one for each of them.
pub(super) fn join(cells: Vec<Cell<'_>>) -> Vec<Cell<'_>> {
    let mut joined: Vec<Cell<'_>> = Vec::with_capacity(cells.len());
    // The cells of one instant are a few; only those that end where the next begins can go on.
    let mut open: Vec<usize> = Vec::new();
    for cell in cells {
        open.retain(|index| joined[*index].span.end >= cell.span.start);
        let place = open.iter().position(|index| joined[*index].continues(&cell));
        if let Some(place) = place {
            let before = &mut joined[open[place]];
            before.span.end = cell.span.end;
            before.weight = before.weight.saturating_add(cell.weight);
            before.used = before.used.saturating_add(cell.used);
            before.unmeasured = before.unmeasured.saturating_add(cell.unmeasured);
        } else {
            open.push(joined.len());
            joined.push(cell);
        }
    }
    joined
}

/// The instants at which something changes within a span, its ends included.
pub(super) struct Cuts {
    span: Span,
    at: BTreeSet<Moment>,
}

impl Cuts {
    pub(super) fn of(span: Span) -> Self {
        Self {
            span,
            at: BTreeSet::from([span.start, span.end]),
        }
    }

    pub(super) fn add(&mut self, at: Option<Moment>) {
        self.at.extend(at.filter(|at| self.span.contains(*at)));
    }

    pub(super) fn add_span(&mut self, span: Span) {
        self.add(Some(span.start));
        self.add(Some(span.end));
    }

    /// The stretches between the cuts.
    pub(super) fn pieces(self) -> impl Iterator<Item = Span> {
        let ends: Vec<Moment> = self.at.iter().copied().skip(1).collect();
        self.at
            .into_iter()
            .zip(ends)
            .map(|(start, end)| Span::new(start, end))
    }
}

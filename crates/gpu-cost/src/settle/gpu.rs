//! Who carries a GPU from instant to instant.

use std::ops::Bound;

use gpu_model::{GpuUuid, Partition, PodUid};

use super::cells::{Cell, Cuts, join, milliseconds, part_of};
use super::shares::{Active, MigBasis, UNITS, divide};
use crate::books::{ClaimBook, ClaimId, GpuBook, MachineBook, PodBook};
use crate::{Claim, Moment, Part, Phase, ShareBasis, Span};

/// A claim with the span in which it was held.
pub(super) struct Held<'a> {
    pub(super) claim: &'a Claim,
    pub(super) book: &'a ClaimBook,
    pub(super) span: Span,
    pub(super) running: Option<Moment>,
}

impl Held<'_> {
    pub(super) fn phase(&self, at: Moment) -> Phase {
        match self.running {
            Some(running) if running <= at => Phase::Running,
            _ => Phase::Starting,
        }
    }
}

/// The cells of one GPU in a span, in the order of time.
pub(super) fn cells<'a>(
    book: &'a MachineBook,
    uuid: &GpuUuid,
    gpu: &'a GpuBook,
    span: Span,
    mig: MigBasis,
) -> Vec<Cell<'a>> {
    let claims = claims_of(book, uuid, span);
    let mut cuts = Cuts::of(span);
    for held in &claims {
        cuts.add_span(held.span);
        cuts.add(held.running);
    }
    cuts.add(gpu.seen.as_ref().map(|(at, _)| *at));
    cuts.add(book.draining);
    for span in gpu.withheld.iter().chain(&book.blind).chain(&book.cordoned) {
        cuts.add_span(*span);
    }
    let mut cells = Vec::new();
    for piece in cuts.pieces() {
        let here: Vec<&Held<'_>> = claims
            .iter()
            .filter(|held| held.span.contains(piece.start))
            .collect();
        let active: Vec<Active<'_>> = here
            .iter()
            .map(|held| Active {
                claim: held.claim,
                used: &held.book.used,
            })
            .collect();
        let model = gpu.seen.as_ref().map(|(_, gpu)| gpu);
        let (shares, left) = divide(model, &active, piece, mig);
        for (held, share) in here.iter().zip(shares) {
            cells.push(Cell {
                span: piece,
                part: part_of(held.claim),
                phase: held.phase(piece.start),
                basis: share.basis,
                claim: Some(held.claim),
                weight: share.weight,
                used: share.used,
                unmeasured: share.unmeasured,
            });
        }
        if left > 0 {
            let part = nobody(book, gpu, piece.start);
            cells.push(Cell::of_nobody(piece, part, ShareBasis::Exclusive, left));
        }
    }
    debug_assert_eq!(
        cells.iter().map(|cell| cell.weight).sum::<u64>(),
        milliseconds(span) * UNITS,
        "the shares of a GPU sum to one"
    );
    join(cells)
}

/// What the free part of a GPU is at an instant.
fn nobody(book: &MachineBook, gpu: &GpuBook, at: Moment) -> Part {
    let within = |spans: &[Span]| spans.iter().any(|span| span.contains(at));
    if gpu.seen.as_ref().is_none_or(|(seen, _)| *seen > at) {
        Part::Boot
    } else if within(&gpu.withheld) {
        Part::System
    } else {
        nobody_on_node(book, at)
    }
}

/// What the free part of a node is at an instant.
pub(super) fn nobody_on_node(book: &MachineBook, at: Moment) -> Part {
    let within = |spans: &[Span]| spans.iter().any(|span| span.contains(at));
    if book.draining.is_some_and(|draining| draining <= at) || within(&book.cordoned) {
        Part::Drain
    } else if within(&book.blind) {
        Part::Unknown
    } else {
        Part::Idle
    }
}

/// The claims on a GPU that reach into a span, ordered by partition and pod.
fn claims_of<'a>(book: &'a MachineBook, uuid: &GpuUuid, span: Span) -> Vec<Held<'a>> {
    let first = ClaimId {
        gpu: uuid.clone(),
        partition: Partition::Whole,
        pod: first_pod(),
    };
    book.claims
        .range((Bound::Included(first), Bound::Unbounded))
        .take_while(|(id, _)| id.gpu == *uuid)
        .filter_map(|(id, claim)| held(book, id, claim, span))
        .collect()
}

/// All claims of a node that reach into a span.
pub(super) fn claims_of_node(book: &MachineBook, span: Span) -> Vec<Held<'_>> {
    book.claims
        .iter()
        .filter_map(|(id, claim)| held(book, id, claim, span))
        .collect()
}

fn held<'a>(book: &MachineBook, id: &ClaimId, claim: &'a ClaimBook, span: Span) -> Option<Held<'a>> {
    let (bound, content) = claim.bound.as_ref()?;
    let pod = book.pods.get(&id.pod).copied().unwrap_or(PodBook::default());
    let end = pod.ended.map_or(Moment(i64::MAX), |end| end.at);
    let held = Span::new(*bound, end);
    (!held.overlap(span).is_empty()).then_some(Held {
        claim: content,
        book: claim,
        span: held,
        running: pod.running,
    })
}

/// `Whole` is the first partition and this the first name in their order.
fn first_pod() -> PodUid {
    PodUid::new(" ").expect("a space is a short text without control characters")
}

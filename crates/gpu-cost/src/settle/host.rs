//! Who carries processors and memory, where a node's price is split between them and its GPUs.

use std::collections::BTreeMap;

use gpu_model::PodUid;

use super::cells::{Cell, Cuts, join, milliseconds, part_of};
use super::gpu::{Held, claims_of_node, nobody_on_node};
use super::shares::{Active, MigBasis, UNITS, divide};
use crate::apportion::apportion;
use crate::books::MachineBook;
use crate::{ShareBasis, Span};

/// The cells of the host in a span: each pod by what it asked for, and where that is not known, by its GPUs.
pub(super) fn cells(book: &MachineBook, span: Span, gpus: u64, mig: MigBasis) -> Vec<Cell<'_>> {
    let claims = claims_of_node(book, span);
    let mut cuts = Cuts::of(span);
    for held in &claims {
        cuts.add_span(held.span);
        cuts.add(held.running);
    }
    cuts.add(book.draining);
    for span in book.blind.iter().chain(&book.cordoned) {
        cuts.add_span(*span);
    }
    let mut cells = Vec::new();
    for piece in cuts.pieces() {
        let all = milliseconds(piece) * UNITS;
        let mut carriers: Vec<(&Held<'_>, u64, ShareBasis)> = pods(book, &claims, piece, gpus, mig);
        let sum: u64 = carriers.iter().map(|(_, weight, _)| *weight).sum();
        if sum > all {
            let weights: Vec<u64> = carriers.iter().map(|(_, weight, _)| *weight).collect();
            let granted = apportion(i64::try_from(all).unwrap_or(i64::MAX), &weights);
            for (carrier, granted) in carriers.iter_mut().zip(granted) {
                carrier.1 = u64::try_from(granted).unwrap_or(0);
            }
        }
        let taken: u64 = carriers.iter().map(|(_, weight, _)| *weight).sum();
        for (held, weight, basis) in carriers {
            cells.push(Cell {
                span: piece,
                part: part_of(held.claim),
                phase: held.phase(piece.start),
                basis,
                claim: Some(held.claim),
                weight,
                used: 0,
                // Nothing here reads the use of processors.
                unmeasured: weight,
            });
        }
        if taken < all {
            let part = nobody_on_node(book, piece.start);
            cells.push(Cell::of_nobody(
                piece,
                part,
                ShareBasis::HostRequests,
                all - taken,
            ));
        }
    }
    join(cells)
}

/// Every pod once, with its weight.
fn pods<'h, 'a>(
    book: &MachineBook,
    claims: &'h [Held<'a>],
    piece: Span,
    gpus: u64,
    mig: MigBasis,
) -> Vec<(&'h Held<'a>, u64, ShareBasis)> {
    let mut by_pod: BTreeMap<&PodUid, Vec<&'h Held<'a>>> = BTreeMap::new();
    for held in claims.iter().filter(|held| held.span.contains(piece.start)) {
        by_pod.entry(&held.claim.holder.uid).or_default().push(held);
    }
    let mut carriers = Vec::with_capacity(by_pod.len());
    for held in by_pod.into_values() {
        let Some(first) = held.first().copied() else {
            continue;
        };
        let asked = held.iter().filter_map(|held| held.claim.host).max();
        let (weight, basis) = match asked {
            Some(asked) => (
                milliseconds(piece) * UNITS / 1000 * u64::from(asked.get()),
                ShareBasis::HostRequests,
            ),
            None => {
                let of_gpus: u64 = held
                    .iter()
                    .map(|held| {
                        let gpu = book.gpus.get(&held.claim.gpu).and_then(|gpu| gpu.seen.as_ref());
                        let alone = [Active {
                            claim: held.claim,
                            used: &[],
                        }];
                        divide(gpu.map(|(_, gpu)| gpu), &alone, piece, mig).0[0].weight
                    })
                    .sum();
                (of_gpus / gpus.max(1), ShareBasis::HostByGpu)
            }
        };
        carriers.push((first, weight, basis));
    }
    carriers
}

//! Random fleets: machines that come and go, pods of every kind on every kind of part, samples, prices that change.

use gpu_cost::prices::{Commitment, CommitmentKind, Discount, NodeSplit, PriceVersion};
use gpu_cost::{CommitmentName, Event, MigBasis, Moment, PriceBook, Settings, Span};
use gpu_model::{Cloud, NanoUsd, Partition, Permille};
use proptest::prelude::*;

use crate::fleet::{HOUR, Node, cpx, machine, mig, price, uuid};

/// A fleet as a list of events, and the prices that hold.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) events: Vec<Event>,
    pub(crate) prices: PriceBook,
    pub(crate) settings: Settings,
}

/// An instant within three hours around the examples' hour, to the millisecond.
fn instant() -> impl Strategy<Value = i64> {
    (-3_600_000i64..7_200_000).prop_map(|offset| HOUR + offset)
}

fn span() -> impl Strategy<Value = Span> {
    (instant(), 1i64..9_000_000).prop_map(|(start, length)| Span::new(Moment(start), Moment(start + length)))
}

fn partition() -> impl Strategy<Value = Partition> {
    prop_oneof![
        3 => Just(Partition::Whole),
        2 => (prop::sample::select(vec!["1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "9g.1gb", "odd"]), 0u8..7)
            .prop_map(|(profile, gi)| mig(profile, gi)),
        2 => (0u16..5, 1u16..6).prop_map(|(replica, of)| Partition::TimeShared { replica, of }),
        1 => (0u16..3, 1u16..4).prop_map(|(replica, of)| Partition::Mps { replica, of }),
        1 => (0u8..8).prop_map(cpx),
    ]
}

#[derive(Debug, Clone)]
struct PodDraft {
    name: u8,
    gpu: usize,
    partition: Partition,
    span: Span,
    samples: Vec<(Span, u16)>,
}

fn pod() -> impl Strategy<Value = PodDraft> {
    (
        0u8..12,
        0usize..5,
        partition(),
        span(),
        prop::collection::vec((span(), 0u16..=1000), 0..4),
    )
        .prop_map(|(name, gpu, partition, span, samples)| PodDraft {
            name,
            gpu,
            partition,
            span,
            samples,
        })
}

fn node(index: usize) -> impl Strategy<Value = Vec<Event>> {
    (
        0u16..5,
        instant(),
        prop::option::of(instant()),
        prop::option::of(instant()),
        prop::collection::vec(pod(), 0..10),
        prop::collection::vec(span(), 0..2),
        prop::collection::vec((0usize..5, span()), 0..2),
    )
        .prop_map(move |(gpus, launched, draining, gone, pods, blind, withheld)| {
            let mut node = Node::ready(machine(&format!("i-{index}"), gpus), Moment(launched));
            for pod in &pods {
                let name = format!("pod-{}", pod.name);
                node.bind(&name, pod.gpu, pod.partition.clone(), pod.span);
                for (span, load) in &pod.samples {
                    node.used(&name, pod.gpu, pod.partition.clone(), *span, *load);
                }
            }
            if let Some(at) = draining {
                node.draining(Moment(at));
            }
            if let Some(at) = gone {
                node.gone(Moment(at));
            }
            let id = node.machine.id.clone();
            for span in blind {
                node.events.push(Event::Blind {
                    machine: id.clone(),
                    span,
                });
            }
            for (gpu, span) in withheld {
                node.events.push(Event::GpuWithheld {
                    machine: id.clone(),
                    gpu: uuid(gpu),
                    span,
                });
            }
            node.events
        })
}

fn price_book() -> impl Strategy<Value = PriceBook> {
    (
        prop::collection::vec((1i64..200_000_000_000, instant()), 0..4),
        prop::option::of((0u32..4, 1i64..90_000_000_000)),
        prop::option::of((1i64..90_000_000_000, 0u16..1000)),
        prop::option::of(0u16..=1000),
    )
        .prop_map(|(versions, machines, spend, off)| {
            let mut book = PriceBook::new();
            book.add_versions(versions.into_iter().map(|(rate, from)| {
                let mut version = price("1", Span::new(Moment(from), PriceVersion::ALWAYS.end));
                version.rate = NanoUsd(rate);
                version
            }));
            let commitment = |id: &str, kind: CommitmentKind| Commitment {
                kind,
                name: CommitmentName {
                    id: id.to_owned(),
                    cloud: Cloud::Aws,
                    region: None,
                    instance_type: None,
                },
                valid: PriceVersion::ALWAYS,
                as_of: Moment(0),
            };
            if let Some((count, rate)) = machines {
                let rate = NanoUsd(rate);
                book.add_commitment(commitment("ri", CommitmentKind::Machines { count, rate }));
            }
            if let Some((per_hour, off)) = spend {
                let kind = CommitmentKind::Spend {
                    per_hour: NanoUsd(per_hour),
                    off: Permille::clamped(off),
                };
                book.add_commitment(commitment("sp", kind));
            }
            if let Some(off) = off {
                book.add_discount(Discount {
                    name: "edp".to_owned(),
                    cloud: Cloud::Aws,
                    instance_type: None,
                    capacity: None,
                    off: Permille::clamped(off),
                    valid: PriceVersion::ALWAYS,
                });
            }
            book
        })
}

fn settings() -> impl Strategy<Value = Settings> {
    let mig = prop::sample::select(vec![MigBasis::Compute, MigBasis::Memory, MigBasis::Mean]);
    let split = prop::sample::select(vec![
        NodeSplit::AllToGpu,
        NodeSplit::AllToGpu,
        NodeSplit::Ratio {
            gpu: Permille::clamped(800),
        },
        NodeSplit::Residual {
            core_hour: NanoUsd(31_600_000),
            gibibyte_hour: NanoUsd(4_200_000),
        },
        NodeSplit::OPENCOST,
    ]);
    (mig, split).prop_map(|(mig, split)| Settings {
        mig,
        split,
        ..Settings::default()
    })
}

pub(crate) fn world() -> impl Strategy<Value = World> {
    let nodes = (node(0), node(1), node(2), 1usize..=3);
    (nodes, price_book(), settings()).prop_map(|((a, b, c, count), prices, settings)| World {
        events: [a, b, c].into_iter().take(count).flatten().collect(),
        prices,
        settings,
    })
}

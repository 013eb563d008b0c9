//! Pages of every kind that the model allows.

use gpu_exposition::{Family, MetricKind, Page, Sample, SampleExemplar, Suffix, TimestampMillis};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

pub(crate) fn pages() -> impl Strategy<Value = Page> {
    vec(families(), 0..6).prop_map(|mut families| {
        for (at, family) in families.iter_mut().enumerate() {
            // The number keeps names apart, in metadata too.
            family.name.insert_str(0, &format!("n{at}_"));
        }
        Page { families }
    })
}

fn families() -> impl Strategy<Value = Family> {
    use MetricKind::{Counter, Gauge, GaugeHistogram, Histogram, Info, StateSet, Summary, Unknown};
    let kinds = vec![
        Counter,
        Gauge,
        Histogram,
        GaugeHistogram,
        Summary,
        Info,
        StateSet,
        Unknown,
    ];
    (
        prop::sample::select(kinds),
        "[a-zA-Z0-9_:]{0,8}",
        texts(),
        option::of("[a-z]{1,6}"),
        any::<bool>(),
    )
        .prop_flat_map(|(kind, stem, help, unit, proper)| {
            let mut name = format!("{stem}z");
            if let Some(unit) = &unit {
                name.push('_');
                name.push_str(unit);
            }
            match kind {
                Counter if proper => name.push_str("_total"),
                Info if proper => name.push_str("_info"),
                _ => {}
            }
            vec(samples(kind), 0..5).prop_map(move |samples| Family {
                name: name.clone(),
                help: help.clone(),
                kind,
                unit: unit.clone(),
                samples,
            })
        })
}

fn samples(kind: MetricKind) -> impl Strategy<Value = Sample> {
    let suffixes = match kind {
        MetricKind::Counter => vec![Suffix::Plain, Suffix::Created],
        MetricKind::Histogram => vec![Suffix::Bucket, Suffix::Sum, Suffix::Count, Suffix::Created],
        MetricKind::GaugeHistogram => vec![Suffix::Bucket, Suffix::Sum, Suffix::Count],
        MetricKind::Summary => vec![Suffix::Plain, Suffix::Sum, Suffix::Count, Suffix::Created],
        MetricKind::Gauge | MetricKind::Info | MetricKind::StateSet | MetricKind::Unknown => {
            vec![Suffix::Plain]
        }
    };
    (
        prop::sample::select(suffixes),
        labels(),
        values(),
        timestamps(),
        option::of(exemplars()),
    )
        .prop_map(move |(suffix, labels, value, timestamp, exemplar)| {
            let exemplar = exemplar.filter(|_| allows_exemplar(kind, suffix));
            Sample {
                suffix,
                labels,
                value,
                timestamp,
                exemplar,
            }
        })
}

pub(crate) fn allows_exemplar(kind: MetricKind, suffix: Suffix) -> bool {
    match kind {
        MetricKind::Counter => suffix == Suffix::Plain,
        MetricKind::Histogram | MetricKind::GaugeHistogram => suffix == Suffix::Bucket,
        _ => false,
    }
}

fn exemplars() -> impl Strategy<Value = SampleExemplar> {
    let short =
        btree_map("[a-z_]{1,10}", texts_of(0..20), 0..4).prop_map(|labels| labels.into_iter().collect());
    (short, values(), timestamps()).prop_map(|(labels, value, timestamp)| SampleExemplar {
        labels,
        value,
        timestamp,
    })
}

fn labels() -> impl Strategy<Value = Vec<(String, String)>> {
    let few = btree_map("[a-zA-Z_][a-zA-Z0-9_]{0,6}", texts(), 0..6);
    // Beyond the number up to which repeats are looked for pair by pair.
    let many = btree_map("[a-z]{2,3}", texts_of(0..2), 33..40);
    prop_oneof![20 => few, 1 => many]
        .prop_map(|labels| labels.into_iter().collect())
        .prop_shuffle()
}

fn texts() -> impl Strategy<Value = String> {
    texts_of(0..12)
}

/// Any characters, with those that need care more often than chance would have them.
fn texts_of(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        '\\', '"', '\n', 'n', '\r', '\t', ' ', '#', '{', '}', ',', '=', '\0', 'é',
    ]);
    vec(prop_oneof![nasty, any::<char>()], length).prop_map(|chars| chars.into_iter().collect())
}

fn values() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        any::<i32>().prop_map(f64::from),
        any::<u32>().prop_map(|thousandths| f64::from(thousandths) / 1000.0),
        prop::sample::select(vec![
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN_POSITIVE
        ]),
    ]
}

fn timestamps() -> impl Strategy<Value = Option<TimestampMillis>> {
    option::of(prop_oneof![any::<i64>(), 0..4_000_000_000_000_i64].prop_map(TimestampMillis))
}

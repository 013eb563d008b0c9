//! Properties of the arithmetic that both stores share.

use gpu_cost::{Amounts, GpuTime, Grain, Moment, Span};
use gpu_model::NanoUsd;
use proptest::prelude::*;

use super::growth::Pieces;
use super::{Measures, Source, Sums, ceil, cut, floor, plan};
use crate::retention::{Floors, Retention};

fn measures() -> impl Strategy<Value = Measures> {
    let amount = -1_000_000_000_000_i64..1_000_000_000_000;
    (
        amount.clone(),
        amount.clone(),
        amount,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(allocated, used, unmeasured, is_estimate, has_price)| Measures {
            time: GpuTime {
                held_ms: used / 7,
                used_ms: used / 9,
                unmeasured_ms: unmeasured / 11,
            },
            amounts: has_price.then_some(Amounts {
                list: NanoUsd(allocated.saturating_mul(2)),
                allocated: NanoUsd(allocated),
                used: NanoUsd(used),
                unused: NanoUsd(allocated - used - unmeasured),
                unmeasured: NanoUsd(unmeasured),
            }),
            is_estimate,
        })
}

fn row() -> impl Strategy<Value = Span> {
    (0_i64..10 * 86_400_000, 1_i64..=86_400_000)
        .prop_map(|(start, length)| Span::new(Moment(start), Moment(start + length)))
}

fn total(parts: impl Iterator<Item = Sums>) -> Sums {
    parts.fold(Sums::default(), |mut sum, part| {
        sum.add(&part).unwrap();
        sum
    })
}

proptest! {
    #[test]
    fn parts_of_any_cut_sum_to_the_row(measures in measures(), row in row(), mut at in prop::collection::vec(0.0_f64..1.0, 0..8)) {
        at.sort_by(f64::total_cmp);
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any place in the row will do")]
        let mut borders: Vec<i64> = at.iter().map(|at| row.start.0 + (at * row.milliseconds() as f64) as i64).collect();
        borders.insert(0, row.start.0);
        borders.push(row.end.0);
        let parts = borders.windows(2).map(|pair| measures.within(row, Span::new(Moment(pair[0]), Moment(pair[1]))));
        prop_assert_eq!(total(parts), measures.within(row, row));
    }

    #[test]
    fn finer_buckets_sum_to_coarser_ones_and_kinds_of_money_to_the_whole(measures in measures(), row in row()) {
        for (fine, coarse) in [(Grain::FiveMinutes, Grain::Hour), (Grain::Hour, Grain::Day)] {
            for (_, piece) in cut(coarse, row) {
                let whole = measures.within(row, piece);
                let parts = cut(fine, piece).map(|(_, part)| measures.within(row, part));
                prop_assert_eq!(total(parts), whole);
                prop_assert_eq!(whole.used + whole.unused + whole.unmeasured, whole.allocated);
            }
        }
    }

    #[test]
    fn cutting_step_by_step_is_cutting_piece_by_piece(measures in measures(), row in row(), from in 0_i64..90_000_000) {
        let from = row.start.plus(from - 1_000_000);
        let kept = Span::new(row.start.max(from), row.end);
        let expected: Vec<_> = cut(Grain::FiveMinutes, kept).map(|(_, piece)| (piece, measures.within(row, piece))).collect();
        prop_assert_eq!(Pieces::from(&measures, row, from).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_reversal_takes_back_every_part(measures in measures(), row in row()) {
        let back = Measures { time: measures.time.negated(), amounts: measures.amounts.map(Amounts::negated), ..measures };
        for (_, piece) in cut(Grain::FiveMinutes, row) {
            let both = [measures.within(row, piece), back.within(row, piece)];
            prop_assert!(total(both.into_iter()).is_zero());
        }
    }

    #[test]
    fn a_plan_covers_its_window_once_in_whole_buckets(window in row(), days in 0_i64..40, grains in 0_usize..3, closed in 0_i64..50) {
        let window = Span::new(window.start, window.end.plus(days * 86_400_000));
        let source = Source { grains: &Grain::ALL[grains..], coarsest: Grain::Day, days_until: Moment(closed * 86_400_000) };
        let segments = plan(window, source, &Floors::NOTHING_DROPPED).unwrap();
        let mut reached = window.start;
        for segment in segments {
            prop_assert_eq!(segment.span.start, reached);
            prop_assert!(!segment.span.is_empty());
            reached = segment.span.end;
            if let Some(grain) = segment.grain {
                prop_assert_eq!(floor(grain, segment.span.start), segment.span.start);
                prop_assert_eq!(ceil(grain, segment.span.end), segment.span.end);
                prop_assert!(grain != Grain::Day || segment.span.end <= source.days_until);
            }
        }
        prop_assert_eq!(reached, window.end);
    }
}

#[test]
fn a_cost_attribution_only_lengthens() {
    let kept = Retention::default();
    assert_eq!(kept.lengthened_by(1), kept);
    assert_eq!(kept.lengthened_by(90).hourly_days, 90);
    assert_eq!(kept.lengthened_by(365).daily_days, 400);
    assert_eq!(kept.lengthened_by(900).daily_days, 900);
    kept.lengthened_by(u16::MAX).checked().unwrap();
}

//! What holds for every fleet.

use std::collections::BTreeMap;

use gpu_cost::{
    Amounts, Entry, Event, GpuTime, Grain, LedgerRow, Moment, Part, PriceNote, Slot, Span, Subject, charge,
    correct, roll_up, roll_up_further, standing,
};
use gpu_model::NanoUsd;
use proptest::prelude::*;

use crate::arbitrary::{World, world};
use crate::fleet::{HOUR, books, hour};

fn settle(world: &World) -> Vec<LedgerRow> {
    books(&world.events).settle(hour(), &world.prices, &world.settings)
}

/// When a machine cost money within the hour.
fn paid(world: &World, id: &str) -> Span {
    let mut launched = Moment(i64::MAX);
    let mut gone = Moment(i64::MAX);
    for event in world.events.iter().filter(|event| event.machine().as_str() == id) {
        match event {
            Event::Launched { at, .. } => launched = launched.min(*at),
            Event::Gone { end, .. } => gone = gone.min(end.at),
            _ => {}
        }
    }
    Span::new(launched, gone).overlap(hour())
}

fn by_machine(rows: &[LedgerRow]) -> BTreeMap<&str, Vec<&LedgerRow>> {
    let mut machines: BTreeMap<&str, Vec<&LedgerRow>> = BTreeMap::new();
    for row in rows {
        if let Subject::Machine(machine) = &row.subject {
            machines.entry(machine.id.as_str()).or_default().push(row);
        }
    }
    machines
}

/// The stretches of one price, put together from the rows.
fn priced_stretches<'a>(rows: &[&'a LedgerRow]) -> Vec<(Span, &'a PriceNote)> {
    let mut cuts: Vec<(Span, &PriceNote)> = rows.iter().map(|row| (row.span, &row.price)).collect();
    cuts.sort_by_key(|(span, _)| (span.start, span.end));
    let mut stretches: Vec<(Span, &PriceNote)> = Vec::new();
    for (span, price) in cuts {
        match stretches.last_mut() {
            Some((before, same)) if *same == price => before.end = before.end.max(span.end),
            _ => stretches.push((span, price)),
        }
    }
    stretches
}

fn sum(rows: &[LedgerRow]) -> (Amounts, GpuTime) {
    rows.iter()
        .fold(Default::default(), |(amounts, time): (Amounts, GpuTime), row| {
            (amounts.plus(row.amounts.unwrap_or_default()), time.plus(row.time))
        })
}

proptest! {
    #[test]
    fn parts_of_a_machine_sum_to_its_price_times_its_time(world in world()) {
        let rows = settle(&world);
        for (id, rows) in by_machine(&rows) {
            let mut due = 0;
            let mut covered = 0;
            for (span, price) in priced_stretches(&rows) {
                due += price.rate().map_or(0, |rate| charge(rate, span).0);
                covered += span.milliseconds();
            }
            prop_assert_eq!(covered, paid(&world, id).milliseconds(), "every millisecond has a row");
            let charged: i64 = rows.iter().filter_map(|row| row.amounts).map(|amounts| amounts.allocated.0).sum();
            prop_assert_eq!(charged, due);
        }
    }

    #[test]
    fn shares_of_a_gpu_sum_to_the_time_that_passed(world in world()) {
        let rows = settle(&world);
        let mut gpus: BTreeMap<(&str, &str), (i64, Moment, Moment)> = BTreeMap::new();
        for row in &rows {
            if let Slot::Gpu { gpu, .. } = &row.slot {
                let sum = gpus.entry((row.subject.id(), gpu.as_str())).or_insert((0, row.span.start, row.span.end));
                *sum = (sum.0 + row.time.held_ms, sum.1.min(row.span.start), sum.2.max(row.span.end));
            }
        }
        for ((machine, _), (held, start, end)) in gpus {
            prop_assert_eq!(held, Span::new(start, end).milliseconds());
            prop_assert_eq!(end, paid(&world, machine).end);
        }
    }

    #[test]
    fn nothing_is_negative_and_the_gap_is_named_in_full(world in world()) {
        for row in settle(&world) {
            prop_assert!(row.time.held_ms >= 0 && row.time.used_ms >= 0 && row.time.unmeasured_ms >= 0);
            prop_assert!(row.time.used_ms + row.time.unmeasured_ms <= row.time.held_ms);
            prop_assert!(!row.span.is_empty() && row.span.overlap(hour()) == row.span);
            if let Some(amounts) = row.amounts {
                let parts = [amounts.used, amounts.unused, amounts.unmeasured];
                prop_assert!(parts.iter().all(|part| part.0 >= 0) && amounts.list.0 >= 0);
                prop_assert_eq!(parts.into_iter().sum::<NanoUsd>(), amounts.allocated);
            }
            prop_assert_eq!(row.amounts.is_none(), matches!(row.price, PriceNote::Unpriced { .. }));
            let has_holder = matches!(row.part, Part::Pod);
            prop_assert_eq!(row.holder.is_some(), has_holder);
        }
    }

    #[test]
    fn order_and_number_of_events_do_not_matter(world in world(), seed: u64) {
        let once = settle(&world);
        let mut shuffled = world.clone();
        shuffled.events.extend_from_slice(&world.events);
        let count = shuffled.events.len() as u64;
        if count > 0 {
            for index in 0..shuffled.events.len() {
                let other = (seed.wrapping_mul(index as u64 * 2 + 1) >> 7) % count;
                shuffled.events.swap(index, usize::try_from(other).unwrap());
            }
        }
        prop_assert_eq!(settle(&shuffled), once);
    }

    #[test]
    fn settling_again_changes_nothing_and_keys_are_unique(world in world()) {
        let rows = settle(&world);
        prop_assert_eq!(correct(&rows, settle(&world)), vec![]);
        let mut keys: Vec<_> = rows.iter().map(|row| row.key).collect();
        keys.sort();
        keys.dedup();
        prop_assert_eq!(keys.len(), rows.len());
    }

    #[test]
    fn a_correction_ends_where_a_fresh_start_would(world in world(), late in any::<prop::sample::Index>(), back: bool) {
        let mut early = world.clone();
        if !early.events.is_empty() {
            early.events.remove(late.index(world.events.len()));
        }
        let mut ledger = settle(&early);
        ledger.extend(correct(&ledger, settle(&world)));
        if back {
            // And back again: keys of a state that returns are new ones.
            ledger.extend(correct(&ledger, settle(&early)));
            ledger.extend(correct(&ledger, settle(&world)));
        }
        let mut keys: Vec<_> = ledger.iter().map(|row| row.key).collect();
        keys.sort();
        keys.dedup();
        prop_assert_eq!(keys.len(), ledger.len());
        let fresh = settle(&world);
        prop_assert_eq!(sum(&ledger), sum(&fresh));
        let stands = standing(&ledger);
        for row in &stands {
            prop_assert!(fresh.iter().any(|other| other.same_content(row)));
            prop_assert_eq!(row.entry, Entry::Charge);
        }
        prop_assert_eq!(stands.len(), fresh.len());
    }

    #[test]
    fn forgetting_what_is_closed_changes_no_later_window(world in world()) {
        let next = Span::new(hour().end, hour().end.plus(3_600_000));
        let mut all = books(&world.events);
        let before = all.settle(next, &world.prices, &world.settings);
        all.forget_before(hour().end);
        let after = all.settle(next, &world.prices, &world.settings);
        prop_assert!(all.machine_count() <= 3);
        prop_assert_eq!(before, after);
    }

    #[test]
    fn roll_ups_sum_to_the_rows(world in world()) {
        let rows = settle(&world);
        let fine = roll_up(&rows, Grain::FiveMinutes);
        let hours = roll_up(&rows, Grain::Hour);
        let total = |sums: &[gpu_cost::RollupRow]| {
            sums.iter().fold((Amounts::default(), GpuTime::default()), |(amounts, time), row| {
                (amounts.plus(row.amounts), time.plus(row.time))
            })
        };
        prop_assert_eq!(total(&fine), sum(&rows));
        prop_assert_eq!(total(&hours), sum(&rows));
        prop_assert_eq!(total(&roll_up_further(&fine, Grain::Day)), sum(&rows));
        for row in &fine {
            let amounts = row.amounts;
            prop_assert_eq!(amounts.used.0 + amounts.unused.0 + amounts.unmeasured.0, amounts.allocated.0);
        }
        let mut undone = rows.clone();
        undone.extend(correct(&rows, Vec::new()));
        prop_assert_eq!(roll_up(&undone, Grain::FiveMinutes), vec![]);
    }

    #[test]
    fn a_span_costs_as_much_as_its_pieces(rate in 0i64..1_000_000_000_000, cuts in prop::collection::vec(0i64..7_200_000, 2..20)) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        let at = |cut: i64| Moment(HOUR + cut);
        let whole = charge(NanoUsd(rate), Span::new(at(cuts[0]), at(cuts[cuts.len() - 1])));
        let pieces: i64 = cuts.windows(2).map(|pair| charge(NanoUsd(rate), Span::new(at(pair[0]), at(pair[1]))).0).sum();
        prop_assert_eq!(whole.0, pieces);
    }
}

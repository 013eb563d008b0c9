//! What a slot remembers, what is refused, and what a set of reasons does not know.

use gpu_model::Reading;

use super::{Accepted, DeviceReadings, Field, PartField, Parts, ThrottleReason, ThrottleSet, Values};

#[test]
fn a_slot_gives_back_what_was_put_in() {
    let mut values = Values::default();
    assert_eq!(values.get(Field::HotspotTemperature), Reading::Unsupported);
    for reading in [
        Reading::Known(-0.0),
        Reading::Known(42.5),
        Reading::Failed,
        Reading::Unsupported,
    ] {
        assert_eq!(values.set(Field::HotspotTemperature, reading), Accepted::Yes);
        assert_eq!(values.get(Field::HotspotTemperature), reading);
    }
    for nonsense in [f64::NAN, f64::INFINITY, -f64::NAN, 1e9] {
        assert_eq!(
            values.set(Field::HotspotTemperature, Reading::Known(nonsense)),
            Accepted::OutOfRange
        );
        assert_eq!(values.get(Field::HotspotTemperature), Reading::Failed);
    }
}

#[test]
fn every_slice_carries_all_slots_so_they_stay_small() {
    let bytes = size_of::<Values>();
    assert_eq!(bytes, 8 * Field::COUNT);
    assert!(bytes <= 1_536, "{bytes} bytes for every device and slice");
}

#[test]
fn a_part_is_listed_once_and_only_when_it_was_read() {
    let mut readings = DeviceReadings::default();
    readings.push(PartField::GraphicsClock, 0, Reading::Known(2.1e9));
    readings.push(PartField::GraphicsClock, 1, Reading::Failed);
    readings.push(PartField::GraphicsClock, 2, Reading::Known(6.5e13));
    readings.push(PartField::GraphicsClock, 0, Reading::Known(1.0e9));
    readings.push(PartField::JpegBusy, 0, Reading::Known(0.5));
    let clocks: Vec<_> = readings.parts.of(PartField::GraphicsClock).collect();
    assert_eq!(clocks, [(0, 2.1e9)]);
    assert_eq!(readings.rejected, 1);
}

#[test]
fn a_broken_table_cannot_fill_the_memory() {
    let mut parts = Parts::default();
    let refused = (0..u16::MAX)
        .filter(|index| parts.push(PartField::JpegBusy, *index, Reading::Known(0.0)) != Accepted::Yes)
        .count();
    assert_eq!(refused, usize::from(u16::MAX) - 1_024);
}

#[test]
fn a_reason_that_nobody_judges_neither_holds_nor_not() {
    let mut set = ThrottleSet::judging(&[ThrottleReason::PowerCap, ThrottleReason::MemoryThermal]);
    set.insert(ThrottleReason::MemoryThermal);
    assert_eq!(set.judgement(ThrottleReason::PowerCap), Some(false));
    assert_eq!(set.judgement(ThrottleReason::MemoryThermal), Some(true));
    assert_eq!(set.judgement(ThrottleReason::SyncBoost), None);
    assert_eq!(
        ThrottleSet::default().judgement(ThrottleReason::ProcessorHot),
        None
    );
    assert_eq!(
        ThrottleSet::default().judgement(ThrottleReason::SyncBoost),
        Some(false)
    );
}

#[test]
fn reasons_are_in_the_order_of_their_words() {
    let words = ThrottleReason::ALL.map(ThrottleReason::as_str);
    assert!(words.is_sorted(), "{words:?}");
}

//! From tables to readings: what is there, what is not, and what only looks like a number.

use gpu_model::Reading;

use super::{Metrics, fill, generation};
use crate::readings::{DeviceReadings, Field, PartField};

fn filled(change: impl FnOnce(&mut Metrics)) -> DeviceReadings {
    let mut table = Metrics::EMPTY;
    change(&mut table);
    let mut readings = DeviceReadings::default();
    fill(&table, &mut readings);
    readings
}

#[test]
fn an_empty_table_says_nothing() {
    let readings = filled(|_| {});
    assert_eq!(readings, DeviceReadings::default());
}

#[test]
fn a_table_before_its_first_sample_is_not_cold_and_without_power() {
    let readings = filled(|table| {
        table.hotspot_celsius = Some(0.0);
        table.socket_power_watts = Some(0.0);
        table.gfx_volts = Some(0.0);
        table.hbm_celsius[0] = Some(0.0);
    });
    assert_eq!(readings, DeviceReadings::default());
}

#[test]
fn clocks_that_stand_still_do() {
    let readings = filled(|table| table.gfx_clock_hertz[0] = Some(0.0));
    assert_eq!(readings.values.known(Field::GraphicsClock), Some(0.0));
    assert!(readings.parts.is_empty(), "one clock is the device's own");
}

#[test]
fn a_device_with_several_dies_shows_their_mean_and_each() {
    let readings = filled(|table| {
        table.soc_clock_hertz[0] = Some(1e9);
        table.soc_clock_hertz[2] = Some(2e9);
    });
    assert_eq!(readings.values.known(Field::SocClock), Some(1.5e9));
    let each: Vec<(u16, f64)> = readings.parts.of(PartField::SocClock).collect();
    assert_eq!(each, [(0, 1e9), (2, 2e9)]);
}

#[test]
fn links_without_a_neighbour_are_left_out() {
    let readings = filled(|table| {
        table.xgmi_read_bytes = [Some(0); 8];
        table.xgmi_write_bytes = [Some(0); 8];
        table.xgmi_write_bytes[1] = Some(2_048);
        table.xgmi_link_active[3] = Some(true);
        table.xgmi_link_lanes = Some(16);
    });
    let links: Vec<u32> = readings.links.iter().map(|link| link.link).collect();
    assert_eq!(links, [1, 3]);
    assert_eq!(readings.links[0].sent_bytes, Reading::Known(2_048.0));
    assert_eq!(readings.links[0].received_bytes, Reading::Known(0.0));
    assert_eq!(readings.values.known(Field::LinkSentBytes), Some(2_048.0));
    assert_eq!(
        filled(|table| table.xgmi_link_lanes = Some(16))
            .values
            .known(Field::LinkWidth),
        None
    );
}

#[test]
fn speeds_have_generations() {
    assert_eq!(generation(2.5e9), Some(1.0));
    assert_eq!(generation(16e9), Some(4.0));
    assert_eq!(generation(32e9), Some(5.0));
    assert_eq!(generation(33e9), None);
}

#[test]
fn numbers_that_cannot_be_true_are_refused_and_counted() {
    let readings = filled(|table| {
        table.hotspot_celsius = Some(65_000.0);
        table.pcie_replay_count = Some(u64::MAX);
    });
    assert_eq!(readings.values.get(Field::HotspotTemperature), Reading::Failed);
    assert_eq!(readings.rejected, 2);
}

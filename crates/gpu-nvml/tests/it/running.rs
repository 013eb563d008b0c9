//! The double's own clockwork: counters run, keep what they have, and calls take their time.

use std::time::{Duration, Instant};

use gpu_nvml::{Direction, Field};
use gpu_nvml_double::scenario::Scenario;

use crate::machine::{Machine, eventually};

#[test]
fn frozen_counters_stand_still_and_running_ones_do_not() {
    let frozen = Machine::new(Scenario::h100_x8()).first();
    let energy = frozen.energy().unwrap();
    for _ in 0..100 {
        assert_eq!(frozen.energy(), Ok(energy));
    }
    let mut machine = Machine::new(Scenario::h100_x8().running());
    machine.change(|scenario| scenario.gpus[0].clock_reasons = 0x20);
    let device = machine.first();
    let read = |field: Field| device.field(field).unwrap().unsigned().unwrap();
    let fields = [
        Field::Energy,
        Field::PcieSent,
        Field::PcieReceived,
        Field::LinkSent,
        Field::LinkReceived,
        Field::ReasonSoftwareThermal,
    ];
    let before = fields.map(read);
    eventually("every counter moves", || {
        fields.map(read).iter().zip(&before).all(|(now, then)| now > then)
    });
}

#[test]
fn energy_follows_power_and_never_falls_back() {
    let mut machine = Machine::new(Scenario::t4_time_sliced().running());
    machine.change(|scenario| scenario.gpus[0].power.as_mut().unwrap().usage = 50_000);
    let device = machine.first();
    // The clock is read on both sides of each reading, so that a slow machine widens the bounds and breaks nothing.
    let before_first = Instant::now();
    let first = device.energy().unwrap();
    let after_first = Instant::now();
    eventually("20 joules are used", || {
        device.energy().unwrap().0 >= first.0 + 20_000
    });
    let before_last = Instant::now();
    let used = Duration::from_millis((device.energy().unwrap().0 - first.0) / 50);
    let shortest = before_last - after_first;
    let longest = before_first.elapsed();
    let rounding = Duration::from_millis(2);
    assert!(
        used + rounding >= shortest && used <= longest + rounding,
        "{used:?} of 50 W in {longest:?}"
    );
    let last = device.energy().unwrap();
    machine.change(|scenario| scenario.gpus[0].power.as_mut().unwrap().usage = 10);
    eventually("the new power is seen", || device.power().unwrap().0 == 10);
    assert!(device.energy().unwrap() >= last);
}

#[test]
fn a_blocking_call_takes_as_long_as_documented() {
    let device = Machine::with_latency(Scenario::t4_time_sliced()).first();
    let started = Instant::now();
    device.pcie_throughput(Direction::Sent).unwrap();
    assert!(started.elapsed() >= Duration::from_millis(20));
}

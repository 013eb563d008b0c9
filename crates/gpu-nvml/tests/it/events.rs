//! XIDs reach the thread that waits for them, each once.

use std::time::Duration;

use gpu_nvml::{Fault, MigInstance, Nvml};
use gpu_nvml_double::scenario::{Scenario, XidEvent};

use crate::machine::Machine;

const SOON: Duration = Duration::from_secs(20);
const NOW: Duration = Duration::from_millis(50);

fn xid(id: u64, gpu: String, code: u64) -> XidEvent {
    XidEvent {
        id,
        gpu,
        code,
        gpu_instance: None,
        compute_instance: None,
    }
}

fn watching(nvml: &Nvml) -> gpu_nvml::EventSet {
    let mut set = nvml.event_set().unwrap();
    for index in 0..nvml.device_count().unwrap() {
        set.watch(&nvml.device(index).unwrap()).unwrap();
    }
    set
}

#[test]
fn each_xid_is_delivered_once_to_the_one_that_waits() {
    let mut machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let set = watching(&nvml);
    assert_eq!(set.wait(NOW), Ok(None));
    let (first, second) = (xid(1, machine.uuid(2), 79), xid(2, machine.uuid(5), 48));
    machine.change(|scenario| scenario.events = vec![first, second]);
    let one = set.wait(SOON).unwrap().unwrap();
    assert_eq!((one.gpu.as_str(), one.code), (machine.uuid(2).as_str(), 79));
    assert_eq!(one.instance, None);
    let two = set.wait(SOON).unwrap().unwrap();
    assert_eq!((two.gpu.as_str(), two.code), (machine.uuid(5).as_str(), 48));
    assert_eq!(set.wait(NOW), Ok(None));
}

#[test]
fn the_last_words_of_a_gpu_are_heard() {
    let mut machine = Machine::new(Scenario::a100_mixed_mig());
    let nvml = machine.nvml();
    let set = watching(&nvml);
    let mut last = xid(1, machine.uuid(0), 119);
    last.gpu_instance = Some(5);
    last.compute_instance = Some(0);
    machine.change(|scenario| {
        scenario.events = vec![last];
        scenario.gpus[0].lost = true;
    });
    let heard = set.wait(SOON).unwrap().unwrap();
    assert_eq!(heard.code, 119);
    let expected = MigInstance {
        gpu_instance: 5,
        compute_instance: 0,
    };
    assert_eq!(heard.instance, Some(expected));
}

#[test]
fn a_gpu_without_events_is_said_to_be_so() {
    let nvml = Machine::new(Scenario::rtx3080()).nvml();
    let mut set = nvml.event_set().unwrap();
    assert_eq!(set.watch(&nvml.device(0).unwrap()), Err(Fault::Unsupported));
    assert_eq!(set.wait(Duration::ZERO), Ok(None));
}

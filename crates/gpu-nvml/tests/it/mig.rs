//! Slices: found with their names, memory and processes; gone when they are gone.

use gpu_model::Bytes;
use gpu_nvml::{Fault, MigInstance, ProcessList, ProcessSamples, Sliced};
use gpu_nvml_double::scenario::Scenario;

use crate::machine::{Machine, eventually};

#[test]
fn slices_are_listed_with_what_they_are() {
    let machine = Machine::new(Scenario::a100_mixed_mig());
    let device = machine.first();
    assert_eq!(device.mig_mode().unwrap().current, Sliced::Yes);
    assert_eq!(device.utilization(), Err(Fault::Unsupported));
    let slices = device.mig_devices().unwrap();
    let shown: Vec<String> = slices
        .iter()
        .map(|slice| {
            let memory = slice.device.memory().unwrap();
            format!(
                "{} gi {} ci {} sm {} used {} of {} MiB",
                slice.profile,
                slice.instance.gpu_instance,
                slice.instance.compute_instance,
                slice.attributes.multiprocessors,
                memory.used.whole_mib(),
                memory.total.whole_mib(),
            )
        })
        .collect();
    let expected = [
        "3g.40gb gi 1 ci 0 sm 42 used 20096 of 40192 MiB",
        "2g.20gb gi 5 ci 0 sm 28 used 9984 of 19968 MiB",
        "1g.10gb gi 13 ci 0 sm 14 used 4928 of 9856 MiB",
    ];
    assert_eq!(shown, expected);
    assert!(slices.iter().all(|slice| slice.uuid.as_str().starts_with("MIG-")));
    let by_uuid = machine.nvml().device_by_uuid(slices[1].uuid.as_str()).unwrap();
    assert_eq!(by_uuid.uuid().unwrap(), slices[1].uuid);
    let parent = slices[0].device.mig_parent().unwrap();
    assert_eq!(parent.uuid().unwrap().as_str(), machine.uuid(0));
}

#[test]
fn a_name_without_the_profile_is_completed() {
    let mut scenario = Scenario::a100_mixed_mig();
    // As on drivers that name a slice like its GPU: the text before ` MIG ` is all there is.
    scenario.gpus[0].name = "NVIDIA A100".to_owned();
    for slice in scenario.gpus[0]
        .mig
        .as_mut()
        .unwrap()
        .instances
        .iter_mut()
        .flatten()
    {
        slice.profile = String::new();
    }
    let slices = Machine::new(scenario).first().mig_devices().unwrap();
    let profiles: Vec<&str> = slices.iter().map(|slice| slice.profile.as_str()).collect();
    assert_eq!(profiles, ["3g.40gb", "2g.20gb", "1g.10gb"]);
}

#[test]
fn processes_say_in_which_slice_they_run() {
    let device = Machine::new(Scenario::a100_mixed_mig()).first();
    let mut list = ProcessList::default();
    device.processes(&mut list).unwrap();
    let inside: Vec<_> = list
        .iter()
        .map(|process| (process.pid, process.instance))
        .collect();
    let instance = |gpu_instance| {
        Some(MigInstance {
            gpu_instance,
            compute_instance: 0,
        })
    };
    assert_eq!(inside, [(4100, instance(1)), (4101, instance(5))]);
    let slices = device.mig_devices().unwrap();
    slices[1].device.processes(&mut list).unwrap();
    assert_eq!(list.as_slice().len(), 1);
    assert_eq!(list.as_slice()[0].memory, Some(Bytes::from_mib(9_984)));
    let mut samples = ProcessSamples::default();
    assert_eq!(
        device.process_utilization(0, &mut samples),
        Err(Fault::Unsupported)
    );
}

#[test]
fn a_gpu_without_slices_has_none() {
    let whole = Machine::new(Scenario::h100_x8()).first();
    assert_eq!(whole.mig_devices().unwrap_err(), Fault::Unsupported);
    let plain = Machine::new(Scenario::t4_time_sliced()).first();
    assert_eq!(plain.mig_mode(), Err(Fault::Unsupported));
    assert!(plain.mig_devices().unwrap().is_empty());
}

#[test]
fn a_new_layout_is_seen_and_old_slices_end() {
    let mut machine = Machine::new(Scenario::a100_mixed_mig());
    let device = machine.first();
    let old = device.mig_devices().unwrap();
    machine.change(|scenario| {
        let mig = scenario.gpus[0].mig.as_mut().unwrap();
        mig.instances[0] = None;
    });
    eventually("the slice is gone", || device.mig_devices().unwrap().len() == 2);
    assert_eq!(old[0].device.memory(), Err(Fault::NotFound));
    assert!(old[1].device.memory().is_ok());
}

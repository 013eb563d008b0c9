//! Who uses a GPU and how much.

use gpu_model::Bytes;
use gpu_nvml::{Fault, Process, ProcessKind, ProcessList, ProcessSamples};
use gpu_nvml_double::scenario::{self, FaultKind, Scenario};

use crate::machine::{Machine, eventually};

#[track_caller]
fn check(scenario: Scenario, expected: &[(u32, ProcessKind, Option<u64>)]) {
    let device = Machine::new(scenario).first();
    let mut list = ProcessList::default();
    device.processes(&mut list).unwrap();
    let expected: Vec<Process> = expected
        .iter()
        .map(|(pid, kind, mib)| Process {
            pid: *pid,
            instance: None,
            kind: *kind,
            memory: mib.map(Bytes::from_mib),
        })
        .collect();
    assert_eq!(list.as_slice(), expected);
}

#[test]
fn each_process_is_listed_once_by_what_it_is() {
    check(
        Scenario::rtx3080(),
        &[
            (1500, ProcessKind::Graphics, Some(350)),
            (4000, ProcessKind::Compute, Some(2_560)),
        ],
    );
    // The driver lists clients of MPS among the compute processes too.
    check(
        Scenario::l40s_mps(),
        &[
            (4300, ProcessKind::Compute, Some(30)),
            (4301, ProcessKind::Mps, Some(6_000)),
            (4302, ProcessKind::Mps, Some(4_000)),
        ],
    );
    let mut both = Scenario::rtx3080();
    let twin = scenario::Process {
        kind: scenario::ProcessKind::Graphics,
        ..both.gpus[0].processes[0].clone()
    };
    both.gpus[0].processes = vec![both.gpus[0].processes[0].clone(), twin];
    check(both, &[(4000, ProcessKind::ComputeAndGraphics, Some(2_560))]);
}

#[test]
fn unknown_memory_is_absent() {
    let mut scenario = Scenario::rtx3080();
    scenario.gpus[0].processes.truncate(1);
    scenario.gpus[0].processes[0].memory = None;
    check(scenario, &[(4000, ProcessKind::Compute, None)]);
}

#[test]
fn older_drivers_list_by_the_older_name() {
    let mut scenario = Scenario::t4_time_sliced();
    scenario.hide = ["Compute", "Graphics", "MPSCompute"]
        .map(|kind| format!("nvmlDeviceGet{kind}RunningProcesses_v3"))
        .into();
    let device = Machine::new(scenario.clone()).first();
    let mut list = ProcessList::default();
    device.processes(&mut list).unwrap();
    assert_eq!(list.as_slice().len(), 4);
    for kind in ["Compute", "Graphics", "MPSCompute"] {
        scenario
            .hide
            .push(format!("nvmlDeviceGet{kind}RunningProcesses_v2"));
    }
    let device = Machine::new(scenario).first();
    assert_eq!(device.processes(&mut list), Err(Fault::Unsupported));
}

#[test]
fn a_list_grows_with_the_processes() {
    let mut machine = Machine::new(Scenario::t4_time_sliced());
    let device = machine.first();
    let mut list = ProcessList::default();
    device.processes(&mut list).unwrap();
    assert_eq!(list.as_slice().len(), 4);
    machine.change(|scenario| {
        scenario.gpus[0].processes = (1..=500)
            .map(|pid| scenario::Process::compute(pid, 1, 1))
            .collect();
    });
    eventually("all are listed", || {
        device.processes(&mut list).unwrap();
        list.as_slice().len() == 500
    });
}

#[test]
fn a_failed_list_is_empty() {
    let mut machine = Machine::new(Scenario::t4_time_sliced());
    let device = machine.first();
    let mut list = ProcessList::default();
    device.processes(&mut list).unwrap();
    let failing = scenario::Fault::new("nvmlDeviceGetGraphicsRunningProcesses_v3", FaultKind::Fail(999));
    machine.change(|scenario| scenario.faults = vec![failing]);
    eventually("the call fails", || {
        device.processes(&mut list) == Err(Fault::Other(999))
    });
    assert!(list.as_slice().is_empty());
}

#[test]
fn samples_come_once_and_then_only_newer_ones() {
    let machine = Machine::new(Scenario::t4_time_sliced());
    let device = machine.first();
    let mut samples = ProcessSamples::default();
    device.process_utilization(0, &mut samples).unwrap();
    let newest = samples.newest().unwrap();
    for pid in 4200..4204 {
        let own: Vec<_> = samples.iter().filter(|sample| sample.pid == pid).collect();
        assert!(!own.is_empty() && own.iter().all(|sample| sample.sm == 30 - 5 * (pid - 4200)));
    }
    // Asked for what lies in the future there is nothing, which is no fault.
    device
        .process_utilization(newest + 3_600_000_000, &mut samples)
        .unwrap();
    assert_eq!(samples.newest(), None);
    eventually("newer samples come", || {
        device.process_utilization(newest, &mut samples).unwrap();
        samples.newest().is_some()
    });
    assert!(samples.iter().all(|sample| sample.at > newest));
    // Once the room is known a question is one call.
    drop(device);
    let tally = machine.installed.tally().unwrap();
    assert!(tally.of("nvmlDeviceGetProcessUtilization") >= 3);
}

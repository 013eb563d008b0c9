//! Each way in which a driver or a GPU fails.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use gpu_model::Reading;
use gpu_nvml::{AnswerExt, Device, Fault, Field, FieldBatch};
use gpu_nvml_double::scenario::{self, FaultKind, Scenario};

use crate::machine::{Machine, eventually};

#[track_caller]
fn check_code(code: u32, expected: Fault, class: &str) {
    let mut scenario = Scenario::h100_x8();
    scenario.faults = vec![scenario::Fault::new(
        "nvmlDeviceGetPowerUsage",
        FaultKind::Fail(code),
    )];
    let device = Machine::new(scenario).first();
    let fault = device.power().unwrap_err();
    assert_eq!(fault, expected);
    assert_eq!(fault.class(), class);
    let reading = if expected == Fault::Unsupported {
        Reading::Unsupported
    } else {
        Reading::Failed
    };
    assert_eq!(device.power().reading(), reading);
    assert!(device.temperature().is_ok(), "one failed call costs one value");
}

#[test]
fn codes_become_classes() {
    check_code(1, Fault::Uninitialized, "uninitialized");
    check_code(3, Fault::Unsupported, "unsupported");
    check_code(4, Fault::NoPermission, "no_permission");
    check_code(6, Fault::NotFound, "not_found");
    check_code(10, Fault::Timeout, "timeout");
    check_code(13, Fault::Unsupported, "unsupported");
    check_code(15, Fault::Lost, "lost");
    check_code(16, Fault::ResetRequired, "reset_required");
    check_code(18, Fault::VersionMismatch, "version_mismatch");
    check_code(21, Fault::NoData, "no_data");
    check_code(999, Fault::Other(999), "other");
}

#[test]
fn a_lost_gpu_costs_only_itself_and_is_found_again() {
    let mut machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let (lost, other) = (nvml.device(3).unwrap(), nvml.device(4).unwrap());
    machine.change(|scenario| scenario.gpus[3].lost = true);
    eventually("it is lost", || lost.power() == Err(Fault::Lost));
    assert_eq!(lost.uuid(), Err(Fault::Lost));
    assert_eq!(other.power().map(|_| ()), Ok(()));
    assert_eq!(nvml.device_count(), Ok(8));
    machine.change(|scenario| scenario.gpus[3].vanished = true);
    eventually("it is not counted", || nvml.device_count() == Ok(7));
    machine.change(|scenario| {
        scenario.gpus[3].lost = false;
        scenario.gpus[3].vanished = false;
    });
    eventually("it is back", || lost.power().is_ok());
}

/// Asks in a thread of its own and tells when the answer is there.
fn ask(device: Device) -> mpsc::Receiver<bool> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(device.power().is_ok()));
    receiver
}

const SOON: Duration = Duration::from_secs(20);
const NOT_YET: Duration = Duration::from_millis(100);

#[test]
fn a_hung_gpu_leaves_the_others_alone() {
    let mut machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let hung = scenario::Fault::new("*", FaultKind::Hang).on(&machine.uuid(0));
    machine.change(|scenario| scenario.faults = vec![hung]);
    let first = nvml.device(0).unwrap();
    let mut answer = ask(first.clone());
    // The change may be seen only by a later call.
    while answer.recv_timeout(NOT_YET).is_ok() {
        answer = ask(first.clone());
    }
    assert!(ask(nvml.device(1).unwrap()).recv_timeout(SOON).unwrap());
    // The driver is let go when the last call returns, and not before.
    assert_eq!(nvml.release(), 1);
    assert_eq!(machine.installed.tally().unwrap().of("nvmlShutdown"), 0);
    machine.change(|scenario| scenario.faults.clear());
    assert!(answer.recv_timeout(SOON).unwrap());
    eventually("the last call shuts down", || {
        machine.installed.tally().unwrap().of("nvmlShutdown") == 1
    });
}

#[test]
fn a_driver_that_serialises_stops_everything_until_it_goes_on() {
    let mut machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let hung = scenario::Fault::new("nvmlDeviceGetPowerUsage", FaultKind::HangAll).on(&machine.uuid(0));
    machine.change(|scenario| scenario.faults = vec![hung]);
    let (first, second) = (nvml.device(0).unwrap(), nvml.device(1).unwrap());
    let mut answer = ask(first.clone());
    while answer.recv_timeout(NOT_YET).is_ok() {
        answer = ask(first.clone());
    }
    let beside = ask(second);
    assert!(beside.recv_timeout(NOT_YET).is_err(), "the driver is locked");
    machine.change(|scenario| scenario.faults.clear());
    assert!(answer.recv_timeout(SOON).unwrap());
    assert!(beside.recv_timeout(SOON).unwrap());
}

#[track_caller]
fn check_driver(driver: &str) {
    let mut scenario = Scenario::h100_x8().with_driver(driver);
    let throttled = scenario.gpus[0].throttled.as_mut().unwrap();
    throttled.sw_thermal = 101;
    throttled.hw_thermal = 102;
    throttled.hw_power_brake = 103;
    let nvml = Machine::new(scenario).nvml();
    let device = nvml.device(0).unwrap();
    let fields = [
        Field::ReasonSoftwareThermal,
        Field::ReasonHardwareThermal,
        Field::ReasonHardwarePowerBrake,
    ];
    let mut batch = FieldBatch::new(nvml.driver_version(), &fields.map(Into::into));
    device.read_fields(&mut batch).unwrap();
    let values: Vec<u64> = (0..3)
        .map(|place| batch.get(place).unwrap().unsigned().unwrap())
        .collect();
    assert_eq!(values, [101, 102, 103], "{driver}");
    assert_eq!(device.field(fields[0]).unwrap().unsigned(), Ok(101), "{driver}");
}

#[test]
fn renumbered_fields_mean_the_same_under_every_driver() {
    for driver in ["570.133.20", "580.65.06", "580.82.07", "590.44.01"] {
        check_driver(driver);
    }
}

#[test]
fn a_failed_batch_keeps_no_old_values() {
    let mut machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let device = nvml.device(0).unwrap();
    let mut batch = FieldBatch::new(
        nvml.driver_version(),
        &[Field::Energy.into(), Field::RetiredPending.into()],
    );
    device.read_fields(&mut batch).unwrap();
    assert!(batch.get(0).is_ok());
    assert_eq!(batch.get(1), Err(Fault::Unsupported));
    machine.change(|scenario| scenario.gpus[0].lost = true);
    eventually("it is lost", || {
        device.read_fields(&mut batch) == Err(Fault::Lost)
    });
    assert_eq!(batch.get(0), Err(Fault::NoData));
}

#[test]
fn utilisation_restricted_by_a_cloud_still_shows_processes_and_power() {
    let mut scenario = Scenario::t4_time_sliced();
    scenario.gpus[0].restrict();
    let device = Machine::new(scenario).first();
    assert_eq!(device.utilization().unwrap().gpu.0, 0);
    assert!(device.power().unwrap().0 > 40_000);
    let mut processes = gpu_nvml::ProcessList::default();
    device.processes(&mut processes).unwrap();
    assert_eq!(processes.as_slice().len(), 4);
}

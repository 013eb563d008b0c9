//! Finding the library, starting it, and letting it go.

use std::env;
use std::path::Path;
use std::process::Command;

use gpu_nvml::{DriverVersion, Fault, LoadError, Nvml};
use gpu_nvml_double::Tally;
use gpu_nvml_double::scenario::Scenario;

use crate::machine::{Machine, eventually};

#[track_caller]
fn check_refused(change: impl FnOnce(&mut Scenario), expected: &LoadError, class: &str) {
    let mut scenario = Scenario::h100_x8();
    change(&mut scenario);
    let error = Machine::new(scenario).load().unwrap_err();
    assert_eq!(&error, expected);
    assert_eq!(error.class(), class);
}

#[test]
fn every_refusal_has_its_name() {
    check_refused(
        |s| s.driver_gone = true,
        &LoadError::DriverNotLoaded,
        "driver_not_loaded",
    );
    check_refused(
        |s| s.version_mismatch = true,
        &LoadError::VersionMismatch,
        "version_mismatch",
    );
    check_refused(
        |s| s.no_permission = true,
        &LoadError::NoPermission,
        "no_permission",
    );
}

#[test]
fn a_missing_library_is_named_with_the_way_out() {
    let error = Nvml::load(Some(Path::new("/nonexistent/libnvidia-ml.so.1"))).unwrap_err();
    assert_eq!(error.class(), "library_not_found");
    let words = error.to_string();
    assert!(words.contains("/nonexistent/libnvidia-ml.so.1") && words.contains("NVIDIA_DRIVER_CAPABILITIES"));
}

#[test]
fn a_file_that_is_no_library_is_told_from_a_missing_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("libnvidia-ml.so.1");
    std::fs::write(&path, "no library").unwrap();
    let error = Nvml::load(Some(&path)).unwrap_err();
    assert_eq!(error.class(), "library_unloadable");
}

#[test]
fn no_gpu_is_no_error() {
    let nvml = Machine::new(Scenario::none()).nvml();
    assert_eq!(nvml.device_count(), Ok(0));
    assert!(nvml.device(0).is_err());
}

#[test]
fn the_system_says_what_it_is() {
    let nvml = Machine::new(Scenario::h100_x8()).nvml();
    assert_eq!(nvml.driver(), "570.133.20");
    assert_eq!(
        nvml.driver_version(),
        DriverVersion {
            branch: 570,
            release: 133
        }
    );
    assert_eq!(nvml.nvml_version().as_deref(), Ok("12.570.133.20"));
    let cuda = nvml.cuda_version().unwrap();
    assert_eq!((cuda.major, cuda.minor), (12, 8));
    assert_eq!(nvml.device_count(), Ok(8));
}

#[test]
fn a_program_finds_the_library_by_the_search_path() {
    let machine = Machine::new(Scenario::t4_time_sliced());
    let exe = env::current_exe().unwrap();
    let built = exe.ancestors().nth(2).unwrap().join("examples/readings");
    let calls = machine.installed.directory().join("seen.json");
    let output = Command::new(built)
        .env("LD_LIBRARY_PATH", machine.installed.directory())
        .env("NVML_DOUBLE_SCENARIO", machine.installed.scenario())
        .env("NVML_DOUBLE_CALLS", &calls)
        .output()
        .unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(page.contains("Tesla T4"), "{page}");
    assert_eq!(page.matches("Process {").count(), 4, "{page}");
    assert_eq!(Tally::read(&calls).unwrap().of("nvmlDeviceGetPowerUsage"), 1);
}

#[test]
fn a_released_driver_is_out_of_reach_until_loaded_again() {
    let machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let device = nvml.device(0).unwrap();
    assert!(device.power().is_ok());
    assert_eq!(nvml.release(), 0);
    assert_eq!(machine.installed.tally().unwrap().of("nvmlShutdown"), 1);
    assert_eq!(device.power(), Err(Fault::Uninitialized));
    assert_eq!(nvml.device_count(), Err(Fault::Uninitialized));
    let again = machine.nvml();
    assert!(again.device(0).unwrap().power().is_ok());
    assert_eq!(device.power(), Err(Fault::Uninitialized));
}

#[test]
fn the_last_clone_ends_the_session() {
    let machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let device = nvml.device(0).unwrap();
    drop(nvml);
    assert!(device.power().is_ok());
    drop(device);
    assert_eq!(machine.installed.tally().unwrap().of("nvmlShutdown"), 1);
}

#[test]
fn a_driver_that_comes_back_needs_a_new_session() {
    let mut machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let device = nvml.device(0).unwrap();
    machine.change(|scenario| scenario.driver_gone = true);
    eventually("the driver is gone", || {
        device.power() == Err(Fault::Uninitialized)
    });
    assert_eq!(machine.load().unwrap_err(), LoadError::DriverNotLoaded);
    machine.change(|scenario| scenario.driver_gone = false);
    nvml.release();
    drop((nvml, device));
    eventually("the driver is back", || machine.load().is_ok());
}

#[test]
fn an_upgrade_under_us_is_named() {
    let mut machine = Machine::new(Scenario::h100_x8());
    let device = machine.first();
    machine.change(|scenario| scenario.version_mismatch = true);
    eventually("the mismatch is seen", || {
        device.power() == Err(Fault::VersionMismatch)
    });
}

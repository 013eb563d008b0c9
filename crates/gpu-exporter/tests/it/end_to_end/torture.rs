//! Drivers that block, fall over and lie. The page is served throughout, says what is stale, and is right again soon after.

use std::time::{Duration, Instant};

use gpu_nvml_double::scenario::{Fault, FaultKind, Model, Scenario, XidEvent};
use nix::sys::signal::Signal;

use super::machine::{Machine, Plan};
use super::reading::{parse, value};
use super::watch::Watch;

/// How long it may take until a restarted driver, a new GPU or a new layout shows.
const SOON: Duration = Duration::from_secs(5);
/// Machines that compile beside the test are slower; a promise of seconds is not about them.
const SLACK: Duration = Duration::from_secs(1);

/// How long a call blocks: seconds in a test run, a minute in a soak.
fn blocked_for() -> Duration {
    let is_soak = std::env::var_os("GPU_SOAK_SECONDS").is_some();
    Duration::from_secs(if is_soak { 60 } else { 6 })
}

fn machine(count: usize) -> Machine {
    let machine = Plan::new(Scenario::of(Model::L40s, count)).start();
    machine.wait(|page| (0..count).all(|gpu| up(page, gpu) == Some(1.0) && has_limit(page, gpu)));
    machine
}

fn gpu_label(gpu: usize) -> String {
    format!("gpu=\"{gpu}\"")
}

fn of(page: &str, family: &str, gpu: usize) -> Option<f64> {
    value(page, family, &[&gpu_label(gpu)])
}

fn up(page: &str, gpu: usize) -> Option<f64> {
    of(page, "gpu_up", gpu)
}

fn age(page: &str, gpu: usize) -> f64 {
    of(page, "gpu_last_sample_age_seconds", gpu).unwrap_or(f64::INFINITY)
}

/// Read by the slow half.
fn has_limit(page: &str, gpu: usize) -> bool {
    of(page, "gpu_power_limit_watts", gpu).is_some()
}

/// Waits, and fails when it took longer than promised.
#[track_caller]
fn wait_soon(machine: &Machine, fits: impl Fn(&str) -> bool) -> String {
    let started = Instant::now();
    let page = machine.wait(fits);
    assert!(
        started.elapsed() < SOON + SLACK,
        "it took {:?}",
        started.elapsed()
    );
    page
}

#[test]
fn soak_a_blocked_call_costs_only_the_gpu_it_concerns() {
    let mut machine = machine(3);
    let watch = Watch::over(&machine.exporter);
    let hung = machine.scenario.gpus[1].uuid.clone();
    let fault = Fault::new("nvmlDeviceGetPowerUsage", FaultKind::Hang).on(&hung);
    machine.change(|scenario| scenario.faults = vec![fault]);
    let seconds = blocked_for().as_secs_f64();
    let started = Instant::now();
    while started.elapsed() < blocked_for() {
        let page = machine.page();
        for gpu in [0, 2] {
            assert_eq!(up(&page, gpu), Some(1.0), "{page}");
            assert!(age(&page, gpu) < 3.0, "GPU {gpu} is {} s old", age(&page, gpu));
        }
        // What was last read stays, with its age.
        assert!(of(&page, "gpu_memory_total_bytes", 1).is_some(), "{page}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let page = machine.page();
    assert_eq!(up(&page, 1), Some(0.0));
    assert!(
        age(&page, 1) > seconds - 2.0,
        "{} after {seconds} s",
        age(&page, 1)
    );
    machine.change(|scenario| scenario.faults.clear());
    wait_soon(&machine, |page| up(page, 1) == Some(1.0) && age(page, 1) < 2.0);
    watch.finish();
}

#[test]
fn a_gpu_that_answers_nothing_at_all_leaves_the_others_fresh() {
    let mut machine = machine(3);
    let watch = Watch::over(&machine.exporter);
    let hung = machine.scenario.gpus[1].uuid.clone();
    machine.change(|scenario| scenario.faults = vec![Fault::new("*", FaultKind::Hang).on(&hung)]);
    // Even the listing hangs now, and says so; the others are read on, and so the driver answers.
    let page = machine.wait(|page| value(page, "gpu_exporter_source_up", &["nvml"]) == Some(0.0));
    assert_eq!(value(&page, "dcgm_up", &[]), Some(1.0), "{page}");
    assert_eq!(up(&page, 1), Some(0.0), "{page}");
    for gpu in [0, 2] {
        assert_eq!(up(&page, gpu), Some(1.0), "{page}");
        assert!(age(&page, gpu) < 3.0, "{page}");
    }
    // The others are let go on request all the same.
    machine.exporter.signal(Signal::SIGUSR1);
    machine.wait(|page| up(page, 0).is_none() && value(page, "dcgm_up", &[]) == Some(0.0));
    machine.change(|scenario| scenario.faults.clear());
    machine.exporter.signal(Signal::SIGUSR2);
    machine.wait(|page| (0..3).all(|gpu| up(page, gpu) == Some(1.0)));
    watch.finish();
}

#[test]
fn a_driver_that_blocks_as_a_whole_makes_everything_stale_and_nothing_vanish() {
    let mut machine = machine(2);
    let watch = Watch::over(&machine.exporter);
    let fault = Fault::new("nvmlDeviceGetPowerUsage", FaultKind::HangAll);
    machine.change(|scenario| scenario.faults = vec![fault]);
    let page = machine.wait(|page| {
        (0..2).all(|gpu| up(page, gpu) == Some(0.0) && age(page, gpu) > 5.0)
            && value(page, "dcgm_up", &[]) == Some(0.0)
    });
    assert_eq!(value(&page, "gpu_exporter_source_up", &["nvml"]), Some(0.0));
    assert!(
        (0..2).all(|gpu| of(&page, "gpu_power_watts", gpu).is_some()),
        "{page}"
    );
    let ready = machine.exporter.get("/readyz").text();
    assert!(ready.contains("does not answer"), "{ready}");
    assert_eq!(machine.exporter.get("/healthz").status, 200);
    let threads = machine.threads();
    assert!(threads < 20, "{threads} threads");
    machine.change(|scenario| scenario.faults.clear());
    wait_soon(&machine, |page| {
        (0..2).all(|gpu| up(page, gpu) == Some(1.0)) && value(page, "dcgm_up", &[]) == Some(1.0)
    });
    watch.finish();
}

#[test]
fn a_blocked_slow_call_shows_in_the_age_of_what_is_read_seldom() {
    let plan = Plan::new(Scenario::of(Model::L40s, 2)).arguments(&["--collection-interval=500ms"]);
    let mut machine = plan.start();
    machine.wait(|page| has_limit(page, 0) && has_limit(page, 1));
    let hung = machine.scenario.gpus[0].uuid.clone();
    let fault = Fault::new("nvmlDeviceGetPcieThroughput", FaultKind::Hang).on(&hung);
    machine.change(|scenario| scenario.faults = vec![fault]);
    let slow = |page: &str, gpu| of(page, "gpu_exporter_slow_sample_age_seconds", gpu).unwrap();
    let page = machine.wait(|page| slow(page, 0) > 4.0);
    assert!(slow(&page, 1) < 3.0, "{page}");
    assert!(
        (0..2).all(|gpu| up(&page, gpu) == Some(1.0) && age(&page, gpu) < 3.0),
        "{page}"
    );
    assert!(has_limit(&page, 0));
    machine.change(|scenario| scenario.faults.clear());
    wait_soon(&machine, |page| slow(page, 0) < 2.0);
}

#[test]
fn a_lost_gpu_is_shown_as_down_and_found_again() {
    let mut machine = machine(2);
    let watch = Watch::over(&machine.exporter);
    machine.change(|scenario| scenario.gpus[1].lost = true);
    let page = wait_soon(&machine, |page| up(page, 1) == Some(0.0));
    assert_eq!(up(&page, 0), Some(1.0));
    // Once the driver no longer describes it, nothing but its name is left; that it is down is still said.
    let page = machine.wait(|page| of(page, "gpu_power_watts", 1).is_none());
    assert_eq!((up(&page, 0), up(&page, 1)), (Some(1.0), Some(0.0)));
    machine.change(|scenario| scenario.gpus[1].lost = false);
    wait_soon(&machine, |page| {
        up(page, 1) == Some(1.0) && of(page, "gpu_power_watts", 1).is_some()
    });
    watch.finish();
}

#[test]
fn a_gpu_that_comes_and_one_that_goes_are_noticed_within_five_seconds() {
    let mut scenario = Scenario::of(Model::L40s, 2);
    scenario.gpus[1].vanished = true;
    let mut machine = Plan::new(scenario).start();
    let page = machine.wait(|page| up(page, 0) == Some(1.0));
    assert_eq!(up(&page, 1), None);
    machine.change(|scenario| scenario.gpus[1].vanished = false);
    wait_soon(&machine, |page| {
        up(page, 1) == Some(1.0) && of(page, "gpu_power_watts", 1).is_some()
    });
    machine.change(|scenario| scenario.gpus[1].vanished = true);
    let page = wait_soon(&machine, |page| up(page, 1) == Some(0.0));
    assert_eq!(up(&page, 0), Some(1.0));
}

#[test]
fn a_restarted_driver_is_taken_again_within_five_seconds() {
    let mut machine = machine(2);
    let watch = Watch::over(&machine.exporter);
    for _ in 0..2 {
        machine.change(|scenario| scenario.driver_gone = true);
        machine.wait(|page| value(page, "dcgm_up", &[]) == Some(0.0) && up(page, 0).is_none());
        machine.change(|scenario| scenario.driver_gone = false);
        wait_soon(&machine, |page| (0..2).all(|gpu| up(page, gpu) == Some(1.0)));
    }
    let threads = machine.threads();
    assert!(threads < 20, "{threads} threads");
    watch.finish();
}

#[test]
fn a_driver_of_another_version_ends_the_program_with_its_own_code() {
    let mut machine = machine(1);
    machine.change(|scenario| scenario.driver_gone = true);
    machine.wait(|page| value(page, "dcgm_up", &[]) == Some(0.0));
    machine.change(|scenario| {
        scenario.driver_gone = false;
        scenario.version_mismatch = true;
    });
    assert_eq!(
        machine.exporter.wait().code(),
        Some(75),
        "{}",
        machine.exporter.log()
    );
}

#[test]
fn a_released_driver_is_not_called_until_it_is_taken_again() {
    let machine = machine(1);
    let watch = Watch::over(&machine.exporter);
    machine.exporter.signal(Signal::SIGUSR1);
    machine.wait(|page| value(page, "dcgm_up", &[]) == Some(0.0) && up(page, 0).is_none());
    let calls = || machine.driver.tally().unwrap().total();
    // The tally is written with a call; the last ones may be on their way.
    crate::exporter::wait(
        "the driver is shut down",
        || (machine.driver.tally().unwrap().of("nvmlShutdown") > 0).then_some(()),
        || machine.exporter.log(),
    );
    let before = calls();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        assert_eq!(calls(), before, "the driver was called after it was released");
        std::thread::sleep(Duration::from_millis(100));
    }
    machine.exporter.signal(Signal::SIGUSR2);
    wait_soon(&machine, |page| up(page, 0) == Some(1.0));
    watch.finish();
}

#[test]
fn slices_made_anew_are_shown_within_five_seconds() {
    let plan = super::machines::a100_mixed_mig();
    let mut machine = plan.start();
    let slices = |page: &str| page.matches("\ngpu_memory_used_bytes{").count();
    machine.wait(|page| page.contains("partition=\"1g.10gb/13/0\""));
    machine.change(|scenario| {
        let mig = scenario.gpus[0].mig.as_mut().unwrap();
        mig.instances = vec![mig.instances[3].clone()];
    });
    let page = wait_soon(&machine, |page| !page.contains("partition=\"3g.40gb/1/0\""));
    // One slice, what is beside it, and the other GPU.
    assert_eq!(slices(&page), 3, "{page}");
    machine.change(|scenario| scenario.gpus[0].mig.as_mut().unwrap().enabled = false);
    let page = wait_soon(&machine, |page| !page.contains("partition="));
    assert_eq!(slices(&page), 2, "{page}");
}

#[test]
fn garbage_from_the_driver_breaks_neither_the_page_nor_the_program() {
    let mut machine = machine(2);
    let watch = Watch::over(&machine.exporter);
    let texts = [
        "nvmlDeviceGetName",
        "nvmlDeviceGetSerial",
        "nvmlDeviceGetVbiosVersion",
        "nvmlSystemGetDriverVersion",
    ];
    let counts = [
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetProcessUtilization",
        "nvmlDeviceGetNumFans",
        "nvmlDeviceGetMaxMigDeviceCount",
    ];
    machine.change(|scenario| {
        let garbage = texts.map(|name| Fault::new(name, FaultKind::GarbageText));
        let absurd = counts.map(|name| Fault::new(name, FaultKind::AbsurdCount));
        scenario.faults = garbage.into_iter().chain(absurd).collect();
        // Opened anew, so that the names are read again.
        scenario.driver_gone = true;
    });
    machine.wait(|page| value(page, "dcgm_up", &[]) == Some(0.0));
    machine.change(|scenario| scenario.driver_gone = false);
    let page = wait_soon(&machine, |page| {
        (0..2).all(|gpu| of(page, "gpu_power_watts", gpu).is_some())
    });
    parse(&page, gpu_exposition::Format::Text);
    machine.change(|scenario| {
        scenario.faults = vec![Fault::new("nvmlDeviceGetCount_v2", FaultKind::AbsurdCount)];
    });
    // Listed are those that answer, however many there are said to be.
    machine.exporter.wait_for_log("cannot describe GPUs");
    let page = machine.page();
    assert_eq!(page.matches("\ngpu_up{").count(), 2, "{page}");
    assert!((0..2).all(|gpu| up(&page, gpu) == Some(1.0)), "{page}");
    watch.finish();
}

#[test]
fn values_that_cannot_be_true_are_refused_and_counted() {
    let mut machine = machine(1);
    machine.change(|scenario| {
        scenario.gpus[0].temperatures.gpu = 9_999;
        scenario.gpus[0].utilization.as_mut().unwrap().gpu = 250;
    });
    let page = machine.wait(|page| of(page, "gpu_exporter_rejected_values_total", 0) > Some(0.0));
    assert_eq!(
        value(&page, "gpu_temperature_celsius", &["sensor=\"gpu\""]),
        None,
        "{page}"
    );
    assert_eq!(of(&page, "gpu_utilization_ratio", 0), None, "{page}");
    assert_eq!(up(&page, 0), Some(1.0));
}

#[test]
fn a_gpu_that_was_found_again_is_heard_again() {
    let mut scenario = Scenario::of(Model::A100Gb80, 2);
    scenario.gpus[1].lost = true;
    let mut machine = Plan::new(scenario).start();
    // It has no name yet; that there is something wrong is counted.
    machine.wait(|page| {
        up(page, 0) == Some(1.0)
            && value(page, "gpu_exporter_source_errors_total", &["nvml", "device_lost"]) > Some(0.0)
    });
    let uuid = machine.scenario.gpus[1].uuid.clone();
    machine.change(|scenario| {
        scenario.gpus[1].lost = false;
        scenario.events = vec![XidEvent {
            id: 1,
            gpu: uuid,
            code: 79,
            gpu_instance: None,
            compute_instance: None,
        }];
    });
    machine.wait(|page| value(page, "gpu_faults_total", &["gpu=\"1\"", "code=\"79\""]) == Some(1.0));
}

#[test]
fn a_stream_of_faults_that_failed_once_goes_on() {
    let mut scenario = Scenario::of(Model::A100Gb80, 1);
    let uuid = scenario.gpus[0].uuid.clone();
    // NVML's number for an error that it cannot name.
    scenario.faults = vec![Fault::new("nvmlEventSetCreate", FaultKind::Fail(999))];
    let mut machine = Plan::new(scenario).start();
    machine.exporter.wait_for_log("does not hear faults");
    let page = machine.wait(|page| up(page, 0) == Some(1.0));
    assert_eq!(
        of(&page, "DCGM_FI_DEV_XID_ERRORS", 0),
        None,
        "nobody listens, so nobody knows: {page}"
    );
    machine.change(|scenario| {
        scenario.faults.clear();
        scenario.events = vec![XidEvent {
            id: 1,
            gpu: uuid,
            code: 94,
            gpu_instance: None,
            compute_instance: None,
        }];
    });
    machine.wait(|page| value(page, "gpu_faults_total", &["code=\"94\""]) == Some(1.0));
}

#[test]
fn a_gpu_that_cannot_be_opened_hides_no_other() {
    let mut scenario = Scenario::of(Model::H100, 3);
    let uuid = scenario.gpus[1].uuid.clone();
    scenario.faults = vec![Fault::new("nvmlGpmQueryDeviceSupport", FaultKind::Fail(999)).on(&uuid)];
    let mut machine = Plan::new(scenario).start();
    let page =
        machine.wait(|page| [0, 2].iter().all(|gpu| up(page, *gpu) == Some(1.0)) && up(page, 1).is_some());
    assert_eq!(up(&page, 1), Some(0.0), "{page}");
    assert_eq!(value(&page, "dcgm_up", &[]), Some(1.0));
    machine.change(|scenario| scenario.faults.clear());
    wait_soon(&machine, |page| up(page, 1) == Some(1.0));
}

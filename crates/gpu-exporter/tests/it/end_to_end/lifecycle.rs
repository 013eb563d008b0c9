//! Pods and kubelets that come and go.

use std::time::{Duration, Instant};

use super::machine::{Machine, Pod, Shape};
use super::machines;
use super::reading::value;
use super::watch::Watch;
use crate::fake_kubelet::{Behaviour, answer, pod};

/// A pod that has ended has released its GPU by then: the kubelet is asked every five seconds.
const RELEASED: Duration = Duration::from_secs(8);

fn memory(page: &str, pod: &str) -> Option<f64> {
    value(page, "gpu_container_memory_bytes", &[&format!("pod=\"{pod}\"")])
}

fn kubelet_up(page: &str) -> Option<f64> {
    value(page, "gpu_exporter_source_up", &["kubelet"])
}

fn time_sliced() -> Machine {
    let machine = machines::t4_time_sliced().start();
    machine.wait(|page| (0..4).all(|n| memory(page, &format!("notebook-{n}")).is_some()));
    machine
}

#[track_caller]
fn wait_released(machine: &Machine, pod: &str) -> String {
    let started = Instant::now();
    let word = format!("\"{pod}\"");
    let page = machine.wait(|page| !page.contains(&word));
    assert!(started.elapsed() < RELEASED, "it took {:?}", started.elapsed());
    page
}

#[test]
fn a_pod_that_has_ended_releases_its_gpu_even_while_the_kubelet_lists_it() {
    let mut machine = time_sliced();
    machine.end_pod("notebook-3");
    let page = wait_released(&machine, "notebook-3");
    assert!(memory(&page, "notebook-2").is_some(), "{page}");
    // A kubelet since 1.34 says so itself.
    machine.end_pod("notebook-2");
    machine.tell_kubelet();
    let page = wait_released(&machine, "notebook-2");
    assert!(memory(&page, "notebook-1").is_some(), "{page}");
}

#[test]
fn a_pod_that_comes_is_shown_and_has_what_was_measured_for_it() {
    let mut machine = time_sliced();
    machine.end_pod("notebook-3");
    machine.tell_kubelet();
    wait_released(&machine, "notebook-3");
    let id = format!("{}::3", machine.scenario.gpus[0].uuid);
    machine.run_pod(Pod::new(9, "late", "nvidia.com/gpu.shared", &[id], &[4900]));
    machine.tell_kubelet();
    machine.change(|scenario| {
        let mut process = scenario.gpus[0].processes[0].clone();
        process.pid = 4900;
        process.memory = Some(777 << 20);
        scenario.gpus[0].processes.push(process);
    });
    let bytes = f64::from(777 << 20);
    let started = Instant::now();
    machine.wait(|page| memory(page, "late") == Some(bytes));
    assert!(started.elapsed() < RELEASED, "it took {:?}", started.elapsed());
}

#[test]
fn while_the_kubelet_is_gone_its_last_word_stands_with_its_age() {
    let mut machine = time_sliced();
    let watch = Watch::over(&machine.exporter);
    machine.kubelet = None;
    let page = machine.wait(|page| kubelet_up(page) == Some(0.0));
    assert!(memory(&page, "notebook-0").is_some(), "{page}");
    assert_eq!(value(&page, "dcgm_up", &[]), Some(1.0));
    let page = machine.wait(|page| value(page, "gpu_exporter_source_age_seconds", &["kubelet"]) > Some(3.0));
    assert!(memory(&page, "notebook-0").is_some(), "{page}");
    // A pod that ends meanwhile is seen to end by its control group.
    machine.end_pod("notebook-3");
    let word = "\"notebook-3\"";
    machine.wait(|page| !page.contains(word) && kubelet_up(page) == Some(0.0));
    machine.start_kubelet();
    let page = machine.wait(|page| kubelet_up(page) == Some(1.0));
    assert!(memory(&page, "notebook-0").is_some(), "{page}");
    watch.finish();
}

#[test]
fn a_kubelet_that_does_not_answer_delays_no_page() {
    let machine = time_sliced();
    let watch = Watch::over(&machine.exporter);
    machine.kubelet.as_ref().unwrap().behave(Behaviour::Hang);
    let page = machine.wait(|page| kubelet_up(page) == Some(0.0));
    assert!(memory(&page, "notebook-0").is_some(), "{page}");
    machine.tell_kubelet();
    machine.wait(|page| kubelet_up(page) == Some(1.0));
    watch.finish();
}

#[test]
fn ten_thousand_pods_are_read_and_nothing_grows_with_them() {
    let machine = time_sliced();
    let watch = Watch::over(&machine.exporter);
    let before = machine.page().lines().count();
    let resident = machine.exporter.resident();
    let uuid = &machine.scenario.gpus[0].uuid;
    let held = |n: usize| {
        let id = format!("{uuid}::{n}");
        pod("ml", &format!("notebook-{n}"), "nvidia.com/gpu.shared", &[&id])
    };
    let mut pods: Vec<_> = (0..4).map(held).collect();
    pods.extend((0..10_000).map(|n| pod("batch", &format!("job-{n}-7d9c5b6f4-x2k9q"), "", &[])));
    let kubelet = machine.kubelet.as_ref().unwrap();
    let asked = kubelet.calls();
    kubelet.behave(answer(pods));
    crate::exporter::wait(
        "the kubelet was asked three times",
        || (kubelet.calls() >= asked + 3).then_some(()),
        || machine.exporter.log(),
    );
    let page = machine.wait(|page| kubelet_up(page) == Some(1.0));
    assert_eq!(page.lines().count(), before, "{page}");
    assert!(memory(&page, "notebook-0").is_some(), "{page}");
    let grown = machine.exporter.resident().saturating_sub(resident);
    assert!(grown < 32 << 20, "ten thousand pods cost {grown} bytes");
    watch.finish();
}

/// Between two samples the driver may have measured nothing new; that does not make processes idle.
#[test]
fn shares_stand_still_when_sampled_more_often_than_the_driver_measures() {
    let plan = machines::t4_time_sliced().arguments(&["--sample-interval=100ms"]);
    let machine = plan.start();
    let busy = |page: &str| value(page, "gpu_container_utilization_ratio", &["pod=\"notebook-0\""]);
    machine.wait(|page| busy(page) == Some(0.3));
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        assert_eq!(busy(&machine.page()), Some(0.3));
        std::thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn every_shape_of_control_groups_names_the_same_owners() {
    for shape in [
        Shape::UnifiedSystemd,
        Shape::UnifiedPlain,
        Shape::UnifiedCriO,
        Shape::Legacy,
    ] {
        let mut plan = machines::t4_time_sliced();
        plan.shape = shape;
        let machine = plan.start();
        let page = machine.wait(|page| memory(page, "notebook-3").is_some());
        assert_eq!(memory(&page, "notebook-3"), Some(2_621_440_000.0), "{shape:?}");
    }
}

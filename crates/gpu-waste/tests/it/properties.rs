//! What holds whatever was read.

use gpu_model::FleetView;
use gpu_waste::{Cause, WindowSettings, Windows};
use proptest::prelude::*;

use crate::toy::{A100, Gpu, H100, L4, instant, pod, report_of, view};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const MODELS: [&str; 4] = [L4, H100, A100, "a GPU that nobody knows"];

/// Any reading of one GPU, absent ones included.
fn gpu(index: usize) -> impl Strategy<Value = Gpu> {
    let readings = (
        prop::option::of(0u16..=1000),
        prop::option::of(0u16..=1000),
        prop::option::of(0u64..100_000),
        prop::option::of(0u32..900),
        prop::option::of(0u32..3),
        prop::option::of(0u64..1_000_000),
        prop::bool::ANY,
    );
    readings.prop_map(
        move |(utilization, sm, memory_mib, watts, processes, busy, is_held)| Gpu {
            utilization,
            sm,
            memory_mib,
            watts,
            processes,
            busy,
            pod: if is_held {
                pod("p", "PyTorchJob", "p")
            } else {
                None
            },
            ..Gpu::free(NAMES[index], MODELS[index])
        },
    )
}

/// Some GPUs of four, none of them twice.
fn fleet() -> impl Strategy<Value = Vec<Gpu>> {
    let each = (
        prop::option::of(gpu(0)),
        prop::option::of(gpu(1)),
        prop::option::of(gpu(2)),
        prop::option::of(gpu(3)),
    );
    each.prop_map(|(a, b, c, d)| [a, b, c, d].into_iter().flatten().collect())
}

fn watch(views: &[FleetView]) -> Windows {
    let mut windows = Windows::new(WindowSettings::default());
    views.iter().for_each(|view| windows.observe(view));
    windows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_twice_is_once_and_order_does_not_matter(fleets in prop::collection::vec(fleet(), 1..50)) {
        let cycles = u32::try_from(fleets.len()).unwrap();
        let views: Vec<FleetView> = (0..cycles).zip(&fleets).map(|(cycle, gpus)| view(cycle, gpus)).collect();
        let windows = watch(&views);
        let report = report_of(&windows, None, instant(cycles));
        let sum: u64 = report.account.iter().map(|total| total.milligpus).sum();
        prop_assert_eq!(sum, windows.gpu_count() as u64 * 1000);
        prop_assert_eq!(report.watched_milligpus, sum);
        for total in &report.account {
            prop_assert_eq!(total.milligpu_seconds, total.milligpus * report.window_seconds);
        }
        prop_assert_eq!(&report, &report_of(&windows, None, instant(cycles)));
        let backwards: Vec<FleetView> = views
            .into_iter()
            .map(|mut view| {
                view.nodes.iter_mut().for_each(|node| node.gpus.reverse());
                view
            })
            .collect();
        prop_assert_eq!(&report, &report_of(&watch(&backwards), None, instant(cycles)));
        for finding in &report.findings {
            prop_assert!(finding.score >= 50 && finding.since <= report.at);
            prop_assert!(finding.wasted_milligpus <= 1000 * finding.gpus.len() as u64);
        }
    }

    /// A GPU that is seen to work, by whatever else is read, is never called idle, unused or dead.
    #[test]
    fn a_busy_gpu_never_gets_an_idle_cause(
        mut fleets in prop::collection::vec(fleet(), 30..50),
        utilization in 100u16..=1000,
        recent in 1usize..8,
    ) {
        let cycles = u32::try_from(fleets.len()).unwrap();
        let from = fleets.len() - recent;
        for gpus in &mut fleets[from..] {
            gpus.retain(|gpu| gpu.name != "a");
            gpus.push(Gpu::busy("a", L4, utilization, pod("p", "Job", "p")));
        }
        let views: Vec<FleetView> = (0..cycles).zip(&fleets).map(|(cycle, gpus)| view(cycle, gpus)).collect();
        let report = report_of(&watch(&views), None, instant(cycles - 1));
        let idle = [Cause::HeldIdle, Cause::NeverUsed, Cause::Zombie, Cause::IdleGpuOfMany, Cause::Unallocated];
        for finding in report.findings.iter().filter(|finding| idle.contains(&finding.cause)) {
            prop_assert!(finding.gpus.iter().all(|part| part.uuid.as_str() != "a"), "{}", finding.id);
        }
    }

    /// Samples without a reading, and no samples, find nothing.
    #[test]
    fn missing_data_never_makes_a_finding(seen in prop::collection::vec(prop::bool::ANY, 10..60)) {
        let cycles = u32::try_from(seen.len()).unwrap();
        let blind = Gpu {
            utilization: None,
            memory_mib: None,
            watts: None,
            processes: None,
            pod: pod("p", "Deployment", "p"),
            ..Gpu::free("a", H100)
        };
        let mut windows = Windows::new(WindowSettings::default());
        for (cycle, is_seen) in (0..cycles).zip(seen) {
            let gpus = if is_seen { vec![blind.clone()] } else { Vec::new() };
            windows.observe(&view(cycle, &gpus));
        }
        prop_assert!(report_of(&windows, None, instant(cycles)).findings.is_empty());
    }
}

//! What each cause looks like, and what only looks like it.

use gpu_model::PodSettings;
use gpu_waste::{Bucket, Cause, FixKind, Report};
use jiff::SignedDuration;

use crate::toy::{A100, Gpu, H100, L4, PodSpec, causes, instant, picture, pod, report};

/// The causes found when the last of 60 cycles has passed.
#[track_caller]
fn check(script: impl Fn(u32) -> Vec<Gpu>, expected: &[&str]) -> Report {
    let report = report(60, None, script);
    assert_eq!(causes(&report), expected, "{:#?}", report.findings);
    report
}

#[test]
fn memory_held_and_nothing_computed_is_held_idle() {
    let report = check(
        |cycle| match cycle {
            0..20 => vec![Gpu::busy("g", L4, 800, pod("lab-0", "Notebook", "lab"))],
            _ => vec![Gpu::idle("g", L4, 9000, pod("lab-0", "Notebook", "lab"))],
        },
        &["held-idle"],
    );
    let finding = &report.findings[0];
    assert_eq!(finding.since, instant(20));
    assert_eq!(
        (finding.wasted_milligpus, finding.wasted_milligpu_hours),
        (1000, 325)
    );
    assert_eq!(finding.monthly.map(|money| money.0), Some(1_460_000_000_000));
    assert!(finding.score >= 80, "{}", finding.score);
    let fix = finding.fix.as_ref().expect("a fix");
    assert_eq!(fix.kind, FixKind::ScaleToZero);
    assert_eq!(
        fix.commands,
        ["kubectl -n ml annotate notebook lab kubeflow-resource-stopped=by-hand --overwrite"]
    );
}

#[test]
fn idle_for_less_than_asked_is_not_waste_yet() {
    let script = |cycle| match cycle {
        0..52 => vec![Gpu::busy("g", L4, 800, pod("lab-0", "Notebook", "lab"))],
        _ => vec![Gpu::idle("g", L4, 9000, pod("lab-0", "Notebook", "lab"))],
    };
    let report = check(script, &[]);
    // The window still holds the work, so the part counts as used.
    assert_eq!(report.account[0].bucket, Bucket::Used);
}

#[test]
fn a_gpu_that_was_never_touched_is_never_used_and_a_young_pod_is_warming_up() {
    let held = |age| {
        move |_| {
            let pod = Some(PodSpec {
                name: "p",
                owner: None,
                age,
            });
            vec![Gpu {
                pod,
                ..Gpu::free("g", L4)
            }]
        }
    };
    let report = check(held(600), &["never-used"]);
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    assert_eq!(
        (fix.kind, fix.commands.as_slice()),
        (FixKind::Delete, &["kubectl -n ml delete pod p".to_owned()][..])
    );
    check(held(-20), &[]);
}

#[test]
fn a_model_that_is_being_loaded_is_not_idle() {
    check(
        |cycle| {
            vec![Gpu {
                received_mib: Some(u64::from(cycle) * 30 * 900),
                ..Gpu::idle(
                    "g",
                    L4,
                    1000 + u64::from(cycle) * 200,
                    pod("s", "Deployment", "s"),
                )
            }]
        },
        &[],
    );
}

#[test]
fn memory_without_a_process_is_a_zombie() {
    let dead = |_| {
        vec![Gpu {
            processes: Some(0),
            ..Gpu::idle("g", L4, 9000, pod("j", "Job", "j"))
        }]
    };
    let report = check(dead, &["zombie"]);
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    assert!(fix.commands[0].contains("patch job j"), "{:?}", fix.commands);
}

#[test]
fn one_idle_gpu_of_many_is_found_and_fewer_are_proposed() {
    let job = || pod("t-0", "PyTorchJob", "t");
    let script = |_| {
        vec![
            Gpu::busy("a", H100, 950, job()),
            Gpu::busy("b", H100, 950, job()),
            Gpu::busy("c", H100, 950, job()),
            Gpu::idle("d", H100, 500, job()),
        ]
    };
    let report = check(script, &["idle-gpu-of-many"]);
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    assert_eq!(fix.kind, FixKind::NextRun);
    assert!(fix.text.contains("3 instead of 4"), "{}", fix.text);
}

#[test]
fn a_rank_that_waits_for_its_gang_is_not_idle() {
    let script = |_| {
        vec![
            Gpu::busy("a", H100, 950, pod("t-worker-0", "PyTorchJob", "t")),
            Gpu::idle("b", H100, 60_000, pod("t-worker-1", "PyTorchJob", "t")),
        ]
    };
    check(script, &[]);
    // Two notebooks are no gang.
    let script = |_| {
        vec![
            Gpu::busy("a", H100, 950, pod("lab-0", "Notebook", "lab")),
            Gpu::idle("b", H100, 60_000, pod("lab2-0", "Notebook", "lab2")),
        ]
    };
    check(script, &["held-idle"]);
}

#[test]
fn work_that_waits_for_its_input_gets_advice_on_its_input() {
    let script = |cycle| {
        let level = if cycle % 3 == 0 { 900 } else { 20 };
        vec![Gpu {
            busy: Some(u64::from(cycle) * 30 * 330),
            received_mib: Some(u64::from(cycle) * 30 * 2000),
            watts: Some(140),
            ..Gpu::busy("g", A100, level, pod("j", "Job", "j"))
        }]
    };
    let report = check(script, &["under-used"]);
    let finding = &report.findings[0];
    assert_eq!(finding.wasted_milligpus, 670);
    assert_eq!(finding.fix.as_ref().map(|fix| fix.kind), Some(FixKind::FixInput));
}

#[test]
fn kernels_that_spin_are_under_used_and_a_decoder_bound_by_memory_is_not() {
    let spin = |sm, dram, watts, kind| {
        move |_| {
            vec![Gpu {
                sm,
                dram,
                watts: Some(watts),
                ..Gpu::busy("g", H100, 1000, pod("t", kind, "t"))
            }]
        }
    };
    let report = check(spin(Some(130), Some(15), 170, "PyTorchJob"), &["under-used"]);
    assert!(
        report.findings[0].explanation.contains("kernels wait"),
        "{}",
        report.findings[0].explanation
    );
    // Without profiling, the draw says the same.
    check(spin(None, None, 170, "PyTorchJob"), &["under-used"]);
    check(spin(Some(240), Some(800), 400, "PyTorchJob"), &[]);
    check(spin(None, None, 400, "PyTorchJob"), &[]);
    check(spin(Some(130), Some(15), 170, "Deployment"), &[]);
}

#[test]
fn a_quiet_service_with_a_full_memory_is_left_alone_and_a_tiny_one_gets_a_slice() {
    let serve = |memory_mib| {
        move |_| {
            vec![Gpu {
                memory_mib: Some(memory_mib),
                watts: Some(110),
                ..Gpu::busy("g", A100, 50, pod("s", "Deployment", "s"))
            }]
        }
    };
    check(serve(60_000), &[]);
    let report = check(serve(6_000), &["under-used"]);
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    assert_eq!(fix.kind, FixKind::MigSlice);
    assert!(fix.text.contains("nvidia.com/mig-1g.10gb"), "{}", fix.text);
    assert!(
        fix.manifest
            .as_ref()
            .is_some_and(|yaml| yaml.contains("\"nvidia.com/gpu\": null"))
    );
}

#[test]
fn work_that_never_needs_more_than_a_fraction_has_too_large_a_gpu() {
    let script = |_| {
        vec![Gpu {
            sm: Some(100),
            memory_mib: Some(7000),
            watts: Some(150),
            ..Gpu::busy("g", H100, 700, pod("j", "Job", "j"))
        }]
    };
    let report = check(script, &["oversized-model"]);
    assert_eq!(
        report.findings[0].fix.as_ref().map(|fix| fix.kind),
        Some(FixKind::NextRun)
    );
}

#[test]
fn full_speed_in_a_third_of_the_memory_would_do_on_the_smaller_sibling() {
    let script = |_| {
        vec![Gpu {
            memory_mib: Some(20_000),
            ..Gpu::busy("g", A100, 950, pod("d", "Deployment", "d"))
        }]
    };
    let report = check(script, &["oversized-memory"]);
    let finding = &report.findings[0];
    assert_eq!(finding.wasted_milligpus, 250);
    let fix = finding.fix.as_ref().expect("a fix");
    assert_eq!(fix.kind, FixKind::SmallerModel);
    assert!(
        fix.manifest
            .as_ref()
            .is_some_and(|yaml| yaml.contains("NVIDIA-A100-SXM4-40GB"))
    );
}

#[test]
fn signals_that_contradict_each_other_are_their_own_finding_and_prove_nothing() {
    // Full utilisation with no memory, no process and no draw: a stuck value.
    let stuck = |_| {
        vec![Gpu {
            utilization: Some(1000),
            pod: pod("p", "Job", "p"),
            ..Gpu::free("g", L4)
        }]
    };
    let report = check(stuck, &["contradiction"]);
    assert_eq!(report.account[0].bucket, Bucket::Unknown);
    assert_eq!(report.findings[0].wasted_milligpus, 0);
    // Busy by utilisation and draw, and every profiling counter says 0.
    let dead = |_| {
        vec![Gpu {
            sm: Some(0),
            dram: Some(0),
            ..Gpu::busy("g", H100, 1000, pod("p", "Job", "p"))
        }]
    };
    check(dead, &["contradiction"]);
    // A draw of work while the utilisation says 0.
    let hidden = |_| {
        vec![Gpu {
            watts: Some(400),
            ..Gpu::idle("g", H100, 60_000, pod("p", "Job", "p"))
        }]
    };
    check(hidden, &["contradiction"]);
}

#[test]
fn a_fault_of_the_hardware_is_unhealthy_and_one_of_a_program_is_not() {
    let fault = |code| {
        move |cycle: u32| {
            vec![Gpu {
                faults: vec![(code, u64::from(cycle > 30))],
                ..Gpu::busy("g", A100, 900, pod("t", "PyTorchJob", "t"))
            }]
        }
    };
    let report = check(fault(94), &["unhealthy"]);
    assert_eq!(
        report.findings[0].fix.as_ref().map(|fix| fix.kind),
        Some(FixKind::Repair)
    );
    check(fault(31), &[]);
}

#[test]
fn a_gpu_held_down_by_heat_is_throttled_by_what_its_clock_lost() {
    let script = |cycle| {
        vec![Gpu {
            hot_seconds: u64::from(cycle) * 27,
            clock: Some(1200),
            ..Gpu::busy("g", H100, 950, pod("t", "PyTorchJob", "t"))
        }]
    };
    let report = check(script, &["throttled"]);
    // Nine tenths of the time at 1200 of 1980 MHz.
    assert_eq!(report.findings[0].wasted_milligpus, 354);
}

#[test]
fn free_gpus_are_unallocated_and_a_free_node_can_go() {
    let report = check(|_| vec![Gpu::free("a", L4), Gpu::free("b", L4)], &["unallocated"]);
    let finding = &report.findings[0];
    assert_eq!((finding.gpus.len(), finding.wasted_milligpus), (2, 2000));
    assert_eq!(
        finding.fix.as_ref().map(|fix| fix.kind),
        Some(FixKind::RemoveNode)
    );
    let report = check(
        |_| vec![Gpu::free("a", L4), Gpu::busy("b", L4, 900, pod("j", "Job", "j"))],
        &["unallocated"],
    );
    assert_eq!(
        report.findings[0].fix.as_ref().map(|fix| fix.kind),
        Some(FixKind::MoveWork)
    );
}

#[test]
fn a_free_gpu_without_processor_is_stranded() {
    let spec = pod("j", "Job", "j").expect("a pod");
    let script = |_| vec![Gpu::free("a", L4), Gpu::busy("b", L4, 900, pod("j", "Job", "j"))];
    // Each pod wants four cores; five leave one.
    let small = picture(59, 5000, vec![(spec.clone(), PodSettings::default())]);
    let stranded = report(60, Some(&small), script);
    assert_eq!(causes(&stranded), ["stranded"]);
    let large = picture(59, 64_000, vec![(spec, PodSettings::default())]);
    assert_eq!(causes(&report(60, Some(&large), script)), ["unallocated"]);
}

#[test]
fn memory_on_a_gpu_that_nobody_holds_is_a_leak() {
    let script = |_| {
        vec![Gpu {
            memory_mib: Some(4000),
            ..Gpu::free("a", L4)
        }]
    };
    let empty = picture(59, 64_000, Vec::new());
    assert_eq!(causes(&report(60, Some(&empty), script)), ["zombie"]);
}

#[test]
fn an_exemption_holds_until_it_expires() {
    let spec = pod("lab-0", "Notebook", "lab").expect("a pod");
    let script = |_| vec![Gpu::idle("g", L4, 9000, pod("lab-0", "Notebook", "lab"))];
    let with = |minutes| {
        let settings = PodSettings {
            exempt_until: Some(instant(59) + SignedDuration::from_mins(minutes)),
            ..PodSettings::default()
        };
        report(
            60,
            Some(&picture(59, 64_000, vec![(spec.clone(), settings)])),
            script,
        )
    };
    let exempt = with(5);
    assert!(exempt.findings.is_empty());
    assert_eq!(exempt.account[0].bucket, Bucket::Exempt);
    assert_eq!(exempt.exempted[0].cause, Cause::HeldIdle);
    assert_eq!(
        exempt.exempted[0].until,
        Some(instant(59) + SignedDuration::from_mins(5))
    );
    assert_eq!(causes(&with(-5)), ["held-idle"]);
}

#[test]
fn standby_that_is_declared_is_not_waste_and_a_dead_one_is() {
    let spec = pod("s-0", "Deployment", "s").expect("a pod");
    let settings = PodSettings {
        workload_type: Some("standby".to_owned()),
        ..PodSettings::default()
    };
    let picture = picture(59, 64_000, vec![(spec, settings)]);
    let warm = |_| vec![Gpu::idle("g", L4, 9000, pod("s-0", "Deployment", "s"))];
    let report_warm = report(60, Some(&picture), warm);
    assert!(report_warm.findings.is_empty());
    assert_eq!(report_warm.account[0].bucket, Bucket::StandBy);
    let dead = |_| {
        vec![Gpu {
            processes: Some(0),
            ..Gpu::idle("g", L4, 9000, pod("s-0", "Deployment", "s"))
        }]
    };
    assert_eq!(causes(&report(60, Some(&picture), dead)), ["zombie"]);
}

#[test]
fn missing_samples_are_gaps_and_prove_nothing() {
    // Idle until the exporter goes away, and four looks after it is back.
    let script = |cycle| match cycle {
        0..30 | 56.. => vec![Gpu::idle("g", L4, 9000, pod("lab-0", "Notebook", "lab"))],
        _ => Vec::new(),
    };
    let report = check(script, &[]);
    assert_eq!(report.account[0].bucket, Bucket::Unknown);
    // Readings that fail are no readings of nothing.
    let blind = |_| {
        vec![Gpu {
            utilization: None,
            memory_mib: None,
            watts: None,
            processes: None,
            ..Gpu::idle("g", L4, 0, pod("lab-0", "Notebook", "lab"))
        }]
    };
    check(blind, &[]);
}

//! Fixes are ready to be applied: the YAML is YAML, and profiles exist on the GPU that is meant.

use gpu_model::{GpuModel, MigTable, PodSettings};
use gpu_waste::FixKind;
use serde_json::Value;

use crate::toy::{A100, Gpu, L4, picture, pod, report};

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_service_without_work_is_scaled_and_busy_replicas_stay() {
    let busy = pod("s-a", "Deployment", "s").expect("a pod");
    let idle = pod("s-b", "Deployment", "s").expect("a pod");
    let picture = picture(
        59,
        64_000,
        vec![(busy, PodSettings::default()), (idle, PodSettings::default())],
    );
    let script = |_| {
        vec![
            Gpu::busy("a", L4, 600, pod("s-a", "Deployment", "s")),
            Gpu::idle("b", L4, 18_000, pod("s-b", "Deployment", "s")),
        ]
    };
    let report = report(60, Some(&picture), script);
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    // Three replicas are asked for, one is seen to be idle.
    assert_eq!(fix.commands, ["kubectl -n ml scale deployment s --replicas=2"]);
    let manifest = yaml(fix.manifest.as_ref().expect("a manifest"));
    assert_eq!(manifest["spec"]["replicas"], 2);
    assert_eq!(
        (&manifest["kind"], &manifest["metadata"]["namespace"]),
        (&"Deployment".into(), &"ml".into())
    );
    assert_eq!(fix.saves, report.findings[0].monthly);
}

#[test]
fn a_proposed_slice_exists_on_that_very_gpu_and_holds_the_peak() {
    for (memory, expected) in [(3000, "1g.10gb"), (12_000, "1g.20gb"), (25_000, "3g.40gb")] {
        let script = |_| {
            vec![Gpu {
                memory_mib: Some(memory),
                watts: Some(105),
                ..Gpu::busy("g", A100, 40, pod("s", "Deployment", "s"))
            }]
        };
        let report = report(60, None, script);
        let fix = report.findings[0].fix.as_ref().expect("a fix");
        assert_eq!(fix.kind, FixKind::MigSlice);
        let manifest = yaml(fix.manifest.as_ref().expect("a manifest"));
        let template = &manifest["spec"]["template"];
        let profile = template["metadata"]["annotations"]["gpu-autoscaler.io/mig-profile"]
            .as_str()
            .expect("a profile");
        assert_eq!(profile, expected);
        let table: &MigTable = GpuModel::find(A100)
            .and_then(GpuModel::mig)
            .expect("A100 has MIG");
        assert!(table.profile(profile).is_some());
        let limits = &template["spec"]["containers"][0]["resources"]["limits"];
        assert_eq!(limits[format!("nvidia.com/mig-{profile}")], 1);
        assert_eq!(limits["nvidia.com/gpu"], Value::Null);
    }
}

#[test]
fn a_step_of_a_workflow_gets_advice_for_its_next_run() {
    let script = |_| {
        vec![Gpu {
            memory_mib: Some(4000),
            watts: Some(100),
            ..Gpu::busy("g", A100, 700, pod("flow-step-1", "Workflow", "flow"))
        }]
    };
    let report = report(60, None, script);
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    assert_eq!(fix.kind, FixKind::NextRun);
    let step = yaml(fix.manifest.as_ref().expect("a manifest"));
    assert_eq!(
        step["container"]["resources"]["limits"]["nvidia.com/mig-1g.10gb"],
        1
    );
}

#[test]
fn a_name_that_means_something_to_a_shell_is_quoted() {
    let script = |_| vec![Gpu::idle("g", L4, 9000, pod("x; rm -rf ~", "Odd", "odd"))];
    let report = report(60, None, script);
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    assert_eq!(fix.commands, ["kubectl -n ml delete pod 'x; rm -rf ~'"]);
}

//! A test that misses a program says so, and fails where everything is required.

use std::process::{Command, Output};

use gpu_testbed::{Bed, Need, Program, free_port, require};

/// Any test that needs the API server will do.
const TEST: &str = "fleet::scheduling::a_pod_of_another_scheduler_is_left_alone";

/// Runs that test of this very binary where no program of Kubernetes can be found.
fn run_without_kubernetes(skip_list: &std::path::Path, required: &str) -> std::io::Result<Output> {
    let nowhere = format!("/nonexistent-{}", free_port());
    // By the link of the kernel, because a build beside the tests may replace the file.
    Command::new("/proc/self/exe")
        .args(["--exact", TEST, "--nocapture"])
        .env_remove("KUBEBUILDER_ASSETS")
        .env("GPU_TESTBED_CACHE", &nowhere)
        .env("PATH", &nowhere)
        .env("GPU_TESTBED_SKIPPED", skip_list)
        .env("TESTBED_REQUIRE", required)
        .output()
}

#[test]
fn a_missing_program_is_written_down_by_the_tests_name() -> anyhow::Result<()> {
    // Where it is installed for the whole system, no variable can hide it.
    let installed = || {
        Program::KubeApiserver
            .find()
            .is_some_and(|file| file.starts_with("/usr"))
    };
    require!(Need::that("a kube-apiserver that can be hidden", || !installed()));
    let bed = Bed::new()?;
    let list = bed.path("skipped");
    let output = run_without_kubernetes(&list, "")?;
    assert!(output.status.success(), "{output:?}");
    let noted = std::fs::read_to_string(&list)?;
    assert_eq!(
        noted,
        format!("{TEST}\tkube-apiserver, kube-scheduler, kube-controller-manager\n")
    );

    let output = run_without_kubernetes(&list, "all")?;
    assert!(!output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("{TEST} needs kube-apiserver")), "{said}");
    assert_eq!(
        std::fs::read_to_string(&list)?,
        noted,
        "a failed test is not a skipped one"
    );
    Ok(())
}

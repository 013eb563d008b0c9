//! Pages of gpu-exporter: its golden pages, and pages cut down to the case.

use std::path::Path;

use super::{check, outcome, reports, text};

fn golden(name: &str) -> String {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu-exporter/tests/golden");
    #[expect(clippy::disallowed_methods, reason = "golden pages are files")]
    std::fs::read_to_string(pages.join(name)).unwrap()
}

#[test]
fn eight_whole_gpus_with_an_owner_each() {
    let reports = reports(&golden("8xh100.prom"));
    assert_eq!(reports.len(), 8);
    let found = text(&reports);
    let first: String = found.lines().take(2).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(first);
    assert!(
        reports.iter().all(|report| report.node.as_str() == "h100-node-1"),
        "{found}"
    );
}

#[test]
fn slices_have_their_own_figures_and_sum_up_with_the_rest() {
    insta::assert_snapshot!(text(&reports(&golden("a100-mixed-mig.prom"))));
}

#[test]
fn pods_that_share_time_have_what_was_measured_for_each() {
    insta::assert_snapshot!(text(&reports(&golden("t4-time-sliced.prom"))));
}

#[test]
fn partitions_of_amd_are_parts_under_their_device_ids() {
    insta::assert_snapshot!(text(&reports(&golden("mi300x-cpx.prom"))));
}

#[test]
fn no_golden_page_has_a_line_that_cannot_be_used() {
    for page in [
        "8xh100.prom",
        "a100-mixed-mig.prom",
        "a100-mixed-mig.core.prom",
        "every-family.prom",
        "every-amd-family.prom",
        "l40s-mps.prom",
        "mi210.prom",
        "mi300x-cpx.prom",
        "mi300x-spx.prom",
        "mixed-vendors.prom",
        "no-gpu.prom",
        "rtx3080-workstation.prom",
        "t4-time-sliced.prom",
    ] {
        let outcome = outcome(&golden(page), None);
        assert_eq!((outcome.skipped, outcome.skewed), (0, 0), "{page}");
        assert_eq!(outcome.gpus() == 0, page == "no-gpu.prom", "{page}");
    }
}

#[test]
fn a_node_without_gpus_is_not_an_error() {
    assert_eq!(outcome(&golden("no-gpu.prom"), None).drafts.len(), 0);
}

#[test]
fn the_node_that_the_cluster_names_wins() {
    let page = golden("t4-time-sliced.prom");
    let drafts = outcome(&page, Some("ip-10-0-0-7")).drafts;
    assert!(
        drafts
            .iter()
            .all(|draft| draft.report.node.as_str() == "ip-10-0-0-7")
    );
}

#[test]
fn values_are_as_old_as_the_page_says() {
    let page = "gpu_up{gpu=\"0\",uuid=\"GPU-1\",vendor=\"nvidia\",node=\"n\"} 1\n\
                gpu_last_sample_age_seconds{gpu=\"0\",uuid=\"GPU-1\",vendor=\"nvidia\",node=\"n\"} 42.5\n\
                gpu_utilization_ratio{gpu=\"0\",uuid=\"GPU-1\",vendor=\"nvidia\",node=\"n\"} 0.5\n";
    let report = reports(page).pop().unwrap();
    assert_eq!(super::AT.duration_since(report.taken_at).as_millis(), 42_500);
}

#[test]
fn a_gpu_that_does_not_answer_has_failed_and_is_not_idle() {
    check(
        "gpu_info{gpu=\"0\",uuid=\"GPU-1\",vendor=\"nvidia\",node=\"n\",model=\"Tesla T4\"} 1\n\
         gpu_up{gpu=\"0\",uuid=\"GPU-1\",vendor=\"nvidia\",node=\"n\"} 0\n",
        "n 0 GPU-1 \"Tesla T4\" util=failed sm=failed used=failed mW=failed C=failed",
    );
}

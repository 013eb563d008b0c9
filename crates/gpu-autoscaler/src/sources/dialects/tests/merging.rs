//! Several pages, several vocabularies, one report a GPU.

use super::super::merge;
use super::{outcome, text};

const OURS: &str = r#"gpu="0",uuid="GPU-1",vendor="nvidia",node="n""#;
const DCGM: &str = r#"gpu="0",UUID="GPU-1",modelName="Tesla T4",Hostname="n""#;

fn ours() -> String {
    format!("gpu_info{{{OURS},model=\"Tesla T4\"}} 1\ngpu_utilization_ratio{{{OURS}}} 0.5\n")
}

fn dcgm() -> String {
    format!(
        "DCGM_FI_DEV_GPU_UTIL{{{DCGM}}} 90\nDCGM_FI_PROF_SM_ACTIVE{{{DCGM}}} 0.25\nDCGM_FI_DEV_GPU_TEMP{{{DCGM}}} 50\n"
    )
}

#[track_caller]
fn check(pages: &[String], expected: &str) {
    let mut drafts = Vec::new();
    for page in pages {
        drafts.extend(outcome(page, None).drafts);
    }
    let forwards = text(&merge(drafts.clone()));
    drafts.reverse();
    assert_eq!(forwards, text(&merge(drafts)), "the order of pages matters");
    assert_eq!(forwards, expected);
}

#[test]
fn a_gpu_of_two_targets_counts_once_and_ours_is_preferred_and_completed() {
    let expected = "n 0 GPU-1 \"Tesla T4\" util=50.0% sm=25.0% C=50\n";
    check(&[ours(), dcgm()], expected);
    check(&[format!("{}{}", dcgm(), ours())], expected);
}

#[test]
fn who_tells_more_is_preferred_among_others() {
    let smi = "nvidia_smi_utilization_gpu_ratio{uuid=\"1\"} 0.7\n".to_owned();
    check(
        &[smi, dcgm()],
        "n 0 GPU-1 \"Tesla T4\" util=90.0% sm=25.0% C=50\n",
    );
}

#[test]
fn amds_serial_number_and_our_uuid_are_one_gpu() {
    let ours = r#"gpu="1",uuid="9f1c",vendor="amd",node="mi""#;
    let ours =
        format!("gpu_info{{{ours},model=\"MI300X\",serial=\"692\"}} 1\ngpu_power_watts{{{ours}}} 300\n");
    let amd = "gpu_gfx_activity{gpu_id=\"1\",serial_number=\"692\",hostname=\"mi\"} 40\n".to_owned();
    let expected = "mi 1 9f1c \"MI300X\" util=40.0% mW=300000\n";
    check(&[ours.clone(), amd.clone()], expected);
    let nameless = amd.replace("692", "");
    check(&[ours, nameless], expected);
}

#[test]
fn a_page_of_ours_is_not_read_twice() {
    let page = format!("gpu_exporter_build_info{{version=\"1\"}} 1\n{}{}", ours(), dcgm());
    check(&[page], "n 0 GPU-1 \"Tesla T4\" util=50.0%\n");
}

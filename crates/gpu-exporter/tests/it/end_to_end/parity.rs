//! What dcgm-exporter shows by default is there, and promtool finds nothing on the pages but what the names inherited.

use std::collections::BTreeSet;

use gpu_exposition::Format;
use gpu_nvml_double::scenario::Licence;
use gpu_testbed::Program;

use super::machine::Plan;
use super::machines;
use super::reading::{parse, samples};
use crate::{golden, lint};

/// The default families of dcgm-exporter that every board has.
const EVERYWHERE: &[&str] = &[
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_MEM_CLOCK",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_MEM_COPY_UTIL",
    "DCGM_FI_DEV_ENC_UTIL",
    "DCGM_FI_DEV_DEC_UTIL",
    "DCGM_FI_DEV_XID_ERRORS",
    "DCGM_FI_DEV_FB_FREE",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_FB_RESERVED",
    // Beyond its defaults, as the contract asks.
    "DCGM_FI_DEV_FB_TOTAL",
];
/// Of virtual GPUs, which need a licence.
const VIRTUAL: &[&str] = &["DCGM_FI_DEV_VGPU_LICENSE_STATUS"];
/// Of boards whose memory is stacked.
const STACKED: &[&str] = &["DCGM_FI_DEV_MEMORY_TEMP"];
/// Of data-centre boards since Ampere.
const REMAPPING: &[&str] = &[
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
];
/// Through the profiler: Hopper and newer.
const PROFILED: &[&str] = &[
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE",
    "DCGM_FI_PROF_PCIE_TX_BYTES",
    "DCGM_FI_PROF_PCIE_RX_BYTES",
];

/// The page has exactly these families of dcgm-exporter, each with samples.
#[track_caller]
fn check(plan: Plan, expected: &[&[&str]]) {
    let machine = plan.arguments(&["--vocabulary=dcgm"]).start();
    let expected: BTreeSet<&str> = expected.iter().copied().flatten().copied().collect();
    let shown = |text: &str| -> BTreeSet<String> {
        let page = parse(text, Format::Text);
        let of_dcgm = page
            .families
            .iter()
            .filter(|family| family.name.starts_with("DCGM_"));
        of_dcgm
            .filter(|family| !samples(&page, &family.name).is_empty())
            .map(|family| family.name.clone())
            .collect()
    };
    let is_complete = |text: &str| expected.iter().all(|name| shown(text).contains(*name));
    let text = machine.wait(is_complete);
    let shown = shown(&text);
    let shown: BTreeSet<&str> = shown.iter().map(String::as_str).collect();
    assert_eq!(shown, expected);
}

#[test]
fn hopper_has_every_default_family_of_dcgm_exporter() {
    let boards = [EVERYWHERE, STACKED, REMAPPING, PROFILED];
    check(machines::h100_x8(), &boards);
    let mut virtual_gpu = machines::h100_x8();
    virtual_gpu.scenario.gpus[0].licence = Some(Licence {
        product: "NVIDIA Virtual Compute Server".to_owned(),
        feature: 4,
        licensed: true,
    });
    check(virtual_gpu, &[&boards[..], &[VIRTUAL]].concat());
}

#[test]
fn older_boards_lack_what_only_the_profiler_gives() {
    check(machines::a100_mixed_mig(), &[EVERYWHERE, STACKED, REMAPPING]);
    check(machines::t4_time_sliced(), &[EVERYWHERE]);
    check(machines::l40s_mps(), &[EVERYWHERE, REMAPPING]);
    check(machines::rtx3080(), &[EVERYWHERE]);
}

#[test]
fn promtool_knows_every_finding() {
    gpu_testbed::require!(Program::Promtool);
    let list = std::fs::read_to_string(golden::file("inherited-findings.txt")).unwrap();
    let known: BTreeSet<&str> = list.lines().collect();
    for (name, plan) in machines::all() {
        let machine = plan()
            .arguments(&["--vocabulary=gpu,dcgm,nvidia_smi", "--families=all"])
            .start();
        let text = machine.wait(|page| name == "no-gpu" || page.contains("\ngpu_power_limit_watts{"));
        for finding in lint::findings(&text).lines() {
            assert!(known.contains(finding), "{name}: {finding}");
            assert!(
                finding.starts_with("DCGM_"),
                "{name}: {finding} is of our own names"
            );
        }
    }
}

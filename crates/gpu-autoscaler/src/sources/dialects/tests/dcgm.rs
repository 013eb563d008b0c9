//! Pages of dcgm-exporter: both generations of names, MIG, and GPUs that pods share.

use super::{check, outcome};

const L4: &str = r#"gpu="0",UUID="GPU-c2",pci_bus_id="00000000:31:00.0",device="nvidia0",modelName="NVIDIA L4",Hostname="gpu-node-1",DCGM_FI_DRIVER_VERSION="580.105.08""#;

/// Lines of one GPU from names, further labels and values.
fn page(identity: &str, lines: &[(&str, &str, &str)]) -> String {
    let line = |(name, labels, value): &(&str, &str, &str)| {
        format!("DCGM_FI_{name}{{{identity}{labels}}} {value}\n")
    };
    lines.iter().map(line).collect()
}

const TRAINER: &str = r#",container="main",namespace="ml",pod="trainer-0""#;
const FIRST: &str = r#",container="main",namespace="ml",pod="a-0""#;
const SECOND: &str = r#",container="main",namespace="ml",pod="b-0""#;

#[test]
fn a_gpu_with_one_pod_in_the_names_of_old() {
    let lines = [
        ("DEV_SM_CLOCK", TRAINER, "2040"),
        ("DEV_MEM_CLOCK", TRAINER, "6251"),
        ("DEV_MEMORY_TEMP", TRAINER, "0"),
        ("DEV_GPU_TEMP", TRAINER, "61"),
        ("DEV_POWER_USAGE", TRAINER, "71.365000"),
        ("DEV_TOTAL_ENERGY_CONSUMPTION", TRAINER, "4742776"),
        ("DEV_GPU_UTIL", TRAINER, "87"),
        ("DEV_MEM_COPY_UTIL", TRAINER, "35"),
        ("DEV_XID_ERRORS", TRAINER, "0"),
        ("DEV_FB_FREE", TRAINER, "12563"),
        ("DEV_FB_USED", TRAINER, "10000"),
        ("DEV_FB_RESERVED", TRAINER, "471"),
        ("DEV_ROW_REMAP_FAILURE", TRAINER, "0"),
        ("PROF_GR_ENGINE_ACTIVE", TRAINER, "0.861000"),
        ("PROF_PIPE_TENSOR_ACTIVE", TRAINER, "0.410000"),
        ("PROF_DRAM_ACTIVE", TRAINER, "0.220000"),
        ("PROF_PCIE_TX_BYTES", TRAINER, "112603"),
    ];
    check(
        &page(L4, &lines),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" util=87.0% bandwidth=35.0% tensor=41.0% dram=22.0% used=10000 total=23034 \
         mW=71365 mJ=4742776 C=61 MHz=2040 memMHz=6251 remap-failed=false\n\
         \x20 whole util=87.0% used=10000 total=23034 for ml/trainer-0/main sole",
    );
}

#[test]
fn the_names_of_dcgm_4_6_mean_the_same() {
    let lines = [
        ("DEV_GPU_TEMP_CELSIUS", "", "61"),
        ("DEV_MEMORY_TEMP_CELSIUS", "", "70"),
        ("DEV_BOARD_POWER_WATTS", "", "71.365"),
        ("DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", "", "72"),
        ("DEV_GPU_UTIL_RATIO", "", "87"),
        ("DEV_XID_ERROR", "", "79"),
        ("PROF_SM_UTIL_RATIO", "", "0.7"),
        ("PROF_SM_OCCUPANCY_RATIO", "", "0.25"),
        ("PROF_TENSOR_UTIL_RATIO", "", "0.4"),
        ("PROF_DRAM_UTIL_RATIO", "", "0.2"),
    ];
    let identity = L4.replace("Hostname", "hostname");
    check(
        &page(&identity, &lines),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" util=87.0% sm=70.0% occupancy=25.0% tensor=40.0% dram=20.0% mW=71365 \
         limit=72000 C=61 memC=70 fault79=1",
    );
}

#[test]
fn a_ratio_that_may_be_a_percentage_is_not_guessed() {
    for (value, expected) in [
        ("0", " util=0.0%"),
        ("1", ""),
        ("2", " util=2.0%"),
        ("0.87", " util=87.0%"),
        ("100", " util=100.0%"),
    ] {
        let lines = [("DEV_GPU_TEMP", "", "50"), ("DEV_GPU_UTIL_RATIO", "", value)];
        check(
            &page(L4, &lines),
            &format!("gpu-node-1 0 GPU-c2 \"NVIDIA L4\"{expected} C=50"),
        );
    }
}

#[test]
fn an_engine_that_is_active_stands_in_for_utilization_where_that_is_missing() {
    check(
        &page(L4, &[("PROF_GR_ENGINE_ACTIVE", "", "0.5")]),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" util=50.0%",
    );
}

#[test]
fn what_is_repeated_for_every_sharer_is_no_sharers_own() {
    let mut lines = Vec::new();
    for pod in [FIRST, SECOND] {
        lines.extend([
            ("DEV_GPU_UTIL", pod, "80"),
            ("DEV_POWER_USAGE", pod, "60"),
            ("DEV_FB_USED", pod, "10000"),
            ("DEV_FB_FREE", pod, "12000"),
        ]);
    }
    check(
        &page(L4, &lines),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" util=80.0% used=10000 total=22000 mW=60000\n\
         \x20 whole total=22000 for ml/a-0/main repeated\n\
         \x20 whole total=22000 for ml/b-0/main repeated",
    );
}

#[test]
fn virtual_gpus_have_the_figures_of_their_processes() {
    let mut lines = Vec::new();
    for (pod, utilization, memory) in [(FIRST, "30", "4000"), (SECOND, "45", "6000")] {
        lines.extend([
            ("DEV_GPU_UTIL", pod, utilization),
            ("DEV_FB_USED", pod, memory),
            ("DEV_FB_FREE", pod, "12000"),
            ("DEV_FB_TOTAL", pod, "23034"),
            ("DEV_POWER_USAGE", pod, "60"),
        ]);
    }
    check(
        &page(L4, &lines),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" util=75.0% used=11034 total=23034 mW=60000\n\
         \x20 whole util=30.0% used=4000 total=23034 for ml/a-0/main\n\
         \x20 whole util=45.0% used=6000 total=23034 for ml/b-0/main",
    );
}

/// dcgm-exporter says zero for every pod where it cannot read processes; most of the memory is taken, so the GPU is not idle.
#[test]
fn zeros_for_all_sharers_of_a_full_gpu_are_not_believed() {
    let mut lines = Vec::new();
    for pod in [FIRST, SECOND] {
        lines.extend([
            ("DEV_GPU_UTIL", pod, "0"),
            ("DEV_FB_USED", pod, "0"),
            ("DEV_FB_FREE", pod, "3000"),
        ]);
    }
    check(
        &page(L4, &lines),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\"\n  whole for ml/a-0/main repeated\n  whole for ml/b-0/main repeated",
    );
    lines.push(("PROF_GR_ENGINE_ACTIVE", FIRST, "0.6"));
    check(
        &page(L4, &lines),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" util=60.0%\n  whole for ml/a-0/main repeated\n  whole for ml/b-0/main repeated",
    );
    // As empty as this the GPU is idle indeed.
    let idle: Vec<_> = lines[..6]
        .iter()
        .map(|&(name, pod, value)| (name, pod, if value == "3000" { "22600" } else { value }))
        .collect();
    check(
        &page(L4, &idle),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" util=0.0% used=0\n  whole for ml/a-0/main repeated\n  whole for ml/b-0/main repeated",
    );
}

const A100: &str =
    r#"gpu="1",UUID="GPU-a1",device="nvidia1",modelName="NVIDIA A100-SXM4-80GB",Hostname="gpu-node-1""#;

#[test]
fn instances_have_their_own_memory_and_activity_and_the_device_its_power_once() {
    let large = r#",GPU_I_PROFILE="3g.40gb",GPU_I_ID="1",container="main",namespace="ml",pod="a-0""#;
    let small = r#",GPU_I_PROFILE="1g.10gb",GPU_I_ID="13""#;
    let lines = [
        ("DEV_POWER_USAGE", large, "240"),
        ("DEV_POWER_USAGE", small, "240"),
        ("DEV_GPU_TEMP", large, "41"),
        ("DEV_GPU_TEMP", small, "41"),
        ("DEV_FB_USED", large, "20000"),
        ("DEV_FB_USED", small, "12"),
        ("DEV_FB_FREE", large, "20000"),
        ("DEV_FB_FREE", small, "9700"),
        ("PROF_GR_ENGINE_ACTIVE", large, "0.75"),
        ("PROF_GR_ENGINE_ACTIVE", small, "0"),
        ("PROF_SM_ACTIVE", large, "0.5"),
    ];
    check(
        &page(A100, &lines),
        "gpu-node-1 1 GPU-a1 \"NVIDIA A100-SXM4-80GB\" used=20012 mW=240000 C=41\n\
         \x20 3g.40gb/1/0 util=75.0% sm=50.0% used=20000 total=40000 for ml/a-0/main\n\
         \x20 1g.10gb/13/0 util=0.0% used=12 total=9712",
    );
}

/// Known as dcgm-exporter#353: the whole GPU's figures under the name of every instance.
#[test]
fn figures_of_the_device_are_not_those_of_its_instances() {
    let (first, second) = (
        r#",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7""#,
        r#",GPU_I_PROFILE="1g.10gb",GPU_I_ID="8""#,
    );
    let mut lines = Vec::new();
    for instance in [first, second] {
        lines.extend([
            ("DEV_GPU_UTIL", instance, "64"),
            ("DEV_FB_USED", instance, "40000"),
            ("DEV_FB_FREE", instance, "41000"),
        ]);
    }
    check(
        &page(A100, &lines),
        "gpu-node-1 1 GPU-a1 \"NVIDIA A100-SXM4-80GB\" util=64.0% used=40000 total=81000\n  1g.10gb/7/0\n  1g.10gb/8/0",
    );
}

#[test]
fn words_for_no_value_are_no_values() {
    let lines = [
        ("DEV_GPU_TEMP", "", "50"),
        ("DEV_GPU_UTIL", "", "9223372036854775792"),
        ("DEV_POWER_USAGE", "", "140737488355328"),
        ("DEV_SM_CLOCK", "", "2147483632"),
        ("DEV_FB_USED", "", "17592186044415"),
        ("DEV_MEMORY_TEMP", "", "2147483632"),
        ("PROF_SM_ACTIVE", "", "NaN"),
        ("PROF_DRAM_ACTIVE", "", "+Inf"),
        ("PROF_GR_ENGINE_ACTIVE", "", "-0.5"),
        ("DEV_MEM_COPY_UTIL", "", "101"),
    ];
    let page = page(L4, &lines);
    check(&page, "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" C=50");
    assert_eq!(outcome(&page, None).skipped, 9);
}

#[test]
fn reasons_of_throttling_are_read_from_the_mask() {
    check(
        &page(L4, &[("DEV_CLOCKS_EVENT_REASONS", "", "38")]),
        "gpu-node-1 0 GPU-c2 \"NVIDIA L4\" throttled=[\"power-cap\", \"thermal\"]",
    );
}

//! Pages of AMD's exporter, which names pods always, and mostly with nothing.

use super::check;

fn line(name: &str, gpu: u8, mode: &str, partition: u8, pod: &str, value: &str) -> String {
    format!(
        "{name}{{card_model=\"102-G30211-00\",container=\"{c}\",deployment_mode=\"baremetal\",gpu_compute_partition_type=\"{mode}\",\
         gpu_id=\"{gpu}\",gpu_memory_partition_type=\"nps1\",gpu_partition_id=\"{partition}\",hostname=\"mi-node\",job_id=\"\",\
         namespace=\"{n}\",pod=\"{pod}\",serial_number=\"692432003111\"}} {value}\n",
        c = if pod.is_empty() { "" } else { "main" },
        n = if pod.is_empty() { "" } else { "ml" },
    )
}

#[test]
fn a_whole_gpu_with_a_pod() {
    let all = [
        ("gpu_gfx_activity", "97"),
        ("gpu_umc_activity", "52"),
        ("gpu_used_vram", "150000"),
        ("gpu_total_vram", "196592"),
        ("gpu_free_vram", "46592"),
        ("gpu_package_power", "705"),
        ("gpu_energy_consumed", "91234567891400"),
        ("gpu_junction_temperature", "68"),
        ("gpu_memory_temperature", "55"),
        ("gpu_ecc_uncorrect_total", "2"),
    ];
    let page: String = all
        .iter()
        .map(|(name, value)| line(name, 0, "spx", 0, "llm-0", value))
        .collect();
    check(
        &page,
        "mi-node 0 692432003111 \"102-G30211-00\" util=97.0% bandwidth=52.0% used=150000 total=196592 mW=705000 \
         mJ=91234567891 C=68 memC=55 ecc=2\n\
         \x20 whole util=97.0% used=150000 total=196592 for ml/llm-0/main sole",
    );
}

#[test]
fn partitions_share_a_board_whose_power_counts_once() {
    let mut page = line("gpu_package_power", 0, "dpx", 0, "", "300");
    page += &line("gpu_umc_activity", 0, "dpx", 0, "", "40");
    for (partition, pod) in [(0, "a-0"), (1, "")] {
        page += &line("gpu_used_vram", partition, "dpx", partition, pod, "1000");
        page += &line("gpu_total_vram", partition, "dpx", partition, pod, "98000");
        page += &line("gpu_gfx_activity", partition, "dpx", partition, pod, "50");
    }
    check(
        &page,
        "mi-node 0 692432003111 \"102-G30211-00\" bandwidth=40.0% used=2000 total=196000 mW=300000\n\
         \x20 DPX-0 util=50.0% used=1000 total=98000 for ml/a-0/main\n\
         \x20 DPX-1 util=50.0% used=1000 total=98000",
    );
}

#[test]
fn activity_that_only_the_first_partition_tells_is_the_devices() {
    let mut page = line("gpu_gfx_activity", 0, "dpx", 0, "", "50");
    page += &line("gpu_used_vram", 0, "dpx", 0, "", "1000");
    page += &line("gpu_used_vram", 1, "dpx", 1, "", "1000");
    check(
        &page,
        "mi-node 0 692432003111 \"102-G30211-00\" util=50.0% used=2000\n  DPX-0 used=1000\n  DPX-1 used=1000",
    );
}

#[test]
fn without_a_serial_number_the_place_names_the_gpu() {
    let page = line("gpu_gfx_activity", 3, "spx", 0, "", "5").replace("692432003111", "");
    check(&page, "mi-node 3 mi-node/amd-3 \"102-G30211-00\" util=5.0%");
}

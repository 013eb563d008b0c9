//! Pages of nvidia_gpu_exporter, whose uuids come without their prefix, and our own in its style.

use super::check;

#[test]
fn a_workstation() {
    let uuid = "df6e7a7c-7314-46f8-abc4-b88b36dcf3aa";
    let mut page = format!(
        "nvidia_smi_gpu_info{{driver_version=\"560.35\",name=\"NVIDIA GeForce RTX 3080\",uuid=\"{uuid}\",\
         pci_bus_id=\"00000000:0A:00.0\",serial=\"[N/A]\",index=\"0\"}} 1\n"
    );
    for (name, value) in [
        ("utilization_gpu_ratio", "0.37"),
        ("utilization_memory_ratio", "0.05"),
        ("memory_used_bytes", "7.06740224e+08"),
        ("memory_total_bytes", "1.0737418240e+10"),
        ("power_draw_watts", "28.07"),
        ("enforced_power_limit_watts", "320"),
        ("temperature_gpu", "34"),
        ("clocks_current_sm_clock_hz", "2.1e+08"),
        ("clocks_current_graphics_clock_hz", "2.2e+08"),
        ("clocks_event_reasons_active", "4"),
        ("pstate", "8"),
    ] {
        page += &format!("nvidia_smi_{name}{{uuid=\"{uuid}\"}} {value}\n");
    }
    check(
        &page,
        "10.0.0.1 0 GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa \"NVIDIA GeForce RTX 3080\" util=37.0% bandwidth=5.0% used=674 \
         total=10240 mW=28070 limit=320000 C=34 MHz=210 throttled=[\"power-cap\"]",
    );
}

#[test]
fn our_own_in_this_style() {
    let labels = r#"gpu="2",uuid="GPU-11",name="Tesla T4",node="n1""#;
    let page = format!(
        "nvidia_smi_gpu_utilization_percent{{{labels}}} 87\nnvidia_smi_memory_used_bytes{{{labels}}} 1048576\n\
         nvidia_smi_temperature_celsius{{{labels}}} 71\nnvidia_smi_power_usage_watts{{{labels}}} 66.9\n"
    );
    check(&page, "n1 2 GPU-11 \"Tesla T4\" util=87.0% used=1 mW=66900 C=71");
}

//! Boards, each with the files that its kind has: what is missing here is missing there.

use gpu_exporter::source::amd::tables::{Metrics, Version};

use super::{Gpu, Memory};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn text(value: impl ToString) -> String {
    format!("{}\n", value.to_string())
}

fn version(format: u8, content: u8) -> Version {
    Version { format, content }
}

fn base(chip: &str, vram: u64, used: u64) -> Gpu {
    Gpu {
        address: "0000:05:00.0".to_owned(),
        card: 1,
        render: 128,
        unique_id: 0x3a59_c7d1_04e6_b281,
        files: vec![
            ("device", text(chip)),
            ("subsystem_vendor", text("0x1002")),
            ("power/runtime_status", text("active")),
            ("numa_node", text(0)),
            ("gpu_busy_percent", text(42)),
            ("mem_info_vram_total", text(vram)),
            ("mem_info_vram_used", text(used)),
            ("mem_info_vis_vram_total", text(vram)),
            ("mem_info_vis_vram_used", text(used)),
            ("mem_info_gtt_total", text(256 * GIB)),
            ("mem_info_gtt_used", text(64 * MIB)),
            ("current_link_speed", text("32.0 GT/s PCIe")),
            ("current_link_width", text(16)),
            ("max_link_speed", text("32.0 GT/s PCIe")),
            ("max_link_width", text(16)),
        ],
        sensors: Vec::new(),
        table: None,
        partitions: 1,
        node: Vec::new(),
        memory: Memory {
            total: vram,
            used: None,
        },
        processes: Vec::new(),
        clients: Vec::new(),
    }
}

fn node(simds: u64, dies: u64, gfx: u64, chip: u64, hive: u64) -> Vec<(&'static str, u64)> {
    vec![
        ("cpu_cores_count", 0),
        ("simd_count", simds),
        ("simd_per_cu", 4),
        ("gfx_target_version", gfx),
        ("vendor_id", 0x1002),
        ("device_id", chip),
        ("hive_id", hive),
        ("num_xcc", dies),
    ]
}

/// Blocks of Instinct boards that count their errors.
fn errors(gpu: &mut Gpu) {
    gpu.set("ras/umc_err_count", "ue: 0\nce: 7\nde: 1\n");
    gpu.set("ras/gfx_err_count", "ue: 0\nce: 2\nde: 0\n");
    gpu.set("ras/sdma_err_count", "ue: 0\nce: 0\n");
    gpu.set("ras/mmhub_err_count", "ue: 0\nce: 0\n");
    gpu.set("ras/pcie_bif_err_count", "ue: 0\nce: 0\n");
    gpu.set("ras/xgmi_wafl_err_count", "ue: 0\nce: 3\n");
    gpu.set("ras/features", "feature mask: 0x3fff\n");
    gpu.set(
        "ras/gpu_vram_bad_pages",
        "0x00007a42 : 0x00001000 : R\n0x00007a43 : 0x00001000 : P\n",
    );
}

/// An MI300X that is not divided.
pub(crate) fn mi300x() -> Gpu {
    let mut gpu = base("0x74a1", 192 * GIB, 48 * GIB);
    gpu.node = node(1216, 8, 90_402, 0x74a1, 0xd2c9_a2b1);
    gpu.set("product_name", text("AMD Instinct MI300X OAM"));
    gpu.set("serial_number", text("692444001234"));
    gpu.set("vbios_version", text("113-M3000100-102"));
    gpu.set("current_compute_partition", text("SPX"));
    gpu.set("available_compute_partition", text("SPX, DPX, QPX, CPX"));
    gpu.set("current_memory_partition", text("NPS1"));
    gpu.set("mem_busy_percent", text(17));
    gpu.set("pp_dpm_sclk", "0: 132Mhz *\n1: 2100Mhz \n");
    gpu.set(
        "pp_dpm_mclk",
        "0: 900Mhz \n1: 1100Mhz \n2: 1200Mhz \n3: 1300Mhz *\n",
    );
    gpu.set("pp_dpm_fclk", "0: 1200Mhz \n1: 2100Mhz *\n");
    errors(&mut gpu);
    gpu.sensors = vec![
        ("temp2_label", text("junction")),
        ("temp2_input", text(48_000)),
        ("temp2_crit", text(100_000)),
        ("temp2_emergency", text(105_000)),
        ("temp3_label", text("mem")),
        ("temp3_input", text(41_000)),
        ("temp3_crit", text(105_000)),
        ("power1_input", text(311_000_000)),
        ("power1_label", text("PPT")),
        ("power1_cap", text(750_000_000)),
        ("power1_cap_default", text(750_000_000)),
        ("power1_cap_min", text(0)),
        ("power1_cap_max", text(750_000_000)),
        ("freq1_label", text("sclk")),
        ("freq1_input", text(1_320_000_000)),
    ];
    gpu.table = Some(mi300x_table());
    gpu
}

fn mi300x_table() -> Metrics {
    let mut table = Metrics::EMPTY;
    table.version = version(1, 6);
    table.hotspot_celsius = Some(48.0);
    table.memory_celsius = Some(41.0);
    table.vr_soc_celsius = Some(52.0);
    table.socket_power_watts = Some(312.0);
    table.gfx_busy_ratio = Some(0.42);
    table.memory_busy_ratio = Some(0.17);
    table.energy_joules = Some(1_572_864.0);
    table.accumulation_counter = Some(54_536_484);
    table.residency.prochot = Some(0);
    table.residency.package_power = Some(633_093);
    table.residency.socket_thermal = Some(0);
    table.residency.vr_thermal = Some(0);
    table.residency.hbm_thermal = Some(0);
    table.pcie_link_lanes = Some(16);
    table.pcie_link_transfers_per_second = Some(32e9);
    table.pcie_bytes_per_second = Some(2e9);
    table.pcie_replay_count = Some(3);
    table.pcie_replay_rollover_count = Some(0);
    table.pcie_l0_to_recovery_count = Some(1);
    table.pcie_nak_sent_count = Some(0);
    table.pcie_nak_received_count = Some(5);
    table.xgmi_link_lanes = Some(16);
    table.xgmi_link_bits_per_second = Some(32e9);
    for link in 0..7 {
        table.xgmi_read_bytes[link] = Some((link as u64 + 1) << 30);
        table.xgmi_write_bytes[link] = Some((link as u64 + 1) << 29);
    }
    for die in 0..8 {
        table.gfx_clock_hertz[die] = Some((1_320.0 + die as f64) * 1e6);
        table.partitions[0].gfx_busy_ratio[die] = Some(0.10 * (die as f64 + 1.0));
        table.partitions[0].gfx_busy_accumulator[die] = Some(1_000_000 + die as u64);
    }
    for clock in 0..4 {
        table.soc_clock_hertz[clock] = Some(1_067e6);
        table.video_clock_hertz[clock] = Some(29e6);
        table.decode_clock_hertz[clock] = Some(22e6);
        table.partitions[0].vcn_busy_ratio[clock] = Some(0.0);
    }
    table.memory_clock_hertz = Some(1_300e6);
    table.partition_count = Some(1);
    table
}

/// An MI300X divided into its eight compute dies, with a quarter of the memory for each pair of them.
pub(crate) fn mi300x_cpx() -> Gpu {
    let mut gpu = mi300x();
    gpu.partitions = 8;
    gpu.node = node(152, 1, 90_402, 0x74a1, 0xd2c9_a2b1);
    gpu.memory = Memory {
        total: 24 * GIB,
        used: Some(5 * GIB),
    };
    gpu.set("current_compute_partition", text("CPX"));
    gpu.set("current_memory_partition", text("NPS4"));
    let table = gpu.table.as_mut().unwrap();
    table.version = version(1, 8);
    table.partition_count = Some(8);
    table.memory_bandwidth_limit_bytes_per_second = Some(5_325e9);
    let whole = table.partitions[0];
    table.partitions[0] = Metrics::EMPTY.partitions[0];
    for partition in 0..8 {
        let part = &mut table.partitions[partition];
        part.gfx_busy_ratio[0] = whole.gfx_busy_ratio[partition];
        part.gfx_busy_accumulator[0] = whole.gfx_busy_accumulator[partition];
        part.below_host_limit_power_accumulator[0] = Some(500);
        part.below_host_limit_thermal_accumulator[0] = Some(0);
        part.below_host_limit_total_accumulator[0] = Some(500);
        part.low_utilization_accumulator[0] = Some(9_000);
        part.vcn_busy_ratio[0] = Some(0.0);
    }
    gpu
}

/// An MI210: a table of the middle generation, whose energy is counted in the unit of the new ones.
pub(crate) fn mi210() -> Gpu {
    let mut gpu = base("0x740f", 64 * GIB, 10 * GIB);
    gpu.unique_id = 0x7c10_33f0_98ab_0d42;
    gpu.node = node(416, 1, 90_010, 0x740f, 0);
    gpu.set("serial_number", text("PCB052213-0174"));
    gpu.set("product_name", text("Instinct MI210"));
    gpu.set("vbios_version", text("113-D67301-063"));
    gpu.set("mem_busy_percent", text(8));
    gpu.set("pcie_replay_count", text(2));
    gpu.set("pcie_bw", "11886 2528 256\n");
    gpu.set("pp_dpm_sclk", "0: 500Mhz \n1: 800Mhz *\n2: 1700Mhz \n");
    gpu.set(
        "pp_dpm_mclk",
        "0: 400Mhz \n1: 700Mhz \n2: 1200Mhz \n3: 1600Mhz *\n",
    );
    errors(&mut gpu);
    gpu.sensors = sensors(44_000, 47_000, 43_000, 121_000_000, 300_000_000);
    let mut table = Metrics::EMPTY;
    table.version = version(1, 3);
    table.edge_celsius = Some(44.0);
    table.hotspot_celsius = Some(47.0);
    table.memory_celsius = Some(43.0);
    for stack in 0..4 {
        table.hbm_celsius[stack] = Some(41.0 + stack as f64);
    }
    table.gfx_busy_ratio = Some(0.42);
    table.memory_busy_ratio = Some(0.08);
    table.average_socket_power_watts = Some(121.0);
    table.energy_raw = Some(6_553_600_000);
    table.gfx_clock_hertz[0] = Some(800e6);
    table.memory_clock_hertz = Some(1_600e6);
    table.soc_clock_hertz[0] = Some(1_090e6);
    table.pcie_link_lanes = Some(16);
    table.pcie_link_transfers_per_second = Some(16e9);
    table.throttle_bits = Some(0);
    gpu.table = Some(table);
    gpu
}

/// An MI100: the same table, an older chip, and no name of its own.
pub(crate) fn mi100() -> Gpu {
    let mut gpu = mi210();
    gpu.unique_id = 0x18f2_5b90_7711_00c4;
    gpu.node = node(480, 1, 90_008, 0x738c, 0);
    gpu.set("device", text("0x738c"));
    gpu.set("product_name", "\n");
    gpu.set("serial_number", "N/A\n");
    gpu.set("mem_info_vram_total", text(32 * GIB));
    gpu.set("mem_info_vis_vram_total", text(32 * GIB));
    gpu.set("mem_info_vram_used", text(GIB));
    gpu.set("mem_info_vis_vram_used", text(GIB));
    gpu.memory.total = 32 * GIB;
    let table = gpu.table.as_mut().unwrap();
    table.version = version(1, 2);
    table.throttle_bits = None;
    gpu
}

/// A Radeon for desks: sensors, fans, a display, no counters of errors; its energy is in a unit that is not known.
pub(crate) fn rx7900xtx() -> Gpu {
    let mut gpu = base("0x744c", 24 * GIB, 3 * GIB);
    gpu.unique_id = 0x61d0_9fae_42c7_5510;
    gpu.node = node(192, 1, 110_000, 0x744c, 0);
    gpu.set("subsystem_vendor", text("0x1da2"));
    gpu.set("vbios_version", text("113-4E4710U-T4Y"));
    gpu.set("mem_busy_percent", text(3));
    gpu.set("vcn_busy_percent", text(0));
    gpu.set("pcie_replay_count", text(0));
    gpu.set("pp_dpm_sclk", "0: 500Mhz \n1: 1450Mhz *\n2: 2526Mhz \n");
    gpu.set(
        "pp_dpm_pcie",
        "0: 2.5GT/s, x1 310Mhz \n1: 16.0GT/s, x16 619Mhz *\n",
    );
    gpu.sensors = sensors(51_000, 63_000, 60_000, 88_000_000, 339_000_000);
    gpu.sensors.extend([
        ("fan1_input", text(612)),
        ("pwm1", text(51)),
        ("pwm1_max", text(255)),
        ("in0_label", text("vddgfx")),
        ("in0_input", text(762)),
    ]);
    let mut table = Metrics::EMPTY;
    table.version = version(1, 3);
    table.edge_celsius = Some(51.0);
    table.hotspot_celsius = Some(63.0);
    table.memory_celsius = Some(60.0);
    table.gfx_busy_ratio = Some(0.42);
    table.average_socket_power_watts = Some(88.0);
    table.energy_raw = Some(123_456_789);
    table.gfx_clock_hertz[0] = Some(1_450e6);
    table.memory_clock_hertz = Some(1_249e6);
    table.throttle_bits = Some(0);
    gpu.table = Some(table);
    gpu
}

/// A processor with graphics: little memory of its own, one sensor, no unique id.
pub(crate) fn apu() -> Gpu {
    let mut gpu = base("0x15bf", 4 * GIB, GIB);
    gpu.unique_id = 0;
    gpu.node = node(24, 1, 110_003, 0x15bf, 0);
    gpu.set("subsystem_vendor", text("0x17aa"));
    gpu.set("vbios_version", text("113-PHXGENERIC-001"));
    gpu.set("unique_id", "\n");
    gpu.set("pp_dpm_sclk", "0: 800Mhz *\n1: 1100Mhz \n2: 2700Mhz \n");
    gpu.sensors = vec![
        ("temp1_label", text("edge")),
        ("temp1_input", text(45_000)),
        ("power1_average", text(9_103_000)),
        ("power1_label", text("PPT")),
        ("freq1_label", text("sclk")),
        ("freq1_input", text(800_000_000)),
    ];
    let mut table = Metrics::EMPTY;
    table.version = version(2, 1);
    table.gfx_celsius = Some(44.0);
    table.soc_celsius = Some(46.0);
    table.gfx_busy_ratio = Some(0.42);
    table.average_gfx_clock_hertz = Some(800e6);
    table.average_soc_clock_hertz = Some(600e6);
    gpu.table = Some(table);
    gpu
}

fn sensors(edge: u32, junction: u32, memory: u32, microwatts: u32, cap: u32) -> Vec<(&'static str, String)> {
    vec![
        ("temp1_label", text("edge")),
        ("temp1_input", text(edge)),
        ("temp1_crit", text(100_000)),
        ("temp1_emergency", text(105_000)),
        ("temp2_label", text("junction")),
        ("temp2_input", text(junction)),
        ("temp2_crit", text(100_000)),
        ("temp3_label", text("mem")),
        ("temp3_input", text(memory)),
        ("temp3_crit", text(95_000)),
        ("power1_average", text(microwatts)),
        ("power1_label", text("PPT")),
        ("power1_cap", text(cap)),
        ("power1_cap_default", text(cap)),
        ("power1_cap_min", text(0)),
        ("power1_cap_max", text(cap)),
        ("freq1_label", text("sclk")),
        ("freq1_input", text(800_000_000)),
        ("freq2_label", text("mclk")),
        ("freq2_input", text(1_600_000_000)),
    ]
}

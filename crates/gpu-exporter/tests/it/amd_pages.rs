//! AMD's GPUs under AMD's names and under ours: labels, units, partitions, owners, the configuration of AMD's exporter.

use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_exporter::page::{
    AmdConfig, FamilyChoice, LabelChoice, PageSettings, StaticLabels, Subset, Vocabulary, page_text,
};
use gpu_exporter::readings::Field;
use gpu_exporter::snapshot::{DeviceState, Job, NodeSnapshot};
use gpu_exposition::{Format, Page, ParserOptions};
use gpu_model::Reading;
use gpu_testbed::Program;

use crate::golden::{check, every_vocabulary};
use crate::{amd_nodes, lint, nodes};

fn amd() -> PageSettings {
    PageSettings {
        vocabularies: BTreeSet::from([Vocabulary::Amd]),
        ..PageSettings::default()
    }
}

fn configured(text: &str) -> PageSettings {
    PageSettings {
        amd: Some(AmdConfig::parse(text).unwrap()),
        ..amd()
    }
}

fn text(node: &NodeSnapshot, settings: &PageSettings) -> String {
    page_text(node, settings, Format::Text, Subset::Full).unwrap()
}

fn lines<'a>(page: &'a str, family: &str) -> Vec<&'a str> {
    let is_of = |line: &&str| {
        line.strip_prefix(family)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    page.lines().filter(is_of).collect()
}

/// The value of the one series of a family that has all these labels.
#[track_caller]
fn value(page: &str, family: &str, labels: &[&str]) -> f64 {
    let found: Vec<_> = lines(page, family)
        .into_iter()
        .filter(|line| labels.iter().all(|label| line.contains(label)))
        .collect();
    let [line] = found[..] else {
        panic!("{} lines of {family} with {labels:?} in\n{page}", found.len());
    };
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn golden_pages_of_amds_gpus() {
    for (name, node) in amd_nodes::all() {
        check(&format!("{name}.prom"), &text(&node, &every_vocabulary()));
    }
    let page = page_text(
        &amd_nodes::mi300x_cpx(),
        &every_vocabulary(),
        Format::OpenMetrics,
        Subset::Full,
    )
    .unwrap();
    check("mi300x-cpx.openmetrics", &page);
    let settings = PageSettings {
        families: FamilyChoice::all(),
        ..every_vocabulary()
    };
    check(
        "every-amd-family.prom",
        &text(&amd_nodes::mi300x_spx(), &settings),
    );
}

#[test]
fn amds_labels_are_always_there() {
    let page = text(&amd_nodes::mi300x_spx(), &amd());
    let held = "gpu_power_usage{gpu_id=\"0\",gpu_partition_id=\"0\",serial_number=\"692245000000\",\
                card_model=\"102-G30211-00\",hostname=\"mi300x-node-1\",gpu_compute_partition_type=\"spx\",\
                gpu_memory_partition_type=\"nps1\",deployment_mode=\"baremetal\",namespace=\"training\",pod=\"llm-0\",container=\"trainer\",\
                job_id=\"\",job_user=\"\",job_partition=\"\"} 705";
    let free = "gpu_power_usage{gpu_id=\"1\",gpu_partition_id=\"0\",serial_number=\"692245000001\",\
                card_model=\"102-G30211-00\",hostname=\"mi300x-node-1\",gpu_compute_partition_type=\"spx\",\
                gpu_memory_partition_type=\"nps1\",deployment_mode=\"baremetal\",namespace=\"\",pod=\"\",container=\"\",\
                job_id=\"\",job_user=\"\",job_partition=\"\"} 705";
    assert_eq!(lines(&page, "gpu_power_usage"), [held, free]);
    let page = text(&amd_nodes::mi210s(), &amd());
    let [line] = lines(&page, "gpu_average_package_power")[..] else {
        panic!("{page}");
    };
    for label in [
        "card_model=\"AMD Instinct MI210\"",
        "gpu_compute_partition_type=\"none\"",
        "deployment_mode=\"\"",
    ] {
        assert!(line.contains(label), "{line}");
    }
}

#[test]
fn the_job_of_a_batch_system_is_named_where_it_is_one() {
    let job = |id: &str, instance| Job {
        instance,
        id: id.to_owned(),
        user: Some("ada".to_owned()),
        partition: Some("batch".to_owned()),
        cluster: Some("blue".to_owned()),
    };
    let mut node = amd_nodes::mi300x_cpx();
    node.devices[0].jobs = Arc::from([job("7", Some(1)), job("8", Some(2)), job("9", Some(2))]);
    let page = text(&node, &configured(r#"{"GPUConfig":{"Labels":["CLUSTER_NAME"]}}"#));
    let of = |number: usize| lines(&page, "gpu_used_vram")[number];
    let labels = "job_id=\"7\",job_user=\"ada\",job_partition=\"batch\",cluster_name=\"blue\"";
    assert!(of(1).contains(labels), "{}", of(1));
    for number in [0, 2] {
        assert!(of(number).contains("job_id=\"\""), "{}", of(number));
    }
}

#[test]
fn units_are_amds() {
    let every = PageSettings {
        families: FamilyChoice::all(),
        ..amd()
    };
    let page = text(&amd_nodes::mi300x_spx(), &every);
    let of = |family: &str, more: &[&str]| {
        let mut labels = vec!["gpu_id=\"0\""];
        labels.extend(more);
        value(&page, family, &labels)
    };
    assert_eq!(of("gpu_energy_consumed", &[]), 91_234_567_891_400.0);
    assert_eq!(of("gpu_gfx_activity", &[]), 97.0);
    assert_eq!(of("gpu_total_vram", &[]), 196_592.0);
    assert_eq!(of("gpu_free_vram", &[]), 46_592.0);
    assert_eq!(of("gpu_free_gtt", &[]), 1_030_956.0);
    assert_eq!(of("pcie_speed", &[]), 32.0);
    assert_eq!(of("pcie_bandwidth", &[]), 10_000.0);
    assert_eq!(of("gpu_vram_max_bandwidth", &[]), 5_325.0);
    assert_eq!(of("gpu_violation_ppt_residency_percentage", &[]), 86.7);
    assert_eq!(of("gpu_violation_ppt_residency_accumulated", &[]), 754_247.0);
    assert_eq!(of("gpu_xgmi_link_tx", &["link_index=\"2\""]), 3e9);
    assert_eq!(of("gpu_gfx_busy_instantaneous", &["xcc_index=\"7\""]), 97.0);
    assert_eq!(of("gpu_ecc_correct_umc", &[]), 4.0);
    assert_eq!(of("gpu_process_cu_occupancy", &["process_id=\"4242\""]), 296.0);
    assert_eq!(
        of("gpu_clock", &["clock_index=\"7\"", "clock_type=\"system\""]),
        2_105.0
    );
    assert_eq!(
        of("gpu_clock", &["clock_index=\"8\"", "clock_type=\"memory\""]),
        1_300.0
    );
    assert_eq!(
        of("gpu_clock", &["clock_index=\"13\"", "clock_type=\"data\""]),
        22.0
    );
    assert_eq!(
        of("gpu_max_clock", &["clock_index=\"7\"", "clock_type=\"system\""]),
        2_100.0
    );
    let page = text(&amd_nodes::mi210s(), &every);
    assert_eq!(value(&page, "gpu_gfx_voltage", &[]), 793.0);
    assert_eq!(value(&page, "gpu_hbm_temperature", &["hbm_index=\"3\""]), 47.0);
    assert_eq!(value(&page, "gpu_edge_temperature", &[]), 41.0);
    assert_eq!(
        lines(&page, "gpu_package_power").len(),
        0,
        "only the average is read"
    );
}

#[test]
fn each_partition_is_a_gpu_to_amd() {
    let page = text(&amd_nodes::mi300x_cpx(), &amd());
    assert_eq!(
        value(&page, "gpu_nodes_total", &["{hostname=\"mi300x-node-2\"}"]),
        9.0
    );
    let used = lines(&page, "gpu_used_vram");
    assert_eq!(used.len(), 9, "{used:#?}");
    let of = |labels: &[&str]| value(&page, "gpu_used_vram", labels);
    assert_eq!(
        of(&["gpu_id=\"1\"", "gpu_partition_id=\"1\"", "pod=\"bert-1\""]),
        2_048.0
    );
    assert_eq!(
        of(&["gpu_id=\"7\"", "gpu_partition_id=\"7\"", "pod=\"\""]),
        8_192.0
    );
    assert_eq!(of(&["gpu_id=\"8\"", "gpu_partition_id=\"0\""]), 150_000.0);
    // What the package measures stands once, without an owner, at the first partition.
    let power = lines(&page, "gpu_power_usage");
    assert_eq!(power.len(), 2, "{power:#?}");
    for label in [
        "gpu_id=\"0\"",
        "gpu_partition_id=\"0\"",
        "gpu_compute_partition_type=\"cpx\"",
        "pod=\"\"",
    ] {
        assert!(power[0].contains(label), "{power:#?}");
    }
}

#[test]
fn our_names_know_amds_gpus() {
    let settings = PageSettings {
        vocabularies: BTreeSet::from([Vocabulary::Gpu]),
        families: FamilyChoice::all(),
        ..PageSettings::default()
    };
    let page = text(&amd_nodes::mi300x_cpx(), &settings);
    let first = "gpu=\"0\"";
    assert_eq!(
        value(&page, "gpu_temperature_celsius", &[first, "sensor=\"hotspot\""]),
        68.0
    );
    assert_eq!(
        value(&page, "gpu_clock_hertz", &[first, "clock=\"fabric\""]),
        1_800e6
    );
    assert_eq!(
        value(
            &page,
            "gpu_throttle_seconds_total",
            &[first, "reason=\"power_cap\""]
        ),
        4.335
    );
    assert_eq!(
        value(
            &page,
            "gpu_throttle_seconds_total",
            &[first, "reason=\"memory_thermal\""]
        ),
        0.0
    );
    assert_eq!(
        value(&page, "gpu_ecc_errors_total", &[first, "type=\"deferred\""]),
        0.0
    );
    assert_eq!(
        value(
            &page,
            "gpu_block_errors_total",
            &[first, "block=\"umc\"", "type=\"corrected\""]
        ),
        4.0
    );
    assert_eq!(
        value(
            &page,
            "gpu_link_bytes_total",
            &[first, "link=\"0\"", "direction=\"transmit\""]
        ),
        1_024e9
    );
    assert_eq!(
        value(
            &page,
            "gpu_die_utilization_ratio",
            &[first, "partition=\"cpx_nps4/3/0\"", "die=\"0\""]
        ),
        0.3
    );
}

#[test]
fn our_names_say_how_a_gpu_is_cut_and_its_parts_sum_to_it() {
    let page = text(&amd_nodes::mi300x_cpx(), &PageSettings::default());
    let first = "gpu=\"0\"";
    let info = lines(&page, "gpu_info");
    assert!(
        info[0].contains("compute_partition=\"CPX\"") && info[0].contains("memory_partition=\"NPS4\""),
        "{}",
        info[0]
    );
    let sum: f64 = lines(&page, "gpu_memory_used_bytes")
        .iter()
        .filter(|line| line.contains(first))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        .sum();
    assert_eq!(
        sum,
        150_000.0 * 1_048_576.0,
        "partitions and rest sum to the device"
    );
}

#[test]
fn no_vocabulary_speaks_of_the_other_vendors_gpus() {
    let page = text(&amd_nodes::mixed_vendors(), &every_vocabulary());
    assert_eq!(lines(&page, "DCGM_FI_DEV_GPU_UTIL").len(), 1);
    assert_eq!(lines(&page, "nvidia_smi_power_usage_watts").len(), 1);
    assert_eq!(lines(&page, "gpu_power_usage").len(), 1);
    assert_eq!(lines(&page, "gpu_power_watts").len(), 2);
    assert_eq!(value(&page, "gpu_nodes_total", &[]), 1.0);
    let page = text(&nodes::h100s(), &every_vocabulary());
    assert_eq!(
        lines(&page, "gpu_nodes_total").len(),
        0,
        "nobody looked for AMD's GPUs"
    );
}

#[test]
fn pages_with_all_vocabularies_are_valid_in_both_formats() {
    let settings = PageSettings {
        families: FamilyChoice::all(),
        ..every_vocabulary()
    };
    for (name, node) in amd_nodes::all() {
        for format in Format::ALL {
            let page = page_text(&node, &settings, format, Subset::Full).unwrap();
            let parsed = Page::parse(page.as_bytes(), ParserOptions::new(format));
            let families = parsed.unwrap_or_else(|error| panic!("{name}: {error}")).families;
            let mut seen = BTreeSet::new();
            assert!(
                families.iter().all(|family| seen.insert(family.name.clone())),
                "{name}"
            );
        }
    }
}

#[test]
fn health_is_said_only_where_errors_are_counted() {
    let health = |node: &NodeSnapshot, settings: &PageSettings| {
        let page = text(node, settings);
        lines(&page, "gpu_health")
            .iter()
            .map(|line| line.rsplit(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(health(&amd_nodes::mi300x_spx(), &amd()), ["1", "1"]);
    let mut node = amd_nodes::mi210s();
    assert_eq!(health(&node, &amd()), ["0"], "two uncorrectable errors");
    let lenient = r#"{"GPUConfig":{"HealthThresholds":{"GPU_ECC_UNCORRECT_UMC":2}}}"#;
    assert_eq!(health(&node, &configured(lenient)), ["1"]);
    node.devices[0].state = DeviceState::Lost;
    assert_eq!(health(&node, &configured(lenient)), ["0"]);
    node.devices[0].state = DeviceState::Up;
    let readings = Arc::make_mut(&mut node.devices[0].readings);
    readings.blocks.clear();
    readings.set(Field::EccUncorrectedVolatile, Reading::Unsupported);
    assert_eq!(health(&node, &amd()), [""; 0]);
}

#[test]
fn the_configuration_of_amds_exporter_decides() {
    let settings = configured(
        r#"{"CommonConfig": {"MetricsFieldPrefix": "amd_"},
            "GPUConfig": {"Fields": ["GPU_USED_GTT", "GPU_POWER_USAGE"],
                          "Labels": ["GPU_UUID", "CARD_SERIES"],
                          "CustomLabels": {"CLUSTER_NAME": "blue", "Rack": "7"}}}"#,
    );
    let page = text(&amd_nodes::mi300x_spx(), &settings);
    let names: BTreeSet<&str> = page
        .lines()
        .filter(|line| {
            !line.starts_with('#') && !line.starts_with("gpu_exporter_") && !line.starts_with("dcgm_up")
        })
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .collect();
    assert_eq!(names, BTreeSet::from(["amd_gpu_power_usage", "amd_gpu_used_gtt"]));
    for label in [
        "gpu_uuid=\"9f1c4e7a0b3d0000\"",
        "card_series=\"AMD Instinct MI300X OAM\"",
        "cluster_name=\"blue\"",
        "rack=\"7\"",
    ] {
        assert!(lines(&page, "amd_gpu_power_usage")[0].contains(label), "{page}");
    }
}

#[test]
fn the_operators_labels_win() {
    let settings = PageSettings {
        labels: LabelChoice::parse("pod,gpu_uuid,cluster_name"),
        static_labels: StaticLabels::parse(["cluster_name=blue"]).unwrap(),
        ..amd()
    };
    let page = text(&amd_nodes::mi300x_spx(), &settings);
    assert_eq!(
        lines(&page, "gpu_power_usage")[0],
        "gpu_power_usage{gpu_id=\"0\",gpu_partition_id=\"0\",gpu_uuid=\"9f1c4e7a0b3d0000\",pod=\"llm-0\",cluster_name=\"blue\"} 705"
    );
    for own in ["gpu_id=1", "job_id=7", "pod_uuid=x", "xcc_index=1"] {
        assert!(StaticLabels::parse([own]).is_err(), "{own}");
    }
}

#[test]
fn our_names_stay_clean_with_amds_gpus() {
    gpu_testbed::require!(Program::Promtool);
    for (name, node) in amd_nodes::all() {
        let settings = PageSettings {
            vocabularies: BTreeSet::from([Vocabulary::Gpu]),
            families: FamilyChoice::all(),
            ..PageSettings::default()
        };
        assert_eq!(lint::findings(&text(&node, &settings)), "", "{name}");
    }
}

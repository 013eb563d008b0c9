//! What a page promises: label order, shares that sum to the device, withheld values, switches of dcgm-exporter.

use gpu_exporter::page::{
    CountersFile, DcgmStyle, FamilyChoice, HostnameLabel, LabelChoice, LabelNames, ModelName, PageSettings,
    SeriesCap, StaticLabels, Subset, Vocabulary, page_text,
};
use gpu_exporter::snapshot::{NodeSnapshot, Origin};
use gpu_exposition::{Format, Page, ParserOptions};

use crate::golden::every_vocabulary;
use crate::nodes;

fn text(node: &NodeSnapshot, settings: &PageSettings) -> String {
    page_text(node, settings, Format::Text, Subset::Full).unwrap()
}

fn parsed(node: &NodeSnapshot, settings: &PageSettings) -> Page {
    Page::parse(text(node, settings).as_bytes(), ParserOptions::new(Format::Text)).unwrap()
}

/// The lines of one family, without its metadata.
fn lines<'a>(page: &'a str, family: &str) -> Vec<&'a str> {
    let is_of = |line: &&str| {
        line.strip_prefix(family)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    page.lines().filter(is_of).collect()
}

#[track_caller]
fn check_line(node: &NodeSnapshot, settings: &PageSettings, expected: &str) {
    let page = text(node, settings);
    assert!(
        page.lines().any(|line| line == expected),
        "no line\n{expected}\nin\n{page}"
    );
}

fn sum(page: &Page, family: &str) -> f64 {
    let family = page.families.iter().find(|one| one.name == family).unwrap();
    family.samples.iter().map(|sample| sample.value).sum()
}

#[test]
fn labels_have_the_order_of_dcgm_exporter() {
    check_line(
        &nodes::h100s(),
        &PageSettings::default(),
        "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-0b8a5f1c-77aa-4c1e-9d2e-000000000000\",\
         pci_bus_id=\"00000000:1B:00.0\",device=\"nvidia0\",modelName=\"NVIDIA H100 80GB HBM3\",\
         Hostname=\"h100-node-1\",DCGM_FI_DRIVER_VERSION=\"560.35.03\",container=\"trainer\",\
         namespace=\"training\",pod=\"llm-0\"} 61",
    );
    check_line(
        &nodes::a100_mig(),
        &PageSettings::default(),
        "DCGM_FI_DEV_FB_USED{gpu=\"0\",UUID=\"GPU-0b8a5f1c-77aa-4c1e-9d2e-000000000000\",\
         pci_bus_id=\"00000000:1B:00.0\",device=\"nvidia0\",modelName=\"NVIDIA A100-SXM4-80GB\",\
         GPU_I_PROFILE=\"3g.40gb\",GPU_I_ID=\"1\",Hostname=\"a100-node-1\",\
         DCGM_FI_DRIVER_VERSION=\"550.90.07\",container=\"server\",namespace=\"inference\",pod=\"bert-0\"} 20480",
    );
}

#[test]
fn our_labels_say_who_holds_it() {
    check_line(
        &nodes::h100s(),
        &PageSettings::default(),
        "gpu_utilization_ratio{gpu=\"0\",uuid=\"GPU-0b8a5f1c-77aa-4c1e-9d2e-000000000000\",vendor=\"nvidia\",\
         node=\"h100-node-1\",namespace=\"training\",pod=\"llm-0\",container=\"trainer\"} 0.93",
    );
    check_line(
        &nodes::h100s(),
        &PageSettings::default(),
        "gpu_utilization_ratio{gpu=\"7\",uuid=\"GPU-0b8a5f1c-77aa-4c1e-9d2e-000000000007\",vendor=\"nvidia\",\
         node=\"h100-node-1\"} 0.93",
    );
}

#[test]
fn rows_of_a_sliced_device_sum_to_the_device() {
    let page = parsed(&nodes::a100_mig(), &PageSettings::default());
    assert_eq!(sum(&page, "gpu_memory_total_bytes"), 2.0 * 81_920.0 * 1_048_576.0);
    assert_eq!(sum(&page, "gpu_memory_used_bytes"), 30_720.0 * 1_048_576.0);
}

#[test]
fn shares_and_remainder_sum_to_the_device() {
    let page = parsed(&nodes::t4_time_sliced(), &PageSettings::default());
    assert_eq!(sum(&page, "DCGM_FI_DEV_FB_USED"), 9_000.0);
    assert_eq!(sum(&page, "DCGM_FI_DEV_GPU_UTIL"), 87.0);
    let ours = sum(&page, "gpu_container_memory_bytes") + sum(&page, "gpu_unattributed_memory_bytes");
    assert_eq!(ours, sum(&page, "gpu_memory_used_bytes"));
}

#[test]
fn what_belongs_to_the_device_is_there_once() {
    let page = text(&nodes::t4_time_sliced(), &every_vocabulary());
    for family in [
        "DCGM_FI_DEV_POWER_USAGE",
        "gpu_power_watts",
        "DCGM_FI_DEV_GPU_TEMP",
        "gpu_utilization_ratio",
    ] {
        let lines = lines(&page, family);
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(!lines[0].contains("pod="), "{lines:#?}");
    }
    assert_eq!(
        lines(&page, "DCGM_FI_DEV_FB_USED").len(),
        4,
        "three measured pods and the remainder"
    );
}

#[test]
fn a_withheld_value_is_nowhere() {
    let page = text(&nodes::l40s_mps(), &every_vocabulary());
    for family in [
        "gpu_utilization_ratio",
        "gpu_busy_seconds_total",
        "gpu_memory_bandwidth_utilization_ratio",
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "nvidia_smi_gpu_utilization_percent",
    ] {
        assert_eq!(lines(&page, family), Vec::<&str>::new());
    }
    let restricted = lines(&page, "gpu_exporter_value_restricted");
    assert!(
        restricted[0].ends_with("reason=\"utilization_pinned_at_zero\"} 1"),
        "{restricted:?}"
    );
    assert!(page.contains("DCGM_FI_DEV_XID_ERRORS"));
}

#[test]
fn profiling_is_absent_where_the_hardware_has_none() {
    let page = text(&nodes::rtx3080(), &every_vocabulary());
    assert!(!page.contains("DCGM_FI_PROF_") && !page.contains("gpu_sm_active_ratio"));
    assert!(text(&nodes::h100s(), &every_vocabulary()).contains("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"));
}

#[test]
fn hopper_has_all_default_families_of_dcgm_exporter() {
    let page = text(&nodes::h100s(), &PageSettings::default());
    let missing: Vec<&str> = Vocabulary::Dcgm
        .families()
        .take(26)
        .map(|spec| spec.meta.name)
        .filter(|name| lines(&page, name).is_empty())
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn no_driver_is_said_and_nothing_is_invented() {
    let page = text(&nodes::no_gpu(), &every_vocabulary());
    assert!(page.contains("\ndcgm_up 0\n"));
    assert!(!page.contains("DCGM_FI_") && !page.contains("gpu_utilization_ratio"));
    assert!(text(&nodes::h100s(), &every_vocabulary()).contains("\ndcgm_up 1\n"));
}

#[test]
fn simulated_values_say_so_on_every_line() {
    let mut node = nodes::t4_time_sliced();
    node.origin = Origin::Simulated;
    let page = text(&node, &every_vocabulary());
    let silent =
        |line: &&str| !line.starts_with('#') && line.contains("gpu=\"") && !line.contains("source=\"sim\"");
    assert_eq!(page.lines().find(silent), None);
}

#[test]
fn switches_of_dcgm_exporter() {
    let dcgm = |style| PageSettings {
        dcgm: style,
        ..PageSettings::default()
    };
    let style = DcgmStyle::default();
    let lower = text(
        &nodes::h100s(),
        &dcgm(DcgmStyle {
            hostname: HostnameLabel::Lower,
            ..style
        }),
    );
    assert!(lower.contains(",hostname=\"h100-node-1\"") && !lower.contains("Hostname"));
    let none = text(
        &nodes::h100s(),
        &dcgm(DcgmStyle {
            hostname: HostnameLabel::Absent,
            ..style
        }),
    );
    assert!(!none.contains("ostname="));
    let old = text(
        &nodes::h100s(),
        &dcgm(DcgmStyle {
            names: LabelNames::Old,
            ..style
        }),
    );
    assert!(old.contains("container_name=\"trainer\",pod_name=\"llm-0\",pod_namespace=\"training\""));
    assert!(!old.contains("UUID="));
    let blanks = text(
        &nodes::h100s(),
        &dcgm(DcgmStyle {
            model: ModelName::BlanksReplaced,
            ..style
        }),
    );
    assert!(blanks.contains("modelName=\"NVIDIA-H100-80GB-HBM3\""));
}

#[test]
fn a_counters_file_decides_over_dcgm_families() {
    let file = CountersFile::parse(
        "# mine\nDCGM_FI_DEV_GPU_TEMP_CELSIUS, gauge, Warmth.\nDCGM_FI_DEV_GPU_UTIL, counter, Wrong but asked for.\n\
         DCGM_FI_DEV_VBIOS_VERSION, label, x\nDCGM_FI_DEV_CPU_UTIL_TOTAL, gauge, Not ours.\n",
    )
    .unwrap();
    let settings = PageSettings {
        counters: Some(file),
        ..PageSettings::default()
    };
    let page = text(&nodes::h100s(), &settings);
    assert!(page.contains(
        "# HELP DCGM_FI_DEV_GPU_TEMP_CELSIUS Warmth.\n# TYPE DCGM_FI_DEV_GPU_TEMP_CELSIUS gauge\n"
    ));
    assert!(page.contains("# TYPE DCGM_FI_DEV_GPU_UTIL counter\n"));
    assert!(
        page.contains("DCGM_FI_DEV_VBIOS_VERSION=\"96.00.89.00.01\"") && !page.contains("DRIVER_VERSION=")
    );
    assert!(page.contains("\ngpu_exporter_counters_skipped 1\n"));
    assert!(!page.contains("DCGM_FI_DEV_SM_CLOCK") && page.contains("gpu_clock_hertz"));
}

#[test]
fn allow_lists_and_the_operators_labels() {
    let settings = PageSettings {
        families: FamilyChoice::parse("gpu_power_watts, gpu_bar1_*, DCGM_FI_DEV_BOARD_POWER_WATTS").unwrap(),
        labels: LabelChoice::parse("pod"),
        static_labels: StaticLabels::parse(["site=a\"b", "rack=7"]).unwrap(),
        ..PageSettings::default()
    };
    let page = text(&nodes::h100s(), &settings);
    check_line(
        &nodes::h100s(),
        &settings,
        "gpu_power_watts{gpu=\"0\",uuid=\"GPU-0b8a5f1c-77aa-4c1e-9d2e-000000000000\",pod=\"llm-0\",\
         site=\"a\\\"b\",rack=\"7\"} 612.4",
    );
    assert!(page.contains("DCGM_FI_DEV_POWER_USAGE{") && !page.contains("gpu_up"));
}

#[test]
fn a_family_over_the_limit_is_left_out_whole_and_counted() {
    let settings = PageSettings {
        series_cap: SeriesCap::new(200).unwrap(),
        ..PageSettings::default()
    };
    let page = parsed(&nodes::h100s(), &settings);
    let full = parsed(&nodes::h100s(), &PageSettings::default());
    let series = |page: &Page| {
        page.families
            .iter()
            .map(|family| family.samples.len())
            .sum::<usize>()
    };
    assert!(series(&page) <= 200, "{}", series(&page));
    let mut dropped = 0;
    for family in &full.families {
        match page.families.iter().find(|one| one.name == family.name) {
            Some(kept) => assert_eq!(kept.samples.len(), family.samples.len(), "{}", family.name),
            None => dropped += family.samples.len(),
        }
    }
    assert!(dropped > 0);
    assert_eq!(sum(&page, "gpu_exporter_series_dropped_total"), dropped as f64);
    assert_eq!(sum(&page, "gpu_exporter_page_series"), series(&page) as f64);
}

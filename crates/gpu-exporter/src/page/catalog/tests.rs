//! The catalogue is sound: names, units and tiers hold before any page is written.

use std::collections::BTreeSet;

use gpu_exposition::{MetricKind, is_label_name, is_metric_name};

use super::{FamilySpec, Ownership, SELF, Supply, Tier, Vocabulary};
use crate::readings::ErrorBlock;

fn every() -> impl Iterator<Item = &'static FamilySpec> {
    Vocabulary::ALL.into_iter().flat_map(Vocabulary::families)
}

#[test]
fn names_are_valid_and_each_is_used_once() {
    let mut names = BTreeSet::new();
    let own = SELF.iter().map(|meta| meta.name);
    for name in every()
        .flat_map(|spec| [Some(spec.meta.name), spec.alias])
        .flatten()
        .chain(own)
    {
        assert!(is_metric_name(name), "{name}");
        assert!(names.insert(name), "{name} is there twice");
    }
    for spec in every() {
        assert!(
            spec.labels.iter().all(|name| is_label_name(name)),
            "{}",
            spec.meta.name
        );
        assert!(spec.meta.help.ends_with('.'), "{}", spec.meta.name);
        let has_series = matches!(spec.supply, Supply::Each(_));
        assert!(
            !has_series || spec.labels.len() == 1,
            "{} needs a label",
            spec.meta.name
        );
        if let Supply::Parts(series) = spec.supply {
            let expected = if series.len() == 1 { 1 } else { 2 };
            assert_eq!(spec.labels.len(), expected, "{}", spec.meta.name);
        }
    }
}

#[test]
fn our_names_end_in_their_unit_and_counters_in_total() {
    let own = Vocabulary::Gpu.families().map(|spec| spec.meta);
    for meta in own.chain(SELF.iter().copied()) {
        let is_counter = meta.kind == MetricKind::Counter;
        assert_eq!(meta.name.ends_with("_total"), is_counter, "{}", meta.name);
        assert_eq!(
            meta.name.ends_with("_info"),
            meta.kind == MetricKind::Info,
            "{}",
            meta.name
        );
        let units = [
            "ratio", "bytes", "watts", "joules", "celsius", "hertz", "seconds", "volts",
        ];
        let stem = meta.name.trim_end_matches("_total");
        let unit = units.into_iter().find(|unit| stem.ends_with(&format!("_{unit}")));
        assert_eq!(meta.unit, unit, "{}", meta.name);
    }
}

#[test]
fn no_name_of_one_vocabulary_is_that_of_another() {
    // OpenMetrics declares a family without `_total` or `_info`: these names must differ, too.
    let declared = |spec: &'static FamilySpec| match spec.meta.kind {
        MetricKind::Counter => spec.meta.name.trim_end_matches("_total"),
        MetricKind::Info => spec.meta.name.trim_end_matches("_info"),
        _ => spec.meta.name,
    };
    for one in Vocabulary::ALL {
        for other in Vocabulary::ALL.into_iter().filter(|other| *other != one) {
            let taken: BTreeSet<&str> = other
                .families()
                .flat_map(|spec| [declared(spec), spec.meta.name])
                .collect();
            for spec in one.families() {
                let name = declared(spec);
                assert!(
                    !taken.contains(name),
                    "{name} of {} is one of {}",
                    one.as_str(),
                    other.as_str()
                );
            }
        }
    }
}

#[test]
fn amds_names_are_gauges_without_a_unit_of_our_own() {
    for spec in Vocabulary::Amd.families() {
        assert_eq!(spec.meta.kind, MetricKind::Gauge, "{}", spec.meta.name);
        assert_eq!(spec.meta.unit, None, "{}", spec.meta.name);
        assert_eq!(spec.ownership, Ownership::Holder, "{}", spec.meta.name);
    }
    let errors = |word: &str| {
        let prefix = format!("gpu_ecc_{word}_");
        Vocabulary::Amd
            .families()
            .filter(|spec| spec.meta.name.starts_with(&prefix))
            .count()
    };
    let blocks = ErrorBlock::ALL.len() + 1;
    assert_eq!(
        [errors("correct"), errors("uncorrect"), errors("deferred")],
        [blocks; 3]
    );
    for block in ErrorBlock::ALL {
        let name = format!("gpu_ecc_deferred_{}", block.as_str());
        assert!(
            Vocabulary::Amd.families().any(|spec| spec.meta.name == name),
            "{name}"
        );
    }
}

#[test]
fn the_default_tier_of_each_vocabulary_is_small() {
    for vocabulary in Vocabulary::ALL {
        let default = vocabulary
            .families()
            .filter(|spec| spec.tier != Tier::Named)
            .count();
        assert!((5..=30).contains(&default), "{}: {default}", vocabulary.as_str());
    }
}

#[test]
fn what_others_depend_on_is_there_by_default() {
    let names: BTreeSet<&str> = every()
        .filter(|spec| spec.tier != Tier::Named)
        .map(|spec| spec.meta.name)
        .collect();
    for name in [
        "gpu_info",
        "gpu_up",
        "gpu_utilization_ratio",
        "gpu_memory_used_bytes",
        "gpu_memory_total_bytes",
        "gpu_memory_used_ratio",
        "gpu_memory_bandwidth_utilization_ratio",
        "gpu_power_watts",
        "gpu_power_limit_watts",
        "gpu_energy_joules_total",
        "gpu_temperature_celsius",
        "gpu_clock_hertz",
        "gpu_busy_seconds_total",
        "gpu_throttle_seconds_total",
        "gpu_sm_active_ratio",
        "gpu_sm_occupancy_ratio",
        "gpu_tensor_active_ratio",
        "gpu_dram_active_ratio",
        "gpu_pcie_bytes_total",
        "gpu_link_bytes_total",
        "gpu_ecc_errors_total",
        "gpu_remapped_rows_total",
        "gpu_faults_total",
        "gpu_processes",
        "gpu_container_utilization_ratio",
        "gpu_container_memory_bytes",
        "gpu_unattributed_utilization_ratio",
        "gpu_unattributed_memory_bytes",
        "gpu_last_sample_age_seconds",
        "gpu_topology_info",
        "DCGM_FI_DEV_FB_TOTAL",
        "nvidia_smi_gpu_utilization_percent",
        "nvidia_smi_memory_utilization_percent",
        "nvidia_smi_memory_used_bytes",
        "nvidia_smi_temperature_celsius",
        "nvidia_smi_power_usage_watts",
        "gpu_nodes_total",
        "gpu_health",
        "gpu_power_usage",
        "gpu_package_power",
        "gpu_energy_consumed",
        "gpu_junction_temperature",
        "gpu_gfx_activity",
        "gpu_umc_activity",
        "gpu_clock",
        "gpu_used_vram",
        "gpu_ecc_uncorrect_total",
        "gpu_xgmi_link_rx",
    ] {
        assert!(names.contains(name), "{name}");
    }
}

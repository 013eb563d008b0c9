//! Nothing is counted twice and nothing is lost: shares and remainders sum to the device, and what a board has once is on the
//! page once.

use std::collections::{BTreeMap, BTreeSet};

use gpu_exposition::{Format, Page, Sample};

use super::machines;
use super::reading::{label, parse, samples};

const OWNER: &[&str] = &["namespace", "pod", "container"];
const MIB: f64 = 1024.0 * 1024.0;

/// Where something was measured: a device, and the slice of it.
type Spot = (String, Option<String>);

fn spot(sample: &Sample) -> Spot {
    let of = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| label(sample, name))
            .map(str::to_owned)
    };
    (of(&["uuid", "UUID"]).unwrap(), of(&["partition", "GPU_I_ID"]))
}

fn total(page: &Page, family: &str) -> BTreeMap<Spot, f64> {
    let mut sums = BTreeMap::new();
    for sample in samples(page, family) {
        *sums.entry(spot(sample)).or_default() += sample.value;
    }
    sums
}

/// Every value of `whole` is the sum of the parts at the same spot.
#[track_caller]
fn check(page: &Page, whole: &str, parts: [&str; 2], tolerance: f64) {
    let parts = parts.map(|family| total(page, family));
    let whole_sums = total(page, whole);
    for (spot, value) in &whole_sums {
        let sum: f64 = parts.iter().filter_map(|part| part.get(spot)).sum();
        assert!(
            (sum - value).abs() <= tolerance,
            "{whole} of {spot:?} is {value}, its parts sum to {sum}"
        );
    }
    for spot in parts.iter().flat_map(BTreeMap::keys) {
        assert!(whole_sums.contains_key(spot), "{spot:?} has parts of no {whole}");
    }
}

/// Each combination of the labels that do not name an owner is there once.
#[track_caller]
fn check_once(page: &Page, family: &str) {
    let mut seen = BTreeSet::new();
    for sample in samples(page, family) {
        let own = sample
            .labels
            .iter()
            .filter(|(name, _)| !OWNER.contains(&name.as_str()));
        let own: Vec<_> = own.collect();
        assert!(seen.insert(own.clone()), "{family}{own:?} is there twice");
    }
}

/// dcgm-exporter's names hold the same, in whole mebibytes and percent.
#[track_caller]
fn check_inherited(name: &str, page: &Page) {
    let by_device = |family: &str| {
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for ((uuid, partition), value) in total(page, family) {
            // dcgm-exporter has no name for what a sliced board uses beside its slices.
            if partition.as_deref() != Some("rest") {
                *sums.entry(uuid).or_default() += value;
            }
        }
        sums
    };
    let used = by_device("gpu_memory_used_bytes");
    for (uuid, mebibytes) in by_device("DCGM_FI_DEV_FB_USED") {
        // Each of at most five shares is rounded to whole mebibytes.
        assert!(
            (mebibytes - used[&uuid] / MIB).abs() <= 3.0,
            "{name} {uuid}: {mebibytes}"
        );
    }
    let busy = by_device("gpu_utilization_ratio");
    for (uuid, percent) in by_device("DCGM_FI_DEV_GPU_UTIL") {
        assert!(
            (percent - busy[&uuid] * 100.0).abs() <= 3.0,
            "{name} {uuid}: {percent}"
        );
    }
}

#[test]
fn shares_and_remainder_are_the_device() {
    for (name, plan) in machines::all() {
        let has_pods = !matches!(name, "rtx3080-workstation" | "no-gpu");
        let machine = plan().arguments(&["--vocabulary=gpu,dcgm,nvidia_smi"]).start();
        let is_whole = |page: &str| {
            let is_driver_absent = name == "no-gpu";
            is_driver_absent
                || page.contains("\ngpu_power_limit_watts{")
                    && page.contains("\ngpu_container_memory_bytes{") == has_pods
        };
        let text = machine.wait(is_whole);
        let page = parse(&text, Format::Text);
        check(
            &page,
            "gpu_memory_used_bytes",
            ["gpu_container_memory_bytes", "gpu_unattributed_memory_bytes"],
            0.0,
        );
        check(
            &page,
            "gpu_utilization_ratio",
            [
                "gpu_container_utilization_ratio",
                "gpu_unattributed_utilization_ratio",
            ],
            1e-6,
        );
        check_inherited(name, &page);
        for family in [
            "gpu_power_watts",
            "gpu_power_limit_watts",
            "gpu_energy_joules_total",
            "gpu_clock_hertz",
            "gpu_temperature_celsius",
            "DCGM_FI_DEV_POWER_USAGE",
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
            "DCGM_FI_DEV_SM_CLOCK",
            "DCGM_FI_DEV_MEM_CLOCK",
            "DCGM_FI_DEV_GPU_TEMP",
            "nvidia_smi_power_usage_watts",
            "nvidia_smi_temperature_celsius",
        ] {
            check_once(&page, family);
            assert!(
                name == "no-gpu" || !samples(&page, family).is_empty(),
                "{name} has no {family}"
            );
            // A board with slices draws one power, not one for each slice.
            let is_of_slice = |sample: &Sample| spot(sample).1.is_some();
            assert!(!samples(&page, family).iter().any(is_of_slice), "{name} {family}");
        }
    }
}
